"""Metrics of blocks of exchanges against those of the same exchanges one by one."""

from collections.abc import Callable

import pytest

from kdissect.api import Dissection
from kdissect.metrics import metered_blocks
from kdissect.metrics.meter import Meter
from kdissect.model.native import is_compiled, native
from kdissect.session.events import Events
from tests.metrics.test_against_inspect import scraped
from tests.support.console import CAPTURES

pytestmark = pytest.mark.skipif(not is_compiled, reason="the compiled part is not there")

NAMES = [
    "kafka44_java_admin.pcapng",
    "kafka44_java_errors.pcapng",
    "kafka44_java_groups.pcapng",
    "kafka44_rdkafka_produce.pcapng",
    "tansu_rdk216_acks.pcap",
]
Scraped = dict[str, dict[tuple[str, ...], float]]
TakerOf = Callable[[Meter], Callable[[Events], None]]


def in_blocks(meter: Meter) -> Callable[[Events], None]:
    return meter.take


def scraped_often(meter: Meter) -> Callable[[Events], None]:
    def take(events: Events) -> None:
        meter.take(events)
        meter.snapshot()

    return take


def one_by_one(meter: Meter) -> Callable[[Events], None]:
    def take(events: Events) -> None:
        for event in events:
            meter.take([event])

    return take


def metered(name: str, limit: int, taker_of: TakerOf) -> Scraped:
    dissection = Dissection(str(CAPTURES / name))
    meter = Meter(dissection.topics, limit)
    dissection.observer = taker_of(meter)
    for _ in dissection.batches():
        pass
    return scraped(meter)


def without_groups(found: Scraped) -> Scraped:
    return {name: values for name, values in found.items() if not name.startswith("kdissect_group_")}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("taker_of", [in_blocks, scraped_often])
@pytest.mark.parametrize("limit", [1000, 3])
@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_counted_as_their_exchanges(name: str, limit: int, taker_of: TakerOf) -> None:
    found, alone = metered(name, limit, taker_of), metered(name, limit, one_by_one)
    if limit < 1000:  # groups are looked at when somebody scrapes: which of them have labels depends on that
        found, alone = without_groups(found), without_groups(alone)
    assert found == alone


@pytest.mark.parametrize("name", NAMES[1:3])
def test_counting_begins_anew_where_there_are_too_many_groups(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metered_blocks, "_GROUPS_KEPT", 2)
    assert metered(name, 3, in_blocks) == metered(name, 3, one_by_one)


def test_most_exchanges_are_no_objects() -> None:
    dissection = Dissection(str(CAPTURES / "kafka44_java_groups.pcapng"))
    meter, left, blocks = Meter(dissection.topics), 0, 0
    add = meter._add

    def count(event: object) -> None:
        nonlocal left
        left += 1
        add(event)  # type: ignore[arg-type]  # an event

    meter._add = count  # type: ignore[method-assign]
    for events in dissection.batches():
        if isinstance(events, native.ExchangeBlock):
            meter.take(events)
            blocks += len(events)
    assert blocks > 100
    assert left < blocks / 4
