"""Options of the blocks of a pcapng file, draft-ietf-opsawg-pcapng section 3.5."""

from collections.abc import Iterator
from struct import Struct

OPT_END, OPT_COMMENT = 0, 1  # section 3.5.1 opt_endofopt, opt_comment


def has_comment(block: bytes, position: int, order: str) -> bool:
    """Whether there is a comment among the options from `position` on."""
    return any(code == OPT_COMMENT for code, _ in options(block, position, order))


def options(body: bytes, position: int, order: str) -> Iterator[tuple[int, bytes]]:
    """(code, value) of each option from `position`, as far as the list makes sense (section 3.5)."""
    head = Struct(order + "HH")
    while position + 4 <= len(body):
        code, length = head.unpack_from(body, position)
        end = position + 4 + length
        if code == OPT_END or end > len(body):
            return
        yield code, body[position + 4 : end]
        position = end + (-length & 3)  # padded to 32 bits
