"""What the command prints for the corpus is what it printed before, unless somebody meant to change it.

`python -m tests.regenerate goldens` writes the goldens anew and prints
what changed. A few are kept whole, to be read; of every capture a digest for each API version is kept.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import orjson
import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_rows import ExchangeRows
from tests.support.console import CAPTURES, run

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
FOLDER = Path(__file__).parent
SHOWN = 60  # lines of a difference

READABLE = {
    "produce.tree": "--format tree --api Produce --limit 4 captures/kafka44_java_produce.pcapng",
    "produce.jsonl": "--format jsonl --bodies --limit 8 captures/kafka44_java_produce.pcapng",
    "old_groups.tree": "--format tree --api JoinGroup,SyncGroup --limit 4 "
    "captures/kafka28_java_generations_early.pcapng",
    "zookeeper.tree": "--format tree --api LeaderAndIsr,UpdateMetadata --limit 2 "
    "captures/kafka28_zookeeper_upgrade.pcapng.gz",
    "admin.jsonl": "--format jsonl --bodies --api DescribeCluster,DescribeQuorum "
    "captures/kafka44_java_admin.pcapng",
}


@pytest.mark.parametrize("name", READABLE)
def test_readable(name: str) -> None:
    ran = run("inspect", *READABLE[name].split())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out
    compare(FOLDER / name, ran.out)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("capture", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_digests(capture: Path) -> None:
    compare(FOLDER / "digests" / f"{capture.name}.txt", "".join(f"{line}\n" for line in digests(capture)))


def digests(capture: Path) -> Iterator[str]:
    """Yield API, version, number of exchanges, and a digest of their rows with bodies, in order."""
    rows = ExchangeRows([capture.name], bodies=True)
    hashes: dict[tuple[int, int], hashlib.blake2b] = {}
    counts: Counter[tuple[int, int]] = Counter()
    names: dict[int, str] = {}
    for exchange in Dissection(str(capture)):
        row = rows.row(exchange)
        key = -1 if row["api_key"] is None else row["api_key"]
        at = key, -1 if row["api_version"] is None else row["api_version"]
        names[key] = row["api"] or "-"
        counts[at] += 1
        hashes.setdefault(at, hashlib.blake2b(digest_size=8)).update(orjson.dumps(row))
    for (key, version), count in sorted(counts.items()):
        yield f"{key} {names[key]} v{version} {count} {hashes[key, version].hexdigest()}"


def compare(golden: Path, now: str) -> None:
    before = golden.read_text() if golden.exists() else ""
    if before == now:
        return
    change = list(unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=1))
    text = "\n".join(change[:SHOWN])
    if not UPDATE:
        pytest.fail(f"{golden.name} changed (`python -m tests.regenerate goldens` accepts it):\n{text}")
    golden.parent.mkdir(exist_ok=True)
    golden.write_text(now)
    print(f"{golden.name}:\n{text}")
