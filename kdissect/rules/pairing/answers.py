"""Rules: which response answers which request, and in which order."""

from collections.abc import Iterator

from kdissect.history.connections.refused_requests import is_refused_by_close
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.guards import ExchangeFact
from kdissect.rules.kinds import ExchangeRule
from kdissect.rules.rule import REQUEST, RESPONSE, Once, Violation
from kdissect.rules.views.connection_view import ConnectionView, Earlier
from kdissect.session.exchange import Exchange, State


class UnsolicitedResponse(ExchangeRule):
    """Every response must answer a request of its connection, with that request's correlation id.

    The client starts every exchange. The broker echoes the correlation id. This response has an id that no
    request of the connection had. The rule is silent if a request that does not fit, or is not whole yet, may
    be the one that it answers, and after a response that does not fit.

    Example: requests have ids 1 and 2, responses 1 and 77.

    What to do: look at how the broker or proxy keeps the id. Clients close the connection on a mismatch.
    """

    code = "PAI001"
    name = "unsolicited-response"
    who = Who.BROKER
    cites = (
        "spec/004 correlation_id",
        "spec/000 Network",
        "org.apache.kafka.common.requests.AbstractResponse#parseResponse",
    )
    needs_start = True
    needs_whole = True
    misleads = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the anomalies of pairing."""
        anomalies = exchange.anomalies or ()
        if any(anomaly.kind is AnomalyKind.UNREADABLE_REQUEST for anomaly in anomalies):
            yield Violation(inconclusive="it may answer a request that does not fit, or was not whole yet")
            return
        for anomaly in anomalies:
            if anomaly.kind is AnomalyKind.ORPHAN_RESPONSE:
                yield Violation(
                    "the correlation id of a request that waits",
                    anomaly.detail,
                    start=0,
                    end=4,
                    side=RESPONSE,
                )


class OutOfOrderResponse(ExchangeRule):
    """Responses must come in the order of their requests.

    A broker handles the requests of a connection one after the other and answers in that order. Clients
    rely on it: the Java client fails when the oldest request is not the one answered.

    A request without any response does not change the order of other requests: see PAI015.

    Example: requests 1, 2, 3; responses 1, 3, 2.

    What to do: queue responses for each connection.
    """

    code = "PAI002"
    name = "out-of-order-response"
    who = Who.BROKER
    cites = ("spec/004 Broker Guarantees", "spec/000 Network")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the anomalies of pairing, if an earlier request was answered later."""
        response = exchange.response
        if response is None or not _is_out_of_order(exchange):
            return
        for earlier in view.in_flight:
            if earlier.ordinal < exchange.ordinal and _is_later(earlier, response.time_ns):
                what = f"answered before request {earlier.ordinal} of the connection"
                yield Violation(
                    "the answer to the oldest request first", what,
                    start=0, end=4, side=RESPONSE, earlier=(view.info.id, earlier.ordinal),
                )  # fmt: skip
                return


def _is_later(earlier: Earlier, time_ns: int) -> bool:
    """Return whether a request was answered at a time or later, and passed over none itself.

    If it did, both responses may be in order, after a request that has no response at all. Times do not show
    which of them is the later one: two answers of one packet have one time, and packets may stand out of
    order in the capture.
    """
    answer = earlier.response
    if answer is None or answer.time_ns < time_ns:
        return False
    if isinstance(earlier, Exchange):
        return not _is_out_of_order(earlier)
    return answer.time_ns > time_ns


def _is_out_of_order(exchange: Exchange) -> bool:
    return any(a.kind is AnomalyKind.OUT_OF_ORDER_RESPONSE for a in exchange.anomalies or ())


class DuplicateResponse(ExchangeRule):
    """A request must be answered once.

    A second response carries the correlation id of a request that was answered. Clients take it for the
    answer to the next request and close the connection.

    Example: two responses with id 5 to one request.

    What to do: look for a retry inside the broker or proxy that answers twice.
    """

    code = "PAI003"
    name = "duplicate-response"
    who = Who.BROKER
    cites = ("spec/000 Network", "org.apache.kafka.clients.InFlightRequests#completeNext")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the anomalies of pairing."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.DUPLICATE_RESPONSE:
                yield Violation("one answer for each request", anomaly.detail, start=0, end=4, side=RESPONSE)


class Acks0Response(ExchangeRule):
    """A Produce request with acks=0 must not be answered.

    The client does not wait for an answer. A client that counts takes such an answer for the next request's.

    Example: a Produce response to a request with acks 0.

    What to do: send no response. On an error Apache Kafka closes the connection instead.
    """

    code = "PAI004"
    name = "acks0-response"
    who = Who.BROKER
    cites = ("spec/004 acks=0 Produce Requests", "kafka.server.KafkaApis#handleProduceRequest")
    needs_whole = True
    guard = ExchangeFact.ANOMALY

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield the anomalies of pairing."""
        for anomaly in exchange.anomalies or ():
            if anomaly.kind is AnomalyKind.UNEXPECTED_RESPONSE:
                yield Violation("no answer", "a response", start=0, end=4, side=RESPONSE)


class UnansweredRequest(ExchangeRule):
    """The broker closed a connection with a request unanswered.

    Brokers do this when they shut down, when a client fails to authenticate, and for requests they cannot
    read. Worth a look, no judgement. Of a Produce with acks=0, which has no answer, the last one before a
    close within a second is reported: Apache Kafka closes so where it cannot store the records, and the
    client takes them for sent.

    Example: a Metadata request, then FIN from the broker.

    What to do: read the broker's log at that time.
    """

    code = "PAI005"
    name = "unanswered-request"
    level = Level.INFO
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = ("spec/000 Network", "spec/004 Connection Termination")
    needs_whole = True
    once = Once.SOFTWARE
    guard = ExchangeFact.NOT_ANSWERED

    def check(self, exchange: Exchange, view: ConnectionView) -> Iterator[Violation]:
        """Yield how the connection of an unanswered request ended."""
        close = exchange.close
        if close is None or close.by != Who.BROKER or view.info.is_unheard_after_proxy:
            return
        if exchange.state is State.UNANSWERED:
            yield Violation("an answer", f"{close.how} from the broker", side=REQUEST)
        elif exchange.state is State.NO_RESPONSE_EXPECTED and is_refused_by_close(exchange):
            info = view.info
            if info.exchanges - info.orphan_response == exchange.ordinal + 1:  # the last one
                what = f"{close.how} from the broker, behind acks=0"
                yield Violation("a connection that stays open", what, side=REQUEST)
