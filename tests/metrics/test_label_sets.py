"""Label values from the wire: bounded in number and length, and inert."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kdissect.engine.analyzer import Analyzer
from kdissect.history.topics.topic_names import TopicNames
from kdissect.metrics.catalogue import of_snapshot
from kdissect.metrics.collector import MetricCollector
from kdissect.metrics.label_sets import MAX_VALUE_LENGTH, OTHER, LabelSets, label_value
from kdissect.metrics.meter import Meter
from kdissect.metrics.tallies import Count
from kdissect.model.endpoint import Ports
from tests.support.messages.traffic import Conversation, request, response

HOSTILE = [
    b'"} 1\nkdissect_up 1\n', b"\\", b"\x1b[2J", b"\xff\xfe", b"\n", "\u202eevil".encode(), b"x" * 5_000, b"",
    b"other",
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9).map(str)), max_size=60), st.integers(1, 8))
def test_nothing_is_lost_and_nothing_grows(values: list[tuple[str, str]], limit: int) -> None:
    sets = LabelSets(Count, limit)
    homes: dict[tuple[str, str], Count] = {}
    for value in values:
        counted = sets.at(value)
        counted.value += 1
        assert homes.setdefault(value, counted) is counted  # a set counts at one place for ever
    assert sum(count.value for count in sets.sets.values()) == len(values)
    assert len(sets.sets) <= 2 * limit + 1


def test_the_last_labels_are_given_up_first() -> None:
    sets = LabelSets(Count, 2)
    for client in ("one", "two", "three"):
        sets.at(("Fetch", "b:1", client)).value += 1
    sets.at(("Produce", "b:1", "one")).value += 1
    sets.at(("Metadata", "b:1", "one")).value += 1
    assert {labels: count.value for labels, count in sets.sets.items()} == {
        ("Fetch", "b:1", "one"): 1,
        ("Fetch", "b:1", "two"): 1,
        ("Fetch", "b:1", OTHER): 1,
        ("Produce", "b:1", OTHER): 1,
        ("Metadata", OTHER, OTHER): 1,
    }


@given(st.text() | st.none())
def test_values_are_inert(text: str | None) -> None:
    value = label_value(text)
    assert value.isprintable()
    assert len(value) <= MAX_VALUE_LENGTH
    assert value == text or text is None or not text.isprintable() or len(text) > MAX_VALUE_LENGTH


def test_a_hostile_client_stays_in_its_label() -> None:
    analyzer, meter = Analyzer(Ports({9092})), Meter(TopicNames())
    for index, client_id in enumerate(HOSTILE):
        talk = Conversation(ports=(40_000 + index, 9092)).handshake()
        talk.client(request(18, 0, 1, client_id=client_id)).broker(response(1, b"\0\0\0\0\0\0"))
        for packet in talk.packets:
            for event in analyzer.feed(packet):
                meter.take([event])
    registry = CollectorRegistry()
    registry.register(MetricCollector(of_snapshot(meter.snapshot)))
    text = generate_latest(registry).decode()
    assert text.replace("\n", "").isprintable()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert "kdissect_up" not in families
    requests = families["kdissect_requests"].samples
    assert sum(sample.value for sample in requests) == len(requests) == len(HOSTILE)
