"""Summaries by the compiled walk (native/src/summaries.rs), for bodies that are ordinary."""

from kdissect.decoders.native_layout import native_layout
from kdissect.decoders.summary import Summarizer, Summary, summarizer
from kdissect.model.native import native
from kdissect.schema.types import Message


def walking(message: Message, version: int) -> Summarizer:
    """`(data, offset) -> Summary`, equal to `summary.summarizer` of the same. Compiled only."""
    compiled: Summarizer | None = None

    def odd(data: bytes, offset: int) -> Summary:
        nonlocal compiled
        if compiled is None:
            compiled = summarizer(message, version)
        return compiled(data, offset)

    summarize: Summarizer = native.Summaries(native_layout(message, version)[0], Summary, odd).summarize
    return summarize
