"""The verdict on capture quality: what a reader of the findings must know about what was not seen."""

from typing import NamedTuple

from kdissect.model.wording import plural
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.session.info import ConnectionKind

_NOT_OPAQUE = frozenset({ConnectionKind.KAFKA, ConnectionKind.NO_DATA, ConnectionKind.CUT})
GOOD, PARTIAL, EMPTY = "good", "partial", "nothing to judge"


class CaptureQuality(NamedTuple):
    """`verdict` is `good`, `partial` or `nothing to judge`; `reasons` say what is missing, for people."""

    verdict: str
    reasons: tuple[str, ...]
    gaps: int
    gap_bytes: int
    middle_starts: int
    cut_frames: int
    one_sided: int
    opaque_connections: int
    dropped_packets: int
    bytes_cut_off: int


def quality_of(
    coverage: Coverage, cut_files: int = 0, dropped_packets: int = 0, is_interrupted: bool = False
) -> CaptureQuality:
    """Return the verdict. `cut_files` end inside a packet, `dropped_packets` the capture itself counts as
    lost; `is_interrupted`: not all of it was read.
    """
    opaque = sum(count for kind, count in coverage.connections.items() if kind not in _NOT_OPAQUE)
    reasons = [
        plural(count, one, many)
        for count, one, many in (
            (coverage.gaps, "hole in a TCP stream", "holes in TCP streams"),
            (
                coverage.middle_starts,
                "connection began before the capture",
                "connections began before the capture",
            ),
            (coverage.cut_frames, "frame was captured in part", "frames were captured in part"),
            (
                coverage.bytes_cut_off,
                "byte was cut off by the snapshot length",
                "bytes were cut off by the snapshot length",
            ),
            (
                coverage.connections[ConnectionKind.CUT],
                "connection was not recognized, because its data was cut off",
                "connections were not recognized, because their data was cut off",
            ),
            (
                coverage.one_sided,
                "connection was captured in one direction only",
                "connections were captured in one direction only",
            ),
            (
                coverage.half_read,
                "connection was decrypted in part only",
                "connections were decrypted in part only",
            ),
            (cut_files, "file ends inside a packet", "files end inside a packet"),
            (dropped_packets, "packet was dropped while capturing", "packets were dropped while capturing"),
            (opaque, "connection is encrypted or not Kafka", "connections are encrypted or not Kafka"),
        )
        if count
    ]
    if is_interrupted:
        reasons.insert(0, "the reading was interrupted: what follows in the captures was not judged")
    partial = len(reasons) > bool(opaque) or coverage.connections["tls"] > 0  # clients may hide in it
    verdict = EMPTY if not coverage.exchanges else PARTIAL if partial else GOOD
    return CaptureQuality(
        verdict, tuple(reasons), coverage.gaps, coverage.gap_bytes, coverage.middle_starts,
        coverage.cut_frames, coverage.one_sided, opaque, dropped_packets, coverage.bytes_cut_off,
    )  # fmt: skip
