"""The request log is on until its time, whoever is killed meanwhile. Afterwards the levels are as before."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdissect.broker_loggers import switch
from kdissect.broker_loggers.switch import FOLDER_VARIABLE, Switch
from kdissect.cli import main
from kdissect.model import extras
from tests.broker_loggers.scripted_broker import CLUSTER_ID, ScriptedBroker, bootstrap, cluster
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")  # kafka-python
LONG = ("--for", "1h")
UNTIL_SEEN_S = 0.02


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    yield tmp_path
    known = Switch.read(CLUSTER_ID)
    if known is not None:
        known.forget()
        wait_for(lambda: not known.is_guarded)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(UNTIL_SEEN_S)


def levels(brokers: list[ScriptedBroker]) -> list[str]:
    return [broker.level for broker in brokers]


def rows(capfd: pytest.CaptureFixture[str], code: int, *arguments: str) -> list[dict[str, object]]:
    assert main(["request-log", *arguments, "--format", "jsonl"]) == code
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_on_and_off_leave_the_levels_as_they_were(capfd: pytest.CaptureFixture[str], state: Path) -> None:
    with cluster("WARN", "INFO") as brokers:
        address = bootstrap(brokers)
        first, second = rows(capfd, 0, "on", address, *LONG)
        assert (first["before"], first["level"], first["problem"]) == ("WARN", "DEBUG", None)
        assert (second["before"], second["level"]) == ("INFO", "DEBUG")
        assert levels(brokers) == ["DEBUG", "DEBUG"]
        known = Switch.read(CLUSTER_ID)
        assert known is not None
        assert known.before == {1: "WARN", 2: "INFO"}
        assert known.is_guarded
        assert [path.stat().st_mode & 0o777 for path in state.iterdir()] == [0o600]
        assert [row["off_at"] for row in rows(capfd, 0, "status", address)] == [first["off_at"]] * 2
        off = rows(capfd, 0, "off", address)
        assert [(row["before"], row["level"], row["off_at"]) for row in off] == [
            ("DEBUG", "WARN", None), ("DEBUG", "INFO", None),
        ]  # fmt: skip
        assert levels(brokers) == ["WARN", "INFO"]
        assert not list(state.iterdir())
        wait_for(lambda: not known.is_guarded)


def test_a_second_on_keeps_what_was_before_the_first(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("ERROR") as brokers:
        address = bootstrap(brokers)
        rows(capfd, 0, "on", address, *LONG)
        first = Switch.read(CLUSTER_ID)
        rows(capfd, 0, "on", address, *LONG, "--level", "TRACE")
        second = Switch.read(CLUSTER_ID)
        assert first is not None
        assert second is not None
        assert (second.before, levels(brokers)) == ({1: "ERROR"}, ["TRACE"])
        wait_for(lambda: not first.is_guarded)
        assert second.is_guarded
        rows(capfd, 0, "off", address)
        assert levels(brokers) == ["ERROR"]


def test_it_ends_in_time_though_the_command_is_killed(state: Path) -> None:
    with cluster("WARN", "WARN") as brokers:
        command = [sys.executable, "-m", "kdissect", "request-log", "on", bootstrap(brokers), "--for", "1s"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(lambda: bool(brokers[0].changes))
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda: not list(state.iterdir()))
        assert levels(brokers) == ["WARN", "WARN"]
        assert brokers[0].changes == ["DEBUG", "WARN"]


def test_without_a_switch_off_sets_the_level_of_the_log4j_files(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("DEBUG", "ERROR") as brokers:
        found = rows(capfd, 0, "off", bootstrap(brokers))
        assert [row["level"] for row in found] == ["WARN", "ERROR"]
        assert brokers[1].changes == []


def test_a_log_that_is_on_without_a_switch_is_off_afterwards(
    capfd: pytest.CaptureFixture[str], state: Path
) -> None:
    """Another user switched it on, or the file of the switch is damaged."""
    with cluster("DEBUG") as brokers:
        rows(capfd, 0, "on", bootstrap(brokers), *LONG)
        (path,) = state.iterdir()
        path.write_text(path.read_text()[:20])
        rows(capfd, 0, "on", bootstrap(brokers), *LONG)
        rows(capfd, 0, "off", bootstrap(brokers))
        assert levels(brokers) == ["WARN"]


@pytest.mark.parametrize(
    "changes",
    [
        {"until": "x"}, {"until": None}, {"until": float("nan")}, {"until": 1e20}, {"guard": "7"},
        {"guard": 10**30}, {"before": {"1": None}}, {"before": {"1": "OFF"}}, {"before": []}, {"more": 1},
    ],
)  # fmt: skip
def test_a_damaged_file_is_no_switch(
    changes: dict[str, object], capfd: pytest.CaptureFixture[str], state: Path
) -> None:
    with cluster("DEBUG") as brokers:
        Switch(CLUSTER_ID, "DEBUG", {1: "INFO"}, time.time() + 60, os.getpid()).write()
        (path,) = state.iterdir()
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        (row,) = rows(capfd, 0, "status", bootstrap(brokers))
        assert row["off_at"] is None
        rows(capfd, 0, "off", bootstrap(brokers))
        assert levels(brokers) == ["WARN"]


def test_a_broker_that_is_away_is_not_forgotten(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("WARN", "INFO") as brokers:
        address = bootstrap(brokers)
        rows(capfd, 0, "on", address, *LONG)
        (port,) = {brokers[0].peers.pop(2)}
        found = rows(capfd, 3, "off", address)
        assert [row["problem"] for row in found] == [None, "it is not in the cluster now"]
        assert levels(brokers) == ["WARN", "DEBUG"]
        brokers[0].peers[2] = port
        rows(capfd, 0, "off", address)
        assert levels(brokers) == ["WARN", "INFO"]


def test_a_level_that_cannot_be_set_again_becomes_fatal(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("OFF") as brokers:
        rows(capfd, 0, "on", bootstrap(brokers), *LONG)
        rows(capfd, 0, "off", bootstrap(brokers))
        assert levels(brokers) == ["FATAL"]


def test_a_broker_that_refuses_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("WARN", "WARN", refusal=lambda node: "not today" if node == 2 else None) as brokers:
        assert main(["request-log", "on", bootstrap(brokers), *LONG]) == 3
        out, err = capfd.readouterr()
        first, second = out.splitlines()
        assert "WARN -> DEBUG, until " in first
        assert second.startswith(f"broker 2 (127.0.0.1:{brokers[1].server_address[1]})  WARN")
        assert second.endswith(": [Error 40] InvalidConfigurationError: not today")
        assert err == "kdissect: 1 broker of 2 not as asked; 'kdissect request-log off' sets levels back\n"
        known = Switch.read(CLUSTER_ID)
        assert known is not None
        known.forget()


def test_nothing_is_kept_where_all_refuse(capfd: pytest.CaptureFixture[str], state: Path) -> None:
    with cluster("WARN", refusal=lambda _: "not today") as brokers:
        assert main(["request-log", "on", bootstrap(brokers), *LONG]) == 3
        assert "until" not in capfd.readouterr().out
        assert not list(state.iterdir())


def test_status_reports_that_the_guard_is_gone(capfd: pytest.CaptureFixture[str]) -> None:
    with cluster("DEBUG") as brokers:
        Switch(CLUSTER_ID, "DEBUG", {1: "WARN"}, time.time() + 60).write()
        (row,) = rows(capfd, 3, "status", bootstrap(brokers))
        assert row["problem"] == "no process switches it off"


def test_the_guard_reports_what_it_could_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch.os, "getpid", lambda: 7)
    monkeypatch.setattr(switch, "_ended", lambda *_: "no route")

    def sleep(_: float) -> None:
        known = Switch.read(CLUSTER_ID)
        assert known is not None
        assert known.problem == "no route"
        known._replace(guard=8).write()  # another process takes over

    monkeypatch.setattr(switch.time, "sleep", sleep)
    past = time.time() - 1
    Switch(CLUSTER_ID, "DEBUG", {1: "WARN"}, past, guard=7).write()
    switch.guard(CLUSTER_ID, past, "127.0.0.1:1", {})
    known = Switch.read(CLUSTER_ID)
    assert known is not None
    assert known.guard == 8


def test_a_cluster_that_does_not_respond() -> None:
    # In a process of its own: kafka-python leaves sockets open.
    script = (
        "from kdissect.broker_loggers import cluster; from kdissect.cli import main; "
        "cluster._TIMEOUT_MS = 300; "
        "raise SystemExit(main(['request-log', 'status', '127.0.0.1:1']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "kdissect: 127.0.0.1:1: 111 ECONNREFUSED\n")


def test_without_kafka_python_one_line_says_how_to_get_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "are_installed", lambda *_: False)
    assert main(["request-log", "status", "127.0.0.1:1"]) == 3
    assert "pip install 'javaproperties>=0.8' 'kafka-python>=3.0,<4'" in capfd.readouterr().err


def test_a_process_that_ended_does_not_run() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    wait_for(lambda: not switch._runs(ended.pid))  # nobody has waited for it
    ended.wait()
    assert not switch._runs(ended.pid)
