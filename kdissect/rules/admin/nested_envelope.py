"""ADM014: an envelope must not hold an envelope."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body

_ENVELOPE = 58


class NestedEnvelope(BodyRule):
    """An envelope must not hold an envelope.

    Brokers forward requests of clients to the controller in envelopes. The controller refuses nested
    envelopes.

    Example: request_data that begins with API key 58.

    What to do: forward the request itself.
    """

    code = "ADM014"
    name = "nested-envelope"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-590 Proposed Changes", "org.apache.kafka.server.EnvelopeUtils#handleEnvelopeRequest")
    on = (("Envelope", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the API key of the request inside."""
        if int.from_bytes(body.value.request_data[:2]) == _ENVELOPE and len(body.value.request_data) >= 2:
            yield body.violation("request_data", "a request that can be forwarded", "an envelope")
