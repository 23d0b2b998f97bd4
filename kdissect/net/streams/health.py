"""TCP health of one direction of a connection."""

from typing import NamedTuple


class Health(NamedTuple):
    """Counters of one direction; they describe the packets its sender sent.

    `bytes` counts stream bytes captured and delivered, each once. `retransmissions` are segments with bytes
    seen before (keep-alives and copies left out), `out_of_order` those overtaken by a later one, `duplicates`
    copies of one packet captured twice. `zero_windows` counts packets that closed the receive window,
    `resets` those with RST. `gaps` holes of together `gap_bytes` bytes the capture never saw, `snapped_bytes`
    bytes that a snap length cut.
    """

    packets: int = 0
    bytes: int = 0
    retransmissions: int = 0
    out_of_order: int = 0
    duplicates: int = 0
    zero_windows: int = 0
    resets: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    snapped_bytes: int = 0
