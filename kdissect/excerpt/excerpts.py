"""Two readings of captures: which frames, then their bytes."""

from collections.abc import Callable

from kdissect.api import Dissection
from kdissect.excerpt.excerpt_reader import ExcerptPacket, Recorder, listen
from kdissect.excerpt.find_frames import Harvested


def write_frames(
    harvested: Harvested, again: Dissection, show_secrets: bool, write: Callable[[ExcerptPacket], None]
) -> None:
    """Read the captures from their start and hand on the packets of the frames, as they come.

    Memory is that of the plans, of open connections and of what waits for missing segments.
    """
    if not harvested.connections:
        return
    files = again.captures.files
    listen(
        again.ports,
        lambda index: files[index].capture_set,
        harvested.connections,
        lambda connection: (Recorder(harvested.plan(connection), show_secrets, write, again.key_logs),),
        again.captures.batches(),
    )
