"""Exceptions that users of the library may see."""


class KdissectError(Exception):
    """Base of every exception kdissect raises on purpose."""


class CaptureError(KdissectError):
    """A capture cannot be read at all, or not beyond a point.

    `path` names the input, the message says why.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class DecodeError(KdissectError):
    """Bytes do not fit the schema.

    `path` names the field (`MetadataResponse.topics[49].partitions[5]`), `offset` is the 0-based byte offset
    in the buffer given to the decoder, `why` says what is wrong. Raised by `decode_*` only, never by
    `Analyzer.feed`.
    """

    def __init__(self, path: str, offset: int, why: str) -> None:
        super().__init__(f"{path}: {why} at byte {offset}" if path else f"{why} at byte {offset}")
        self.path = path
        self.offset = offset
        self.why = why

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[str, int, str]]:
        return DecodeError, (self.path, self.offset, self.why)


class SchemaError(KdissectError):
    """A schema text is wrong; the message begins with file:line."""
