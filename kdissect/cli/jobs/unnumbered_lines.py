"""Lines of JSON without their first field, the number, which the parent knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdissect.cli.formats.fast_lines import FastLines
from kdissect.cli.formats.line_filler import learns
from kdissect.cli.jobs.line_merge import behind_number
from kdissect.decoders.generated.summary import NO_SUMMARY, Summary
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect._native import LinePart

_NUMBER = 3
"""Parts of a line that are the number, and what stands around it."""


class UnnumberedLines(FastLines):
    """`FastLines` without numbers."""

    def line_of(self, exchange: Exchange, number: int) -> bytes:
        """The exchange as a line of JSON."""
        return behind_number(super().line_of(exchange, number))

    def parts_of(self, exchange: Exchange) -> tuple[list[LinePart], bool]:
        """The line of a paired exchange, or of one to which no response belongs."""
        parts, is_stripped = super().parts_of(exchange)
        return [b'"connection":"', *parts[_NUMBER:]], is_stripped


class LinesOfBlocks(UnnumberedLines):
    """Those of blocks. An exchange with topic ids, or that may tell names of them, has none (`hold_rows`)."""

    def facts_of(
        self, exchange: Exchange, asked: Summary, answered: Summary | None
    ) -> tuple[tuple[bytes, ...], bool]:
        """Errors and topics, and whether there are any that hold for the same summaries."""
        if learns(exchange, asked, answered or NO_SUMMARY):
            return (), False
        return super().facts_of(exchange, asked, answered)
