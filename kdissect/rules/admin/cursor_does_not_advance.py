"""ADM013: the cursor of DescribeTopicPartitions must advance."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class CursorDoesNotAdvance(BodyRule):
    """The cursor of DescribeTopicPartitions must advance.

    A client that follows a cursor which stands still asks for ever.

    Example: cursor (`a`, 5) asked for, next cursor (`a`, 5).

    What to do: send the first partition that was left out, or null.
    """

    code = "ADM013"
    name = "cursor-does-not-advance"
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "kafka.server.handlers.DescribeTopicPartitionsRequestHandler#handleDescribeTopicPartitionsRequest",
    )
    on = (("DescribeTopicPartitions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield both cursors."""
        asked, after = body.other(), body.value.next_cursor
        before = getattr(asked, "cursor", None)
        if before is None or after is None:
            return
        if _place(after) <= _place(before):
            seen = f"{after.topic_name}-{after.partition_index}"
            yield body.violation("next_cursor", f"behind {before.topic_name}-{before.partition_index}", seen)


def _place(cursor: Any) -> tuple[bytes, int]:
    """Return where a cursor stands. A name that is not UTF-8 comes as bytes."""
    name = cursor.topic_name
    return (name.encode() if isinstance(name, str) else bytes(name)), cursor.partition_index
