"""What is over is gone at once: memory follows open connections, whenever Python searches for cycles."""

import gc

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.engine.analyzer import Analyzer
from kdissect.session.connection import ConnectionAnalyzer
from tests.support.messages.traffic import Conversation


def held() -> int:
    return sum(isinstance(each, ConnectionAnalyzer) for each in gc.get_objects())


def test_closed_connections_leave_no_cycles() -> None:
    gc.disable()
    gc.freeze()  # what other tests left behind is neither counted nor walked through
    try:
        analyzer = Analyzer()
        packets = []
        for number in range(20):
            talk = Conversation(ports=(40000 + number, 9092), start_ns=number * 10**9 + 1).handshake()
            talk.client(encode_request(3, 1, 1, "me", {"topics": [{"name": "t"}]}))
            talk.broker(encode_response(3, 1, 1, {"brokers": [], "topics": []})).fin(0).fin(1)
            packets += talk.packets
        for packet in packets:
            analyzer.feed(packet)
        assert held() == 20  # which linger
        analyzer.close()
        assert held() == 0
    finally:
        gc.unfreeze()
        gc.enable()
