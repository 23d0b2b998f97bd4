"""Summaries by the compiled walk (native/src/summaries.rs), for bodies that are ordinary."""

from kdissect.decoders.outline import OutlineRoute
from kdissect.decoders.program import program_of
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

    route = OutlineRoute(message, version)
    summaries = native.Summaries(route.layout.flexible, program_of(route), Summary, odd)
    summarize: Summarizer = summaries.summarize
    return summarize
