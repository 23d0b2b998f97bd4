"""The stages, with flows dealt out and forwarded events shuffled, give the tables of one process by row."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kdissect.engine.tables.all_tables import TABLES
from kdissect.history.history import History
from kdissect.rules.kinds import FactRule
from kdissect.rules.registry import ALL_RULES
from kdissect.stages.judges import ACROSS, OF_CONNECTIONS
from tests.capture.test_proxy_log import log as proxy_log
from tests.stages.staging import ALL, staged, together
from tests.support.packets.rewritten import (
    Connection,
    change_bodies,
    connections_of,
    follow_without_id,
    follow_without_ids,
    forget_clusters,
    write,
)

CAPTURES = Path(__file__).parents[2] / "captures"
# What came to nothing, groups, transactions, SASL, TLS, share groups, a quorum, two clusters, topic ids, what
# begins in the middle.
SOME = (
    "kafka44_connect_plain.pcapng",
    "kafka44_connect_tls.pcapng",
    "kafka28_scala_consumer.pcapng",
    "kafka32_quorum.pcapng",
    "kafka44_aiokafka_groups.pcapng",
    "kafka44_franz_sasl.pcapng",
    "kafka44_franz_transactions.pcapng",
    "kafka44_java_kip848.pcapng",
    "kafka44_java_telemetry.pcapng",
    "kafka44_java_tls13.pcapng",
    "kafka40_java_share.pcapng",
    "kafka44_java_redelivery.pcapng",
    "kafka44_java_waiting.pcapng",
    "kafka44_two_clusters.pcapng",
    "mock_rdk216_txn.pcap",
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SOME)
def test_stages_give_the_tables_of_one_process(name: str) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    path = str(CAPTURES / name)
    _same(staged(path), together(path))


@pytest.mark.parametrize(
    "name", ["logged/recorded/kafka27.requests.log.gz", "phases/recorded/quota.requests.log.gz", "proxy"]
)
def test_stages_give_the_tables_of_one_process_for_logs(name: str, tmp_path: Path) -> None:
    """The text form of Kafka 2.7, JSON, and the protocol log of Kroxylicious."""
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    path = CAPTURES / name
    if name == "proxy":
        path = tmp_path / "proxy.log"
        path.write_text(proxy_log())
    found = staged(str(path))
    assert found["exchanges"]
    _same(found, together(str(path)))


def _side_by_side(connections: list[Connection], _first: int, _second: int) -> None:
    change_bodies(connections, forget_clusters)


@pytest.mark.parametrize("change", [_side_by_side, follow_without_id, follow_without_ids])
def test_clusters_that_no_response_names_stay_apart(
    change: Callable[[list[Connection], int, int], None], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    connections = connections_of(CAPTURES / "kafka44_two_clusters.pcapng")
    change(connections, 26012, 26062)
    path = str(write(connections, tmp_path / "two.pcap"))
    one = together(path)
    _same(staged(path, parts=4, seed=2), one)
    for table in ("topics", "groups", "producers"):
        assert len({row["cluster"] for row in one[table]}) == 2, table


def test_several_capture_sets_in_one_run_stay_apart() -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    paths = [str(CAPTURES / name) for name in ("kafka28_scala_consumer.pcapng", "tansu_rdk216_kip848.pcap")]
    one = together(paths)
    _same(staged(paths, parts=4, seed=2), one)
    assert len({row["capture_set"] for row in one["latencies"]}) == 2


def test_rotated_files_of_one_capture_are_one(reference: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra arrow")
    paths = [str(path) for path in sorted((reference / "captures").glob("tansu_rdk216_rotated.pcap*"))]
    most = ALL - {"records"}
    one = together(paths, most)
    assert len({row["capture_set"] for row in one["connections"]}) == 1
    assert any(row["request"] and row["request"]["packets"]["last_file"] for row in one["exchanges"])
    _same(staged(paths, parts=2, seed=3, tables=most), one)


def _same(found: dict, wanted: dict) -> None:  # type: ignore[type-arg]
    for name in ALL:
        assert len(found[name]) == len(wanted[name]), name
        for got, want in zip(found[name], wanted[name], strict=True):
            assert got == want, name
            identity = {column: got[column] for column in TABLES[name].identity}
            assert any(value is not None for value in identity.values()), name
    assert set(found) == set(ALL)


def test_every_machine_is_asked_in_one_stage() -> None:
    machines = {name for name in vars(History()) if not name.startswith("_")}
    assert machines == OF_CONNECTIONS | ACROSS
    assert not OF_CONNECTIONS & ACROSS


def test_rules_about_facts_shadow_within_their_stage() -> None:
    """Facts of one exchange that are found in different stages could not silence each other."""
    machine_of = {
        code: _machines(rule) for rule in ALL_RULES for code in [rule.code] if isinstance(rule, FactRule)
    }
    for rule in ALL_RULES:
        if isinstance(rule, FactRule):
            for code in rule.overrides:
                assert machine_of[code] == machine_of[rule.code]
    assert any(rule.overrides for rule in ALL_RULES if isinstance(rule, FactRule))


def _machines(rule: FactRule) -> set[str]:
    return {type(kind).__module__.split(".")[-1].split("_")[0] for kind in rule.facts}
