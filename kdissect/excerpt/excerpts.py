"""The packets of chosen frames as excerpts in memory: captures are read twice, to choose and to cut."""

from collections.abc import Callable, Sequence

from kdissect.api import Dissection
from kdissect.excerpt.excerpt_reader import ExcerptPacket, read_excerpts
from kdissect.excerpt.planner import plan
from kdissect.excerpt.wanted import Wanted


def excerpts(
    wanted: Sequence[Sequence[Wanted]], opened: Callable[[], Dissection], show_secrets: bool = False
) -> list[list[ExcerptPacket]]:
    """The packets of each excerpt; each group is one excerpt. Empty for one that is too large.

    `opened` gives the captures to be read, from their start, twice; they must be the same both times. Link,
    network and transport headers are those of the captured packets, with lengths, sequence numbers and
    checksums of what is kept; secrets are overwritten unless `show_secrets`.
    """
    plans = plan(wanted, opened().events(), show_secrets)
    again = opened()
    files = again.captures.files
    return read_excerpts(
        plans,
        again.captures.batches(),
        again.ports,
        lambda index: files[index].capture_set,
        show_secrets,
        again.key_logs,
    )
