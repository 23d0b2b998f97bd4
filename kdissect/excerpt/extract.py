"""Two readings of captures: which frames, then their bytes."""

from collections.abc import Callable

from kdissect.api import Dissection
from kdissect.excerpt.plan import ConnectionPlan
from kdissect.excerpt.reader import ExcerptPacket, Recorder, listen


def write_frames(
    plans: list[ConnectionPlan],
    again: Dissection,
    show_secrets: bool,
    write: Callable[[ExcerptPacket], None],
) -> None:
    """Read the captures from their start and hand on the packets of the plans, as they come.

    Memory is that of the plans and of what waits for missing segments.
    """
    recorders = {plan.connection: [Recorder(plan, show_secrets, write, again.key_logs)] for plan in plans}
    plans.clear()  # each goes away with its connection
    files = again.captures.files
    listen(again.ports, lambda index: files[index].capture_set, recorders, again.captures.batches())
