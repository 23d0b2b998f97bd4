"""Which files of a ring have packets of some times."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kdissect.capture.byte_source import FileSource
from kdissect.capture.capture_file import CaptureFile

Spans = Collection[Sequence[int]]


def segments_within(segments: Sequence[str], spans: Spans) -> list[str]:
    """Return the files that may have packets of these times. A file ends where the next one begins. If the
    clock was set back, or may have been in the last file, it has any times.
    """
    begins = [(path, CaptureFile(path, FileSource(path), None).first_time()) for path in segments]
    known = [(path, first_ns) for path, first_ns in begins if first_ns is not None]
    found = []
    for number, (path, first_ns) in enumerate(known):
        next_ns = known[number + 1][1] if number + 1 < len(known) else None
        is_any = next_ns is None or next_ns < first_ns
        if is_any or any(first_ns <= end and (next_ns or 0) >= begin for begin, end in spans):
            found.append(path)
    return found
