"""Rows of connections by several analyses of their shares: those of one process, event orders included."""

from itertools import chain

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.api import Dissection
from kdissect.engine.shards import Shard
from kdissect.stages.one_process import produce
from kdissect.stages.per_flow import OF_CONNECTIONS
from tests.support.console import CAPTURES

NAMES = [
    "kafka44_java_groups.pcapng",
    "kafka44_java_errors.pcapng",
    "mock_rdk216_txn.pcap",
    "tansu_rdk216_acks.pcap",
]
TABLES = OF_CONNECTIONS - {"anomalies"}  # those of files are in it, which each share reads


def rows(name: str, shard: Shard | None = None) -> list[tuple[str, str]]:
    dissection = Dissection(str(CAPTURES / name), shard=shard)
    made = produce(dissection, TABLES)
    return [(table, repr(row)) for table, batch in made for row in batch.to_pylist()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_shares_have_all_rows_once(name: str) -> None:
    shares = [rows(name, Shard(number, 3)) for number in range(3)]
    assert sum(map(bool, shares)) > 1
    assert sorted(chain.from_iterable(shares)) == sorted(rows(name))
