"""Places in bytes at which a frame may begin, told by something that every such frame has."""

from collections.abc import Iterator


def places(data: bytes, mark: bytes, distance: int) -> Iterator[int]:
    """Offsets from which it is `distance` bytes to a `mark`."""
    at = data.find(mark, distance)
    while at >= 0:
        yield at - distance
        at = data.find(mark, at + 1)
