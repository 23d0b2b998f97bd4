"""`kdissect conform broker` against a broker in this process: a healthy one, and one for each fault."""

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import jsonschema
import pytest

from kdissect.cli import main
from kdissect.conform.broker_connection import Dialer, Outcome, Response
from kdissect.conform.broker_run import BrokerRun, NoResponseError
from kdissect.conform.conform_report import conform_schema
from kdissect.conform.request_bodies import Subject
from kdissect.conform.run_capture import RunCapture
from kdissect.conform.sequences.suite_topic import clean_up
from kdissect.conform.statement_results import Place
from kdissect.decoders.bodies import decode_response_body
from kdissect.decoders.encoder import encode
from kdissect.model.endpoint import Endpoint
from kdissect.report.json import report_schema
from kdissect.schema.protocol_messages import response_message
from tests.conform.small_broker import HANDSHAKES, VERSIONS, SmallBroker, small_broker

FINDINGS, USAGE, UNREADABLE = 1, 2, 3
HEARTBEAT, REGISTER, UNREGISTER = 12, 70, 94


def conform(address: str, capfd: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and report."""
    code = main(["conform", "broker", address, "--format", "json", *more])
    return code, json.loads(capfd.readouterr().out)


def results(report: dict[str, Any]) -> dict[str, str]:
    return {row["code"]: row["result"] for row in report["statements"]}


def codes(report: dict[str, Any]) -> set[str]:
    return {row["code"] for row in report["check"]["findings"] if row["severity"] == "error"}


def test_a_healthy_broker_passes(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker() as broker:
        code, report = conform(broker.address, capfd)
    assert code == 0, report["check"]["findings"]
    found = results(report)
    assert "failed" not in found.values()
    tested = {code for code, result in found.items() if result == "passed"}
    assert tested >= {
        "CNF001",
        "CNF002",
        "CNF004",
        "CNF007",
        "CNF014",
        "CNF020",
        "CNF021",
        "CNF022",
        "CNF023",
    }
    assert tested >= {"CNF023", "CNF060", "CNF061", "CNF062", "CNF063", "CNF064"}
    assert (
        report["advertised"] == report["exercised"] == sum(high - low + 1 for low, high in VERSIONS.values())
    )


class Controllers(SmallBroker):
    """A controller whose registrations stay until they are taken out."""

    versions: ClassVar = VERSIONS | {REGISTER: (0, 0), UNREGISTER: (0, 0)}

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.registered: list[int] = []
        self.peak = 0

    def handlers(self) -> dict[int, Callable[[Any], dict[str, Any]]]:
        return super().handlers() | {REGISTER: self.register, UNREGISTER: self.unregister}

    def register(self, body: Any) -> dict[str, Any]:
        self.registered.append(body.controller_id)
        self.peak = len(self.registered)
        return {}

    def unregister(self, body: Any) -> dict[str, Any]:
        self.registered = [one for one in self.registered if one != body.controller_id]
        return {}


class OldControllers(Controllers):
    """A controller that has no API to take a registration out."""

    versions: ClassVar = VERSIONS | {REGISTER: (0, 0)}


@pytest.mark.parametrize(
    ("kind", "options", "is_sent"),
    [
        (Controllers, ["--destructive"], True),
        (Controllers, ["--destructive", "--api", "ControllerRegistration"], True),
        (Controllers, [], False),
        (OldControllers, ["--destructive"], False),
    ],
)
def test_a_registration_of_a_controller_is_taken_back(
    kind: type[Controllers], options: list[str], is_sent: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    with small_broker("", kind) as broker:
        assert isinstance(broker, Controllers)
        _, report = conform(broker.address, capfd, *options)
    row = next(row for row in report["versions"] if row["key"] == REGISTER)
    assert (broker.peak > 0, row["exercised"], not row["why_not"]) == (is_sent,) * 3
    assert broker.registered == []


def test_the_report_follows_its_schema(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("long metadata") as broker:
        _, report = conform(broker.address, capfd)
    schema = json.loads(conform_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(report)
    jsonschema.Draft202012Validator(json.loads(report_schema())).validate(report["check"])
    assert main(["conform", "--schema"]) == 0
    assert json.loads(capfd.readouterr().out) == schema


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ("long metadata", {"FRM006"}),
        ("checksum", {"CNF023"}),
        ("offsets", {"CNF020", "CNF021"}),
        ("older record", {"CNF027"}),
        ("acks=0", {"CNF028"}),
    ],
)
def test_a_fault_is_found_with_its_bytes(
    fault: str, wanted: set[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    capture = tmp_path / "run.pcapng"
    with small_broker(fault) as broker:
        code, report = conform(broker.address, capfd, "--capture", str(capture))
    assert code == FINDINGS
    assert codes(report) & wanted
    found = next(row for row in report["check"]["findings"] if row["code"] in wanted)
    where = found["where"]
    command = ["inspect", str(capture), "--exchange", f"{where['connection']}/{where['exchange']}"]
    assert main([*command, "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out)["api"] == where["api"]


@pytest.mark.parametrize("fault", ["hang", "close", "garbage", "flood"])
def test_a_broker_that_does_not_respond_costs_no_run(fault: str, capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker(fault) as broker:
        code, report = conform(broker.address, capfd, "--timeout", "0.2s")
    assert code == FINDINGS
    assert results(report)["CNF001"] == "failed"
    assert report["exercised"] < report["advertised"] or report["ended_early"]


def test_a_run_that_is_interrupted_has_a_report_and_leaves_no_packets(tmp_path: Path) -> None:
    with small_broker("hang") as broker:
        process = subprocess.Popen(
            [sys.executable, "-m", "kdissect", "conform", "broker", broker.address, "--timeout", "60s",
             "--format", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)},
        )  # fmt: skip
        while broker.requests <= HANDSHAKES and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["ended_early"]) == (UNREADABLE, "it was interrupted")
    assert b"the run ended early: it was interrupted" in err
    assert list(tmp_path.iterdir()) == []


def test_two_runs_have_the_same_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    seen = []
    for _ in range(2):
        with small_broker("long metadata") as broker:
            _, report = conform(broker.address, capfd)
        findings = [(row["fingerprint"], row["count"]) for row in report["check"]["findings"]]
        seen.append((findings, report["versions"], report["statements"], report["skipped"]))
    assert seen[0] == seen[1]


def test_known_findings_fail_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    baseline = str(tmp_path / "known.json")
    with small_broker("checksum") as broker:
        command = ["conform", "broker", broker.address]
        assert main([*command, "--write-baseline", baseline]) == 0
        assert main([*command, "--baseline", baseline]) == 0
        assert main(command) == FINDINGS


@pytest.mark.parametrize("style", ["junit", "sarif", "html", "markdown"])
def test_reports_of_check_have_the_statements(style: str, capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("checksum") as broker:
        assert main(["conform", "broker", broker.address, "--format", style]) == FINDINGS
    assert "refuses-wrong-checksum" in capfd.readouterr().out


def test_one_api_and_one_release(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker() as broker:
        code, report = conform(broker.address, capfd, "--api", "ListOffsets", "--target", "1.0")
    assert code == 0
    why = {(row["api"], row["version"]): row["why_not"] for row in report["versions"]}
    assert why["ListOffsets", 1] is None
    assert why["Produce", 3] is None or why["Produce", 3] == "--api leaves it out"


@pytest.mark.parametrize("words", [["localhost"], ["h:0"], ["127.0.0.1:1", "--api", "NoSuch"]])
def test_wrong_usage(words: list[str]) -> None:
    assert main(["conform", "broker", *words]) == USAGE


def test_a_tls_listener_is_no_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("TLS") as broker:
        code, report = conform(broker.address, capfd)
    assert (code, codes(report)) == (UNREADABLE, set())
    assert "TLS" in report["ended_early"]


def test_a_listener_that_wants_a_login_is_no_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("SASL") as broker:
        code, report = conform(broker.address, capfd)
    assert (code, codes(report)) == (UNREADABLE, set())
    assert "SASL (mechanisms: PLAIN): --command-config requires" in report["ended_early"]


def test_a_version_that_is_not_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """The response is of version 0, without the error code."""
    with small_broker("no refusal") as broker:
        code, report = conform(broker.address, capfd)
    assert code == FINDINGS
    (found,) = [row for row in report["check"]["findings"] if row["code"] == "CNF005"]
    assert found["seen"] == "a response that is not version 0 with error code 35"


def test_a_leader_that_cannot_be_reached_costs_its_sequences(capfd: pytest.CaptureFixture[str]) -> None:
    with small_broker("port") as broker:
        code, report = conform(broker.address, capfd)
    assert (code, report["ended_early"]) == (0, None)
    assert report["exercised"] == report["advertised"]
    assert "Connection refused" in str(report["skipped"])


def test_a_deletion_that_fails_costs_no_other_one() -> None:
    asked = []

    def call(name: str, *_: Any, **__: Any) -> Any:
        asked.append(name)
        raise NoResponseError(None, "no response")

    run = cast("BrokerRun", SimpleNamespace(
        has=lambda _: True, is_given_up=lambda _: False, highest=lambda _: 0, until=lambda ask, _: ask(),
        call=call, brokers={}, controller=-1, created=["a", "b"], groups=["c", "d"], skipped={},
    ))  # fmt: skip
    clean_up(run)
    assert asked == ["DeleteTopics"] * 2 + ["FindCoordinator"] * 2
    assert len(run.skipped) == 2


def test_a_host_that_is_no_name(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "broker", f"{'a' * 300}:9092"]) == UNREADABLE
    assert "fault of kdissect" not in capfd.readouterr().err


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""], ids=["HTTP", "closes"])
def test_a_server_of_another_protocol_is_no_broker(answer: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, no report, and no finding: no byte shows that a Kafka broker listens there."""

    class Stranger(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1_000)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            code = main(["conform", "broker", f"127.0.0.1:{server.server_address[1]}"])
        finally:
            server.shutdown()
    out, err = capfd.readouterr()
    assert (code, out, len(err.splitlines())) == (UNREADABLE, "", 1)
    assert "is it a Kafka broker" in err


def test_no_broker_is_no_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "broker", "127.0.0.1:1"]) == UNREADABLE
    assert "refused" in capfd.readouterr().err


def test_a_coordinator_that_is_not_ready_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new broker loads its internal topics while the suite begins."""
    message = response_message(HEARTBEAT)
    assert message is not None
    codes = [14, 16, 0]
    asked = []

    def ask(_run: BrokerRun, key: int, version: int, *_: object, **__: object) -> Response:
        asked.append(version)
        frame = encode(message, version, {"throttle_time_ms": 0, "error_code": codes[len(asked) - 1]})
        body = decode_response_body(frame, 0, key, version)
        return Response(key, version, Outcome.ANSWERED, Place(1, 2, 0), body)

    monkeypatch.setattr(BrokerRun, "ask", ask)
    address, dialer = Endpoint("127.0.0.1", 1), Dialer({}, 1, RunCapture(BytesIO()))
    run = BrokerRun(address, dialer, Subject("a", 1), may_change=False)
    run.advertised[HEARTBEAT] = (0, 3)
    assert run.call("Heartbeat", {}).body.error_code == 0
    assert asked == [3, 3, 3]
