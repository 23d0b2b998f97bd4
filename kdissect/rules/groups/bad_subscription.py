"""GRP009: the metadata of a consumer must be a subscription."""

from collections.abc import Iterator

from kdissect.decoders.generated.compiled import decoder
from kdissect.model.errors import DecodeError
from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema import protocol_messages

_SUBSCRIPTION = "ConsumerProtocolSubscription"


class BadSubscription(BodyRule):
    """The metadata of a consumer must be a subscription.

    Members of protocol type `consumer` send topics after a version. The leader reads it to assign
    partitions. Other types may send what they like. Bytes after the fields are legal in newer versions.

    Example: a version of 1 and no data after it.

    What to do: write version, topics and user data.
    """

    code = "GRP009"
    name = "bad-subscription"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.clients.consumer.internals.ConsumerProtocol#deserializeSubscription",)
    on = (("JoinGroup", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the metadata of each protocol."""
        if body.value.protocol_type != "consumer":
            return
        message = protocol_messages.payload(_SUBSCRIPTION)
        for index, protocol in enumerate(body.value.protocols):
            metadata = bytes(protocol.metadata)
            version = min(int.from_bytes(metadata[:2], signed=True), message.versions.last)
            try:
                if version not in message.versions:
                    raise DecodeError(_SUBSCRIPTION, 0, f"version {version}")
                decoder(message, version)(metadata, 2)
            except DecodeError as error:
                yield body.violation(f"protocols[{index}].metadata", f"a {_SUBSCRIPTION}", str(error))
