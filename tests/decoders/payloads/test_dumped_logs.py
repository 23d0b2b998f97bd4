"""Logs of Kafka's own topics, record by record, against what kafka-dump-log says of them.

The logs come with the corpus of captures; without it there is nothing to compare.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.decoders.payloads.internal_records import decode_record, record_log
from kdissect.decoders.payloads.nesting import payload_jsonable
from kdissect.decoders.payloads.payload import Payload
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.reader import iter_records
from tests.support.console import CAPTURES

LOGS = Path(os.environ.get("KDISSECT_LOGS", CAPTURES / "logs"))
DUMPS = sorted(
    dump for ending in ("log", "checkpoint") for dump in LOGS.glob(f"kafka44_*_*-0/*.{ending}.dump.txt")
)
_LINE = re.compile(
    r"^\| offset: (\d+) .*?headerKeys: \[\](?: key: (\{.*?\}))?(?: payload: (\{.*\}| ?<DELETE>)?)?$"
)
_CONTROL = re.compile(r"^\| offset: (\d+) .*headerKeys: \[\] (\w+):? (\{.*\})$")
CONTROL_NAMES = {
    "LeaderChange": "LeaderChangeMessage", "SnapshotHeader": "SnapshotHeaderRecord",
    "SnapshotFooter": "SnapshotFooterRecord", "KRaftVersion": "KRaftVersionRecord",
    "KRaftVoters": "VotersRecord",
}  # fmt: skip


def topic_of(path: Path) -> str:
    """`kafka44_consumer_offsets-0` is partition 0 of `__consumer_offsets`."""
    return "__" + path.parent.name.partition("_")[2].rpartition("-")[0]


def records_of(path: Path) -> Iterator[tuple[int, Payload | None, Payload | None]]:
    """Yield the offset, key and value of each record of a log."""
    topic = topic_of(path)
    data = path.read_bytes()
    found = split_batches(data, 0, len(data))
    assert not found.faults
    for batch in found.batches:
        faults: list[Any] = []
        for record in iter_records(batch, faults):
            yield record.offset, *decode_record(topic, record.key, record.value, batch.is_control)
        assert not faults


def plain(value: Any) -> Any:
    """Our form in that of kafka-dump-log: bytes as base64 text, or what they hold."""
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return value["base64"]
        inside = {
            name.removesuffix("_decoded"): item for name, item in value.items() if name.endswith("_decoded")
        }
        shown = {name: item for name, item in value.items() if not name.endswith("_decoded")}
        shown |= {name: item["value"] for name, item in inside.items()}
        return {bare(name): plain(item) for name, item in shown.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def bare(name: str) -> str:
    """Return a name without its separators: Apache writes kRaftVersion here, KRaftVersion there."""
    return name.replace("_", "").casefold()


def theirs(value: Any) -> Any:
    if isinstance(value, dict):
        return {bare(name): theirs(item) for name, item in value.items()}
    return [theirs(item) for item in value] if isinstance(value, list) else value


def told(payload: Payload | None) -> Any:
    assert payload is not None
    assert payload.error is None, payload
    return plain(payload_jsonable(payload, show_secrets=True)["value"])


def check(line: str, key: Payload | None, value: Payload | None) -> bool:
    """Compare one line of the dump; whether it said anything to compare."""
    control = _CONTROL.match(line)
    if control and control[2] in CONTROL_NAMES:
        assert value is not None
        assert value.name == CONTROL_NAMES[control[2]]
        assert told(value) == theirs(json.loads(control[3]))
        return True
    found = _LINE.match(line)
    if found is None:
        return False
    if found[2]:
        document = json.loads(found[2])
        assert key is not None
        assert str(key.version) == document["type"]
        assert told(key) == theirs(document["data"])
    if found[3] and found[3].startswith("{"):
        document = json.loads(found[3])
        assert value is not None
        assert str(value.version) == str(document["version"])
        if "type" in document:
            assert value.name.casefold() == document["type"].replace("_", "").casefold()
        assert told(value) == theirs(document["data"])
    elif found[2]:
        assert value is None
    return True


@pytest.mark.skipif(not DUMPS, reason="no logs: they come with the corpus of captures")
@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_records_are_those_of_kafka_dump_log(dump: Path) -> None:
    lines = {
        int(line.split()[2]): line for line in dump.read_text().splitlines() if line.startswith("| offset: ")
    }
    ours = list(records_of(dump.with_name(dump.name.removesuffix(".dump.txt"))))
    assert [offset for offset, _, _ in ours] == list(lines)
    compared = sum(check(lines[offset], key, value) for offset, key, value in ours)
    assert compared == len(lines)


OWN = sorted(path for path in LOGS.glob("*_*-0/*.log") if record_log(topic_of(path)) is not None)


@pytest.mark.skipif(not OWN, reason="no logs: they come with the corpus of captures")
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.parent.name)
def test_logs_of_every_release_decode_whole(path: Path) -> None:
    found = list(records_of(path))
    assert found
    for _, key, value in found:
        for payload in (key, value):
            assert payload is None or payload.error is None, payload
