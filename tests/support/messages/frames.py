"""Frames with other bytes."""

from kdissect.model.frame import Frame


def with_data(frame: Frame, data: bytes, size: int | None = None) -> Frame:
    """Return the frame with this content; `size` is what its prefix says, None for what it said."""
    size = frame.size if size is None else size
    return Frame(data, size, frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns)
