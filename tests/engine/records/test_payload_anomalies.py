"""Payloads that do not fit: an anomaly of the exchange, which is decoded all the same."""

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.engine.exchange_bodies import body_of
from kdissect.engine.overview import Overview
from kdissect.model.anomaly import AnomalyKind
from tests.support.messages.traffic import Conversation
from tests.support.run import exchanges_of

JOIN_GROUP = 11


def test_a_payload_that_does_not_fit_is_an_anomaly_of_the_exchange() -> None:
    protocols = [{"name": "range", "metadata": b"\0\0\0\0\0\x05"}]
    talk = Conversation().handshake()
    talk.client(encode_request(JOIN_GROUP, 5, 1, "me", {"protocol_type": "consumer", "protocols": protocols}))
    talk.broker(encode_response(JOIN_GROUP, 5, 1, {"protocol_name": "range", "members": []}))
    (exchange,) = exchanges_of(talk.packets)
    decoded = body_of(exchange, "request", show_secrets=False)
    (anomaly,) = decoded.anomalies
    assert anomaly.kind is AnomalyKind.MALFORMED_PAYLOAD
    assert anomaly.detail.startswith("JoinGroupRequest: metadata: ConsumerProtocolSubscription.topics: ")
    assert exchange.request is not None
    assert anomaly.ref == exchange.request.first_ref
    assert decoded.error is None
    assert decoded.body["protocols"][0]["name"] == "range"

    overview = Overview(deep=True)
    overview.add(exchange)
    assert overview.anomalies == {"malformed_payload": 1}
    assert overview.deep is not None
    assert (overview.deep.trailing, overview.deep.undecodable) == (0, 0)
    assert overview.deep.examples[0]["why"] == anomaly.detail
