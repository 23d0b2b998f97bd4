"""BDY025: error_message should be null where error_code is 0."""

from collections.abc import Iterator
from typing import Any

from kdissect.decoders.generated.values import Value, items
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body


class MessageWithoutError(BodyRule):
    """error_message should be null where error_code is 0.

    The message explains an error. Some clients take any message for one.

    Example: error code 0 with the message "ok".

    What to do: send null.
    """

    code = "BDY025"
    name = "message-without-error"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("spec/003 CreateTopics API", "KIP-848 Public Interfaces", "KIP-932 Public Interfaces")
    on = tuple(
        (name, RESPONSE)
        for name in (
            "FindCoordinator", "CreateTopics", "DeleteTopics", "CreatePartitions", "CreateAcls",
            "DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "ConsumerGroupHeartbeat",
            "ShareGroupHeartbeat", "SaslAuthenticate",
        )
    )  # fmt: skip
    once = Once.PARTY
    guard = (Longer(("error_message",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield pairs of code and message at the top and one level below."""
        if _is_odd(body.value):
            yield body.violation("error_message", "null with error code 0", repr(body.value.error_message))
        for name, item in items(body.value):
            for index, element in enumerate(item if isinstance(item, list) else ()):
                if isinstance(element, Value) and _is_odd(element):
                    yield body.violation(
                        f"{name}[{index}].error_message",
                        "null with error code 0",
                        repr(element.error_message),
                    )


def _is_odd(value: Any) -> bool:
    # FindCoordinator of Apache Kafka sends "NONE"; empty says nothing either
    return getattr(value, "error_code", 1) == 0 and getattr(value, "error_message", None) not in (
        None,
        "",
        "NONE",
    )
