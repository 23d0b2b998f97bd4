"""Topics and their copies: what is lost, twice, out of order, late, and translated offsets."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.sketches.offset_runs import OffsetRuns
from kdissect.stats.by_mirror.checkpoints import Checkpoint, checkpoint_of
from kdissect.stats.by_mirror.mirror_link import LinkFacts, MirrorLink, Place, Room, Sighting
from kdissect.stats.by_mirror.offset_translation import OffsetTranslation
from tests.support.console import CAPTURES, run
from tests.support.messages.valued_topics import Valued, capture

MIRRORED = CAPTURES / "kafka44_mirror.pcapng.gz"
FIRST, SECOND = "a2Rpc3NlY3QtY29ycHVzIQ", "a2Rpc3NlY3Qtc2Vjb25kIQ"
MS = 10**6


class Topics:
    """A topic of one partition and its copy, as a link sees them."""

    def __init__(self, room: Room | None = None) -> None:
        self.source, self.target = OffsetRuns(), OffsetRuns()
        self.link = MirrorLink(room or Room(), {0: self.source}, {0: self.target})

    def wrote(self, offset: int, content: int, is_transactional: bool = False) -> Topics:
        self.source.add(offset, offset)
        self.link.add_source(Sighting(0, offset, content, offset * MS, is_transactional))
        return self

    def copied(self, offset: int, content: int, at_ms: int = 0) -> Topics:
        self.target.add(offset, offset)
        self.link.add_target(Sighting(0, offset, content, at_ms * MS))
        return self

    def facts(self) -> LinkFacts:
        return self.link.facts()


def written(*contents: int) -> Topics:
    topics = Topics()
    for offset, content in enumerate(contents):
        topics.wrote(offset, content)
    return topics


def test_a_complete_copy() -> None:
    facts = written(1, 2, 3).copied(0, 1, 7).copied(1, 2, 7).copied(2, 3, 7).facts()
    assert (facts.arrived, facts.missing, facts.passed_over, facts.duplicates, facts.reordered) == (
        3,
        0,
        0,
        0,
        0,
    )
    assert (facts.waiting, facts.outside, facts.places) == (0, 0, [])
    assert (facts.delay.min, facts.delay.max) == (5 * MS, 7 * MS)


def test_a_lost_record_and_one_that_is_on_its_way() -> None:
    facts = written(1, 2, 3, 4).copied(0, 1).copied(1, 3).facts()
    assert (facts.arrived, facts.missing, facts.passed_over, facts.waiting) == (2, 1, 1, 1)
    assert facts.places == [Place(0, "missing", 1, 1)]


def test_a_record_may_be_where_the_capture_has_nothing() -> None:
    facts = written(1, 2, 3).copied(0, 1).copied(2, 3).facts()
    assert (facts.missing, facts.target_unseen, facts.passed_over) == (1, 1, 0)


def test_a_record_may_have_been_changed() -> None:
    facts = written(1, 2, 3).copied(0, 1).copied(1, 20).copied(2, 3).facts()
    assert (facts.missing, facts.unmatched, facts.passed_over) == (1, 1, 0)
    assert facts.places == [Place(0, "missing", 1, 1), Place(0, "unmatched", 1, 1)]


def test_a_record_of_a_transaction_may_be_aborted() -> None:
    topics = Topics().wrote(0, 1).wrote(1, 2, is_transactional=True).wrote(2, 3)
    facts = topics.copied(0, 1).copied(1, 3).facts()
    assert (facts.missing, facts.in_transactions, facts.passed_over) == (1, 1, 0)


def test_what_was_copied_before_the_capture_is_not_judged() -> None:
    facts = written(5, 6).copied(9, 4).copied(10, 5).copied(11, 6).facts()
    assert (facts.arrived, facts.outside, facts.unmatched) == (2, 1, 0)
    facts = written(1, 2, 3).copied(0, 2).copied(1, 3).facts()
    assert (facts.arrived, facts.outside, facts.missing) == (2, 1, 0)


def test_a_record_that_arrives_twice() -> None:
    facts = written(1, 2).copied(0, 1).copied(1, 2).copied(2, 1).copied(3, 2).facts()
    assert (facts.arrived, facts.duplicates, facts.reordered) == (2, 2, 0)
    assert facts.places == [Place(0, "duplicate", 2, 3)]


def test_equal_records_are_no_duplicates() -> None:
    facts = written(1, 1, 1).copied(0, 1).copied(1, 1).copied(2, 1).facts()
    assert (facts.arrived, facts.duplicates, facts.reordered, facts.missing) == (3, 0, 0, 0)


def test_a_record_out_of_order() -> None:
    facts = written(1, 2, 3).copied(0, 1).copied(1, 3).copied(2, 2).facts()
    assert (facts.arrived, facts.reordered, facts.missing) == (3, 1, 0)
    assert facts.places == [Place(0, "reordered", 2, 2)]


def test_of_equal_records_the_one_in_order_is_taken() -> None:
    """The first of two equal records is lost: the second one is not out of order."""
    facts = written(7, 2, 3, 7).copied(0, 2).copied(1, 3).copied(2, 7).facts()
    assert (facts.reordered, facts.arrived, facts.outside) == (0, 3, 1)


def test_the_source_may_be_seen_late() -> None:
    topics = Topics().copied(0, 1).copied(1, 2).wrote(0, 1).wrote(1, 2)
    assert topics.facts().arrived == 2


def test_a_copy_is_no_duplicate_once_its_source_is_seen() -> None:
    topics = written(1, 2).copied(0, 1).copied(1, 2).copied(2, 1)
    assert (topics.facts().duplicates, topics.link.has_duplicates(0)) == (1, True)
    facts = topics.wrote(2, 1).facts()
    assert (facts.duplicates, facts.arrived, facts.reordered, facts.places) == (0, 3, 0, [])
    assert not topics.link.has_duplicates(0)


def test_a_copy_that_is_seen_first_has_no_delay() -> None:
    topics = Topics().wrote(7, 1).copied(0, 1, at_ms=3).wrote(8, 2).copied(1, 2, at_ms=9)
    facts = topics.facts()
    assert (facts.arrived, facts.early, facts.delay.count, facts.delay.max) == (2, 1, 1, MS)


def test_what_is_copied_after_the_end_of_the_source_is_not_judged() -> None:
    facts = written(1).copied(0, 1).copied(1, 5).copied(2, 6).facts()
    assert (facts.arrived, facts.outside, facts.unmatched) == (1, 2, 0)


def test_memory_is_bounded() -> None:
    topics = Topics(Room(most=10, remembered=10))
    for offset in range(100):
        topics.wrote(offset, offset)
    topics.copied(0, 99)
    facts = topics.facts()
    assert facts.left_out >= 85
    assert facts.passed_over == 0
    assert facts.arrived + facts.left_out + facts.waiting + facts.missing + facts.outside == 100


Change = tuple[str, int]


@given(
    st.lists(st.integers(0, 1000), min_size=3, max_size=40, unique=True),
    st.lists(st.tuples(st.sampled_from(["lose", "repeat", "exchange"]), st.integers(0, 38)), max_size=5),
)
@settings(deadline=None)
def test_planted_faults_are_found(contents: list[int], changes: list[Change]) -> None:
    copies = list(contents)
    for what, at in changes:
        if at + 1 >= len(copies):
            continue
        if what == "lose":
            del copies[at]
        elif what == "repeat":
            copies.append(copies[at])
        else:
            copies[at], copies[at + 1] = copies[at + 1], copies[at]
    topics = written(*contents)
    for offset, content in enumerate(copies):
        topics.copied(offset, content)
    facts = topics.facts()
    place = {content: offset for offset, content in enumerate(contents)}
    firsts = list(dict.fromkeys(copies))
    arrived = [place[content] for content in firsts]
    gone = [offset for offset in range(len(contents)) if offset not in arrived]
    assert facts.arrived == len(firsts)
    assert facts.duplicates == len(copies) - len(firsts)
    assert facts.reordered == sum(max(arrived[:i], default=-1) > offset for i, offset in enumerate(arrived))
    counts = Counter(
        "outside" if offset < min(arrived) else "waiting" if offset > max(arrived) else "missing"
        for offset in gone
    )
    assert (facts.outside, facts.waiting, facts.missing) == (
        counts["outside"],
        counts["waiting"],
        counts["missing"],
    )
    assert facts.passed_over == facts.missing
    for i, offset in enumerate(arrived):
        if copies.index(firsts[i]) == i:  # nothing was repeated before it
            assert topics.link.translated(0, offset) == i


def test_offsets_are_translated_in_runs() -> None:
    offsets = OffsetTranslation()
    for source, target in ((0, 5), (1, 6), (2, 7), (10, 8), (11, 9), (5, 20)):
        offsets.add(source, target)
    assert [offsets.of(source) for source in (0, 2, 3, 4, 5, 6, 10, 12, 13)] == [
        5,
        7,
        8,
        None,
        20,
        21,
        8,
        10,
        None,
    ]
    assert offsets.of(-1) is None


def test_checkpoints() -> None:
    key, value = b"\0\1g\0\7first.t\0\0\0\2", b"\0\0" + (30).to_bytes(8) + (1).to_bytes(8) + b"\0\0"
    assert checkpoint_of(key, value) == Checkpoint("g", "first.t", 2, 30, 1)
    for cut in range(len(key)):
        assert checkpoint_of(key[:cut], value) is None
    assert checkpoint_of(key, value[:17]) is None
    assert checkpoint_of(key, b"\0\1" + value[2:]) is None
    assert checkpoint_of(b"\0\1\xff" + key[3:], value) is None
    assert checkpoint_of(b"\xff\xff" + key[2:], value) is None
    assert checkpoint_of(None, value) is checkpoint_of(key, None) is None


def facts_of(*arguments: str | Path) -> dict[str, Any]:
    ran = run("mirror", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_mirrormaker() -> None:
    """The numbers are those that the writers and the ends of the logs in the truth have."""
    facts = facts_of(MIRRORED)
    truth = json.loads((CAPTURES / "kafka44_mirror.truth.json").read_text())
    sent = Counter(
        (record["client_id"].partition("-")[0], record["topic"]) for record in truth["records"]["sent"]
    )
    rows = {(row["source_cluster"], row["source_topic"]): row for row in facts["mirrors"]}
    for (name, topic), count in sent.items():
        row = rows[FIRST if name == "first" else SECOND, topic]
        assert (row["target_topic"], row["arrived"], row["source_records"]) == (
            f"{name}.{topic}",
            count,
            count,
        )
    for row in facts["mirrors"]:
        assert row["target_cluster"] == ({FIRST, SECOND} - {row["source_cluster"]}).pop()
        assert not any(row[name] for name in ("missing", "duplicates", "reordered", "unmatched", "outside"))
    assert facts["places"] == []
    columns = ("target_topic", "source_offset", "target_offset", "again", "skipped")
    translated = [tuple(row[name] for name in columns) for row in facts["offsets"]]
    assert translated == [
        ("second.orders", 12, 12, 0, 0),
        ("first.orders", 30, 1, 29, 0),
        ("first.orders", 30, 30, 0, 0),
    ]


def test_a_topic_that_was_renamed(tmp_path: Path) -> None:
    values = [b"a", b"b", b"c", b"d"]
    writer = Valued("shop", 40000).write(0, values)
    copier = Valued("copier", 40001, begins=50).write(0, [b"a", b"c", b"d", b"a"], "copies")
    path = capture(tmp_path / "renamed.pcap", writer, copier)
    ran = run("mirror", path, "--map", "orders=copies", "--exit-code")
    assert ran.code == 1, ran.err
    facts = facts_of(path, "--map", "orders=copies")
    (row,) = facts["mirrors"]
    assert (row["arrived"], row["missing"], row["passed_over"], row["duplicates"]) == (3, 1, 1, 1)
    assert [(row["what"], row["side"], row["first_offset"]) for row in facts["places"]] == [
        ("missing", "source", 1), ("duplicate", "target", 3),
    ]  # fmt: skip
    assert facts_of(path)["mirrors"] == []
    assert facts_of(path, "--map", "orders=copies", "--topic", "x*")["mirrors"] == []


def test_records_count_once_however_often_they_are_read(tmp_path: Path) -> None:
    values = [b"a", b"b", b"c"]
    writer = Valued("shop", 40000).write(0, values)
    readers = [Valued(f"r{port}", port, begins=10 + port - 40001).read(0, values) for port in (40001, 40002)]
    copier = Valued("copier", 40003, begins=50).write(0, values, "copies")
    path = capture(tmp_path / "read.pcap", writer, *readers, copier)
    (row,) = facts_of(path, "--map", "orders=copies")["mirrors"]
    assert (row["source_records"], row["arrived"], row["duplicates"]) == (3, 3, 0)


def test_a_second_copy_that_is_found_later(tmp_path: Path) -> None:
    values = [b"a", b"b", b"c"]
    talks = [Valued(name, port, begins=begins).write(0, values, topic) for name, port, begins, topic in (
        ("shop", 40000, 0, "orders"), ("one", 40001, 20, "copy-1"), ("two", 40002, 50, "copy-2"),
    )]  # fmt: skip
    path = capture(tmp_path / "two.pcap", *talks)
    rows = facts_of(path, "--map", "orders=copy-1", "--map", "orders=copy-2")["mirrors"]
    assert [(row["target_topic"], row["arrived"]) for row in rows] == [("copy-1", 3), ("copy-2", 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--map", "orders"), "is no TOPIC=COPY"),
        (("--same-names",), "needs --from CLUSTER"),
        (("--map", "orders=orders"), "needs --from CLUSTER"),
    ],
)
def test_options_that_do_not_suffice(arguments: tuple[str, ...], message: str) -> None:
    ran = run("mirror", MIRRORED, *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_topics_of_one_name() -> None:
    """The two topics `orders` have equal contents, by chance: 12 of the first one are in the second, too."""
    rows = facts_of(MIRRORED, "--same-names", "--from", FIRST)["mirrors"]
    assert {(row["source_topic"], row["target_topic"], row["arrived"]) for row in rows} >= {
        ("orders", "orders", 12), ("orders", "first.orders", 30),
    }  # fmt: skip


def test_a_cluster_that_is_not_there() -> None:
    ran = run("mirror", MIRRORED, "--from", "nope")
    assert ran.code == 0
    assert "--from nope: no records of this cluster were seen" in ran.err
