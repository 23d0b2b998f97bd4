"""The shapes of the benchmark, each made in small: what it claims to have is in it."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compare import build_go
from shapes import SHAPES
from shapes import make as make_shape

from kdissect.capture.files import open_captures
from kdissect.cli import main

MB = {"wide": 2.0, "large": 2.0, "quorum": 1.0}
SMALL = 0.2
# gzip makes it smaller than what is asked for; a copy of Java 2 has 0.5 MB.
OTHER_SIZE = {"java44gz", "java44", "java2", "share", "quorum", "tls", "aiokafka"}

Make = Callable[[str], Any]
Listed = list[dict[str, Any]]
List = Callable[..., Listed]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a shape, as `shapes.make` does."""
    pytest.importorskip("crc32c", reason="the generator needs the `test` extra")
    return lambda name: make_shape(name, tmp_path, MB.get(name, SMALL))


@pytest.fixture
def listed(capfd: pytest.CaptureFixture[str]) -> List:
    """Return the exchanges of a capture, as `kdissect inspect` lists them."""

    def run(made: Any, *options: str) -> Listed:
        assert main(["inspect", "--format", "jsonl", *options, str(made.path)]) == 0
        return [json.loads(line) for line in capfd.readouterr().out.splitlines()]

    return run


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_exchanges_of_its_ports(name: str, make: Make, listed: List) -> None:
    made = make(name)
    found = listed(made)
    assert len(found) == made.exchanges > 0
    assert {one["kind"] for one in found} == {"kafka"}
    assert {int(one["broker"].rpartition(":")[2]) for one in found} <= {*made.ports, *made.tls_ports}
    assert bool(made.tls_ports) == (name == "tls")
    wanted = MB.get(name, SMALL) * 1e6 * SHAPES[name].scale
    assert made.bytes > wanted * 0.8 or name in OTHER_SIZE


def test_a_connection_of_the_short_shape_greets_produces_and_closes(make: Make, listed: List) -> None:
    connections: dict[str, list[str]] = {}
    for one in listed(make("short")):
        connections.setdefault(one["connection"], []).append(one["api"])
    assert len(connections) > 30
    starts = {tuple(apis[:2]) for apis in connections.values()}
    assert starts == {("ApiVersions", "Metadata")}
    assert all(set(apis[2:]) <= {"InitProducerId", "Produce"} for apis in connections.values())
    # Connections that begin when the capture has its size close at once.
    assert sum(apis[-1] == "Produce" for apis in connections.values()) > 0.8 * len(connections)


def test_followers_send_tagged_fields(make: Make, listed: List) -> None:
    fetches = [one for one in listed(make("followers"), "--bodies") if one["api"] == "Fetch"]
    tagged = [one["request"]["body"] for one in fetches if one["api_version"] >= 15]
    assert len(tagged) > len(fetches) / 2
    assert {body["replica_state"]["replica_id"] for body in tagged} == {2}


def test_nearly_every_fetch_of_the_early_shape_breaks_a_rule(
    make: Make, listed: List, capfd: pytest.CaptureFixture[str]
) -> None:
    made = make("early")
    fetches = sum(one["api"] == "Fetch" for one in listed(made))
    main(["check", "--exit-zero", "--format", "json", str(made.path)])
    findings = json.loads(capfd.readouterr().out)["findings"]
    assert sum(one["count"] for one in findings if one["code"] == "FET008") > fetches * 0.9


@pytest.mark.exhaustive
def test_wide_exchanges_have_5000_partitions(make: Make, listed: List) -> None:
    sizes: dict[str, set[int]] = {"Fetch": set(), "Metadata": set()}
    for one in listed(make("wide"), "--bodies"):
        if one["api"] == "Fetch":
            sizes["Fetch"].add(
                sum(len(topic["partitions"]) for topic in one["response"]["body"]["responses"])
            )
        elif one["api"] == "Metadata":
            topics = one["response"]["body"]["topics"]
            sizes["Metadata"].add(sum(len(topic["partitions"]) for topic in topics))
    assert sizes == {"Fetch": {5000}, "Metadata": {5000}}


@pytest.mark.exhaustive
def test_large_fetches_have_16_mb(make: Make, listed: List) -> None:
    sizes = [one["response"]["bytes"] for one in listed(make("large")) if one["api"] == "Fetch"]
    assert 15e6 < max(sizes) < 18e6


def test_packets_in_vxlan_have_the_exchanges_that_they_wrap(make: Make, listed: List) -> None:
    made = make("vxlan")
    packet = next(iter(open_captures([str(made.path)]).packets()))
    assert packet.data[36:38] == (4789).to_bytes(2, "big")
    assert len({one["connection"] for one in listed(made)}) > 30


def seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.6f}"


def as_golist(one: dict[str, Any]) -> tuple[str, ...]:
    """Return a line of the list as the reader in Go has it."""
    request, response = one["request"], one["response"]
    if response is not None and "captured" in response:
        response = None  # it ends with its connection, in the middle: the reader in Go knows whole frames
    # kmsg spells names as Go does, InitProducerID, and has another name for one API.
    api = one["api"].upper().replace("PARTITIONREASSIGNMENTS", "PARTITIONASSIGNMENTS")
    names = (one["client"], one["broker"], api, one["api_version"], one["correlation_id"])
    sizes = (request["bytes"], "-" if response is None else response["bytes"])
    latency = "-" if response is None else seconds(one["latency_ns"])
    return seconds(request["time_ns"]), *map(str, (*names, *sizes)), latency


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if not shape.keys])
def test_the_reader_in_go_lists_what_kdissect_lists(
    name: str, make: Make, listed: List, tmp_path: Path, benchmarks_on_path: Path
) -> None:
    program = build_go(tmp_path)
    if program is None:
        pytest.skip("the reader in Go cannot be built here")
    made = make(name)
    command = [str(program), "-ports", ",".join(map(str, made.ports)), str(made.path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines: Counter[tuple[str, ...]] = Counter()
    for line in ran.stdout.splitlines():
        row = line.split("\t")
        row[3] = row[3].upper().replace("PARTITIONREASSIGNMENTS", "PARTITIONASSIGNMENTS")
        lines[tuple(row)] += 1
    assert lines == Counter(map(as_golist, listed(made)))
