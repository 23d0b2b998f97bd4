"""`kdissect live --metrics`: scraped while it captures."""

import re
import signal
import urllib.request

from tests.live.capturing import Broker, Live, needs_capture


def scrape(url: str, until: str) -> str:
    """Scrapes until a line is there: what is on the wire is counted a moment later."""
    for _ in range(10_000):
        with urllib.request.urlopen(url) as answer:
            text: str = answer.read().decode()
        if re.search(until, text, re.MULTILINE):
            return text
    raise AssertionError(text)


def value(text: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, re.MULTILINE)
    assert found, sample
    return float(found[1])


def test_a_capture_is_scraped_while_it_runs() -> None:
    needs_capture()
    broker = Broker()
    try:
        live = Live("-i", "lo", "-f", f"tcp port {broker.port}", "--metrics", "127.0.0.1:0")
        url = live.word(r"metrics at (\S+)\n")
        broker.converse(9)
        where = rf'broker="127\.0\.0\.1:{broker.port}"'
        text = scrape(url, rf'^kdissect_requests_total{{api="Produce",{where},client_id="lab-client"}} 9\.0$')
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
