"""Lines with bodies written the quick way are those that rows and orjson make, whatever the bodies hold."""

from argparse import Namespace
from collections.abc import Iterator
from random import Random

import pytest

from kdissect.api import Dissection
from kdissect.cli.captures.exchange_writers import writer_of
from kdissect.cli.formats.exchanges_as_rows import RowWriter, row_writer
from kdissect.cli.formats.json_lines.body_lines import BodyLines, BodyTexts
from kdissect.cli.output import Output
from kdissect.decoders.as_json.body_text import plain_body
from kdissect.engine.exchange_rows import wire_topics
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.schema.protocol_messages import all_apis
from kdissect.schema.secrets import may_hold_secrets
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES

ALL = sorted(map(str, CAPTURES.glob("*.pcap*")))
FEW = ALL[::8]
OTHER_FORMS = [(True, True), (False, False)]  # records, secrets
SOME = 9  # every so many exchanges are damaged: of each kind there are dozens


def writers(path: str, records: bool, show_secrets: bool) -> Iterator[tuple[Exchange, BodyLines, RowWriter]]:
    """Yield each exchange of a capture with a quick writer and a slow one, which learn names apart."""
    options = Namespace(
        bodies=True,
        records=records,
        show_secrets=show_secrets,
        fields=[],
        columns=(),
        order=None,
        format="jsonl",
        header=True,
        schemas=(),
    )
    output = Output("/dev/null")
    one, other = Dissection(path), Dissection(path)
    quick, slow = writer_of(one, options, output), row_writer(other, options, output, [])
    assert isinstance(quick, BodyLines)
    for exchange in one:
        yield exchange, quick, slow


@pytest.mark.sampled(24)
@pytest.mark.parametrize("path", ALL)
def test_real_exchanges_and_damaged_ones(path: str) -> None:
    random = Random(path)
    for index, (exchange, quick, slow) in enumerate(writers(path, records=True, show_secrets=False)):
        assert quick.line(exchange) == slow.line(exchange)
        if index % SOME == 0:
            exchange.request, exchange.response = (
                damaged(random, frame) for frame in (exchange.request, exchange.response)
            )
            exchange.forget_bodies()
            exchange.request_summary_cache = None
            assert quick.line(exchange) == slow.line(exchange)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("records", "show_secrets"), OTHER_FORMS)
@pytest.mark.parametrize("path", FEW)
def test_other_forms(path: str, records: bool, show_secrets: bool) -> None:
    for exchange, quick, slow in writers(path, records, show_secrets):
        assert quick.line(exchange) == slow.line(exchange)


def damaged(random: Random, frame: Frame | None) -> Frame | None:
    """Return a frame with other bytes, with bytes missing, or that has shrunk or grown."""
    if frame is None or not frame.data:
        return frame
    data = bytearray(frame.data)
    how = random.randrange(6)
    if how == 0:
        data = data[: random.randrange(len(data))]
    elif how == 1:
        data += random.randbytes(random.randrange(5))
    for _ in range(random.randrange(4)):
        if data:
            data[random.randrange(len(data))] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    size = frame.size if random.randrange(4) == 0 else len(data)
    made = Frame(
        bytes(data), max(size, len(data)), frame.first_ref, frame.last_ref, frame.time_ns, frame.end_time_ns
    )
    made.anomalies = frame.anomalies
    return made


@pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
def test_most_bodies_take_the_quick_way() -> None:
    texts = BodyTexts(lambda _connection, _id: None, show_secrets=False)
    taken = [texts.texts(exchange) is not None for path in FEW for exchange in Dissection(path)]
    assert sum(taken) > len(taken) / 2


def test_secrets_never_take_the_quick_way() -> None:
    for api in all_apis():
        for is_response, message in ((False, api.request), (True, api.response)):
            if may_hold_secrets(message):
                for version in message.versions:
                    assert plain_body(api.key, version, is_response) is None


def test_a_request_without_fields_and_answer() -> None:
    connection = ConnectionInfo("0" * 16, "set", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), 0)
    exchange = Exchange(connection, 0, api_key=18, api_version=0, request_body_offset=8)
    exchange.request = Frame(bytes(8), 8, 1, 1, 0, 0)
    line = BodyLines(["one.pcap"], wire_topics, show_secrets=False).line(exchange)
    assert b'"body":{},"error":null},"response":null,' in line
