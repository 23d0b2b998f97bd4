"""`kdissect live --metrics`: scraped while it captures."""

import re
import signal

from tests.live.capturing import Broker, Live, needs_capture
from tests.metrics.scraping import scrape


def value(text: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    assert found, sample
    return float(found[1])


def test_a_capture_is_scraped_while_it_runs() -> None:
    needs_capture()
    broker = Broker()
    try:
        live = Live("-i", "lo", "-f", f"tcp port {broker.port}", "--metrics", "127.0.0.1:0")
        url = live.word(r"metrics at (\S+) with Authorization")
        token = live.word(r"Bearer (\S+)\n")
        broker.converse(9)
        where = rf'broker="127\.0\.0\.1:{broker.port}"'
        text = scrape(
            url, token, rf'^kdissect_requests_total{{api="Produce",{where},client_id="lab-client"}} 9\.0$'
        )
        assert value(text, 'kdissect_topic_requests_total{api="Produce",topic="lab"}') == 9
        assert value(text, 'kdissect_topic_record_bytes_total{api="Produce",topic="lab"}') == 900
        assert value(text, 'kdissect_capture_dropped_packets_total{where="kernel"}') == 0
        assert value(text, "kdissect_capture_packets_total") > 20
        assert value(text, "kdissect_capture_lag_seconds") >= 0
        assert value(text, 'kdissect_connections_total{kind="kafka"}') == 1
        live.signal(signal.SIGINT)
        assert live.end().code == 0
    finally:
        broker.close()
