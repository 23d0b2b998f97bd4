"""Names for addresses: the file, and what prints them."""

import json
from pathlib import Path

import pytest

from kdissect.cli import COMMANDS, main
from kdissect.model.hosts import parse_hosts
from tests.support.console import TXN

NAMES = "127.0.0.1:9092 kafka-1\n127.0.0.1 laptop alias # here\n"
READING = [
    "inspect", "connections", "records", "stats", "topics", "groups", "producers", "fetch-sessions", "logins",
    "changes", "access", "offsets", "delay", "mirror",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.0.0.1 a a.example.com\n\n# comment\n::1 here # me\n", {"10.0.0.1": "a", "::1": "here"}),
        ("address,name\n10.0.0.1,kafka-1\n", {"10.0.0.1": "kafka-1"}),
        ('"kafka-1";"10.0.0.1"', {"10.0.0.1": "kafka-1"}),
        ("kafka-1,10.0.0.1,rack a", {"10.0.0.1": "kafka-1"}),
        ("FE80::0:1\tkafka", {"fe80::1": "kafka"}),
        ("[fe80::1]:9092 kafka", {"[fe80::1]:9092": "kafka"}),
        ("10.0.0.1:9092 kafka\n10.0.0.1 host", {"10.0.0.1:9092": "kafka", "10.0.0.1": "host"}),
        ("10.0.0.1 first\n10.0.0.1 second", {"10.0.0.1": "first"}),
        ("10.0.0.1 data/kafka-0", {"10.0.0.1": "data/kafka-0"}),
        ("", {}),
    ],
)  # fmt: skip
def test_files(text: str, found: dict[str, str]) -> None:
    assert parse_hosts(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [("10.0.0.1", "line 1: a line is"), ("10.0.0.1 a\nhost b", "line 2: neither 'host' nor 'b'"),
     ("10.0.0.1 \x1b[2J", "no host name"), ("10.0.0.1 a:b", "no host name"),
     ("10.0.0.1:99999 a", "neither")],
)  # fmt: skip
def test_wrong_files(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        parse_hosts(text)


def kubernetes(kind: str, name: str, **parts: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "data"}, **parts}


KAFKA_1 = {"kind": "Pod", "name": "kafka-1", "namespace": "data"}
PODS = [
    kubernetes("Pod", "kafka-0", status={"podIP": "10.1.0.5", "podIPs": [{"ip": "fd00::5"}]}),
    kubernetes("Pod", "job-1", status={"podIP": "10.1.0.5", "phase": "Succeeded"}),  # its address is free
    kubernetes("Pod", "pending", status={"phase": "Pending"}),
    kubernetes(
        "Pod",
        "agent",
        status={"podIP": "10.0.0.7"},
        spec={
            "hostNetwork": True,
            "nodeName": "node-7",
            "containers": [{"ports": [{"containerPort": 9100}]}],
        },
    ),
]
BALANCED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}, {"hostname": "lb.example.com"}]}}
OTHERS = [
    kubernetes(
        "Service", "kafka", spec={"clusterIP": "10.96.0.9", "externalIPs": ["192.0.2.1"]}, status=BALANCED
    ),
    kubernetes("Service", "headless", spec={"clusterIP": "None", "clusterIPs": ["None"]}),
    kubernetes(
        "Endpoints",
        "kafka",
        subsets=[
            {
                "addresses": [{"ip": "10.1.0.6", "targetRef": KAFKA_1}],
                "notReadyAddresses": [{"ip": "10.1.0.8"}],
            }
        ],
    ),
    kubernetes("EndpointSlice", "kafka-x1", endpoints=[{"addresses": ["10.1.0.9"]}]),
    {"kind": "Node", "metadata": {"name": "node-7"}, "status": {"addresses": [{"address": "10.0.0.7"}]}},
    kubernetes("ConfigMap", "unrelated", data={"ip": "10.9.9.9"}),
]
OF_PODS = {
    "10.1.0.5": "data/kafka-0",
    "fd00::5": "data/kafka-0",
    "10.0.0.7": "node-7",
    "10.0.0.7:9100": "data/agent",
}
OF_OTHERS = {
    "10.96.0.9": "data/kafka",
    "192.0.2.1": "data/kafka",
    "192.0.2.2": "data/kafka",
    "10.1.0.6": "data/kafka-1",
    "10.1.0.8": "data/kafka",
    "10.1.0.9": "data/kafka-x1",
    "10.0.0.7": "node-7",
}


@pytest.mark.parametrize("indent", [None, 4])
def test_what_kubectl_prints(indent: int | None) -> None:
    """Compact or pretty; a list, the items of a list without kinds, one object, several documents."""

    def dumped(value: object) -> str:
        return json.dumps(value, indent=indent)

    every = {"apiVersion": "v1", "kind": "List", "items": [*PODS, *OTHERS]}
    assert parse_hosts(dumped(every)) == OF_PODS | OF_OTHERS
    bare = [{name: part for name, part in pod.items() if name != "kind"} for pod in PODS]
    assert parse_hosts(dumped({"kind": "PodList", "items": bare})) == OF_PODS
    assert parse_hosts(dumped(PODS[0])) == {"10.1.0.5": "data/kafka-0", "fd00::5": "data/kafka-0"}
    assert parse_hosts("\n".join(map(dumped, OTHERS))) == OF_OTHERS
    assert parse_hosts(dumped([*PODS])) == OF_PODS
    assert parse_hosts(dumped({"kind": "List", "items": []})) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [('{"kind": "Pod"', "line 1: no JSON"), ("[{}," + "[" * 100_000, "nested|no JSON"),
     ('{"a":' * 100_000, "nested|no JSON"), ('{"kind": "List"}\nx', "line 2: no JSON")],
)  # fmt: skip
def test_wrong_json(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_hosts(text)


def test_an_odd_name_in_json_is_skipped_with_a_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = [
        kubernetes("Service", name, spec={"clusterIP": address})
        for name, address in (("a:b", "10.9.0.1"), ("x" * 600, "10.9.0.2"))
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps([odd[0], *PODS, odd[1]]))
    assert parse_hosts(path.read_text()) == OF_PODS
    assert main(["connections", TXN, "--hosts", str(path)]) == 0
    warned = capfd.readouterr().err
    assert "10.9.0.1: 'data/a:b' is no host name: the address has no name (2 addresses skipped)" in warned


@pytest.mark.parametrize("value", [None, 7, "x", [7], {"x": 7}])
def test_json_of_other_shapes_names_nothing(value: object) -> None:
    for kind in ("Pod", "Service", "Endpoints", "EndpointSlice", "Node"):
        parts = dict.fromkeys(("metadata", "status", "spec", "subsets", "endpoints"), value)
        assert parse_hosts(json.dumps({"kind": kind, **parts})) == {}


@pytest.mark.parametrize("options", [[], ["--jobs", "2", "--format", "jsonl"]])
def test_a_file_that_names_nothing_is_reported(
    options: list[str], tmp_path: Path, hosts: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "others"
    path.write_text("10.99.0.1 elsewhere\n")
    assert main(["inspect", TXN, "--hosts", str(path), *options]) == 0
    assert "--hosts named nothing: the file has 1 address, and no connection has" in capfd.readouterr().err
    assert main(["inspect", TXN, "--hosts", str(path), "-n", *options]) == 0
    assert "--hosts" not in capfd.readouterr().err
    assert main(["inspect", TXN, "--hosts", hosts, *options]) == 0
    assert "--hosts" not in capfd.readouterr().err
    assert main(["stats", TXN, "--hosts", hosts]) == 0  # prints no address
    assert "--hosts" not in capfd.readouterr().err


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    path = tmp_path / "hosts"
    path.write_text(NAMES)
    return str(path)


@pytest.mark.parametrize("command", [name for name in READING if name in COMMANDS])
def test_commands_take_names(command: str, hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    for options in (["--hosts", hosts], ["--hosts", hosts, "-n"]):
        columns = ["-e", "client,broker"] if command == "records" else []
        assert main([command, TXN, *options, *columns]) == 0
        out = capfd.readouterr().out
        if command in ("inspect", "connections", "records"):
            assert ("kafka-1:9092" in out) == ("-n" not in options)
            assert ("127.0.0.1" in out) == ("-n" in options)


def test_both_ways_of_writing_lines(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = []
    for options in ([], ["--bodies"]):
        assert main(["inspect", TXN, "--hosts", hosts, "--format", "jsonl", *options]) == 0
        found.append(json.loads(capfd.readouterr().out.splitlines()[0]))
    assert {(row["client"].partition(":")[0], row["broker"]) for row in found} == {("laptop", "kafka-1:9092")}


def test_names_change_no_identity(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    rows = []
    for options in ([], ["--hosts", hosts]):
        assert main(["inspect", TXN, "--format", "jsonl", *options]) == 0
        lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        rows.append([(row["connection"], row["exchange"], row["topics"]) for row in lines])
    assert rows[0] == rows[1]


def test_the_environment_names_a_file(
    hosts: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KDISSECT_HOSTS", hosts)
    assert main(["connections", TXN]) == 0
    assert "kafka-1:9092" in capfd.readouterr().out
    monkeypatch.setenv("KDISSECT_HOSTS", hosts + ".absent")
    assert main(["connections", TXN]) == 2


def test_stats_by_names(hosts: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", TXN, "--hosts", hosts, "--by", "client,broker", "--format", "json"]) == 0
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [(row["client"], row["broker"]) for row in rows] == [("laptop", "kafka-1:9092")]
