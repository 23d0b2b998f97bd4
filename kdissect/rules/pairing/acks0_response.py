"""PAI004: A Produce request with acks=0 must not be answered."""

from collections.abc import Iterator

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.connection_view import ConnectionView
from kdissect.session.exchange import Exchange


class Acks0Response(ExchangeRule):
    """A Produce request with acks=0 must not be answered.

    The client does not wait for an answer; one that comes is taken for that of the next request.

    Example: a Produce response to a request with acks 0.

    What to do: send nothing; on an error Apache Kafka closes the connection instead.
    """

    code = "PAI004"
    name = "acks0-response"
    who = Who.BROKER
    cites = ("spec/004 acks=0 Produce Requests", "kafka.server.KafkaApis#handleProduceRequest")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """What pairing noted."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.UNEXPECTED_RESPONSE:
                yield Violation("no answer", "a response", start=0, end=4, side=RESPONSE)
