"""Lines with bodies written the quick way are those that rows and orjson make, whatever the bodies hold."""

from argparse import Namespace
from collections.abc import Iterator
from random import Random

import pytest

from kdissect.api import Dissection
from kdissect.cli.exchange_writers import writer_of
from kdissect.cli.formats.bodylines import BodyLines
from kdissect.cli.formats.exchanges import RowWriter, row_writer
from kdissect.cli.output import Output
from kdissect.engine.nested_bodies import NestedBodies
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES

ALL = sorted(map(str, CAPTURES.glob("*.pcap*")))
FORMS = [(True, False), (True, True), (False, False)]  # records, secrets


def writers(path: str, records: bool, show_secrets: bool) -> Iterator[tuple[Exchange, BodyLines, RowWriter]]:
    """Each exchange of a capture with a quick writer and a slow one, which learn names apart."""
    options = Namespace(
        bodies=True, records=records, show_secrets=show_secrets, fields=[], format="jsonl", header=True
    )
    output = Output("/dev/null")
    one, other = Dissection(path), Dissection(path)
    quick, slow = writer_of(one, options, output), row_writer(other, options, output, "jsonl", [])
    assert isinstance(quick, BodyLines)
    for exchange in one:
        yield exchange, quick, slow


@pytest.mark.parametrize("path", ALL)
def test_real_exchanges(path: str) -> None:
    for records, show_secrets in FORMS:
        for exchange, quick, slow in writers(path, records, show_secrets):
            assert quick.line(exchange) == slow.line(exchange)


@pytest.mark.parametrize("path", ALL)
def test_damaged_exchanges(path: str) -> None:
    random = Random(path)
    for exchange, quick, slow in writers(path, records=True, show_secrets=False):
        whole = exchange.request, exchange.response
        for _ in range(2):
            exchange.request, exchange.response = (damaged(random, frame) for frame in whole)
            exchange.forget_bodies()
            exchange.request_summary_cache = None
            assert quick.line(exchange) == slow.line(exchange)


def damaged(random: Random, frame: Frame | None) -> Frame | None:
    """A frame with other bytes, with bytes missing, or that has shrunk or grown."""
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


def test_nearly_all_bodies_take_the_quick_way() -> None:
    bodies = NestedBodies(lambda _connection, _id: None, show_secrets=False)
    taken = [bodies.of(exchange) is not None for path in ALL for exchange in Dissection(path)]
    assert sum(taken) > 0.5 * len(taken)
