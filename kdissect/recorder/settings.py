"""The settings of a flight recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kdissect.capture.live.live_settings import Ring
from kdissect.engine.times import SECOND_NS
from kdissect.recorder.folder import NAMES
from kdissect.recorder.reading import Reading

if TYPE_CHECKING:
    from kdissect.recorder.condition import Condition  # memory: a step that writes incidents has none

LEVELS = ("secrets", "payload", NAMES)
"""Levels of redaction. Personal data needs an extra, and belongs to `extract`."""
MIB = 1 << 20
MIN_BYTES = 8 * MIB
_SEGMENTS = 20  # files of a full ring: removing the oldest removes a twentieth
_LONGEST_SEGMENT_S = 60.0
_LARGEST_SEGMENT = 64 * MIB
_LONGEST = 4  # an incident whose problem lasts ends after this many times `after`


class RecorderSettings(NamedTuple):
    """Settings of a recorder: the packets that it keeps, and when it makes an incident.

    `folder` has everything that it writes. `keep_bytes` and `keep_s` bound the ring (0: no such bound).
    `before_s` and `after_s` are the seconds of an incident before and after its problem. A problem that comes
    back within `cooldown_s` counts in its incident. `redact` is a level of `extract --redact`, or empty. With
    `headers_only` the disk has no content of packets. `only_concerned`: incidents have the connections that
    their problems concern.
    """

    folder: str
    conditions: Sequence[Condition]
    keep_bytes: int = 0
    keep_s: float = 600.0
    before_s: float = 300.0
    after_s: float = 60.0
    cooldown_s: float = 600.0
    max_incidents: int = 100
    redact: str = ""
    reading: Reading = Reading()
    headers_only: bool = False
    only_concerned: bool = False

    @property
    def ring(self) -> Ring:
        """The bounds of the ring, and of each of its files."""
        size = max(self.keep_bytes // _SEGMENTS, MIB // 4) if self.keep_bytes else _LARGEST_SEGMENT
        seconds = min(self.keep_s / _SEGMENTS, _LONGEST_SEGMENT_S) if self.keep_s else _LONGEST_SEGMENT_S
        return Ring(min(size, _LARGEST_SEGMENT), seconds, 0, self.keep_bytes, self.keep_s)

    @property
    def before_ns(self) -> int:
        """`before_s` in nanoseconds."""
        return int(self.before_s * SECOND_NS)

    @property
    def longest_lag_s(self) -> float:
        """The lag from which on the analysis leaves out packets, since old symptoms do not count."""
        return self.before_s / 2

    @property
    def after_ns(self) -> int:
        """`after_s` in nanoseconds."""
        return int(self.after_s * SECOND_NS)

    @property
    def longest_ns(self) -> int:
        """The most nanoseconds from the first symptom of an incident to its end.

        A ring that is bounded by time still has the packets before it then.
        """
        longest = max(_LONGEST * self.after_s, self.after_s)
        if self.keep_s:
            longest = min(longest, max(self.keep_s - self.before_s, self.after_s))
        return int(longest * SECOND_NS)

    @property
    def cooldown_ns(self) -> int:
        """`cooldown_s` in nanoseconds."""
        return int(self.cooldown_s * SECOND_NS)

    def contradiction(self) -> str:
        """Return why the settings cannot hold together, or an empty text."""
        if self.keep_s and self.keep_s < self.before_s + self.after_s:
            return (
                f"--keep {self.keep_s:g}s is shorter than --before and --after together "
                f"({self.before_s + self.after_s:g}s). Raise --keep, or lower one of them"
            )
        if self.headers_only and self.redact:
            return "--snap headers leaves nothing to --redact: the packets have no content"
        if self.keep_bytes and self.keep_bytes < MIN_BYTES:
            return f"--keep needs at least {MIN_BYTES // MIB}MiB"
        return ""
