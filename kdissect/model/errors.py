"""Exceptions that users of the library may see."""

from enum import StrEnum
from typing import Self

from kdissect.model.wording import path_text


class FaultKind(StrEnum):
    """In which way bytes do not fit the schema."""

    SHORT = "short"  # a fixed-width value runs past the end
    LENGTH = "length"  # a length or count is larger than the bytes left
    NULL = "null"  # a forbidden null
    NEGATIVE = "negative"  # a length or count below -1
    VARINT = "varint"  # an unsigned varint of more than 32 bits
    TAG_SIZE = "tag_size"  # a known tagged field takes more or fewer bytes than its size says
    LEFT_OVER = "left_over"  # there are bytes after the body
    UNKNOWN = "unknown"  # a type or version that the schema does not have: newer, or a vendor's
    OTHER = "other"


class KdissectError(Exception):
    """Base of every exception kdissect raises on purpose."""


class CaptureError(KdissectError):
    """A capture cannot be read at all, or not beyond a point.

    `path` names the input, the message says why.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path_text(path) or repr(path)}: {why}")
        self.path = path
        self.why = why


class CaptureWarning(UserWarning):
    """A capture was not read to its end, or not cleanly: what iterating over `kdissect.open` warns of."""


class DecodeError(KdissectError):
    """Bytes do not fit the schema.

    `path` names the field (`MetadataResponse.topics[49].partitions[5]`), `offset` is the 0-based byte offset
    in the buffer given to the decoder, `why` says what is wrong, `kind` sorts it. Raised by `decode_*` only,
    never by `Analyzer.feed`.
    """

    def __init__(self, path: str, offset: int, why: str, kind: FaultKind = FaultKind.OTHER) -> None:
        super().__init__(f"{path}: {why} at byte {offset}" if path else f"{why} at byte {offset}")
        self.path = path
        self.offset = offset
        self.why = why
        self.kind = kind

    def kept(self) -> Self:
        """Return the error for one who keeps it: its traceback would keep frames, with all that they worked
        on.
        """
        self.__context__ = None
        return self.with_traceback(None)

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[str, int, str, FaultKind]]:
        return DecodeError, (self.path, self.offset, self.why, self.kind)


class SchemaError(KdissectError):
    """A schema text is wrong. The message begins with file:line."""


# Errors while bytes are decompressed.
class BrokenFrameError(DecodeError):
    """Compressed bytes break their format, and still decompress to `content`."""

    def __init__(self, path: str, offset: int, why: str, content: bytes) -> None:
        super().__init__(path, offset, why)
        self.content = content


class OutputLimitError(DecodeError):
    """The bytes would grow beyond the limit, and were discarded."""
