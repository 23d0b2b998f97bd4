"""What goes wrong while bytes are decompressed."""

from kdissect.model.errors import DecodeError


class OutputLimitError(DecodeError):
    """The bytes would grow beyond the limit; nothing of them was kept."""
