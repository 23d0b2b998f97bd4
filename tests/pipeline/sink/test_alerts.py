"""Findings that are told: each once to each, whoever fails or is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli.parquet_tables.pipeline_command import add_alerts
from kdissect.pipeline.sink import alerts as alerts_module
from kdissect.pipeline.sink.alert_targets import JsonLines, Target, Webhook, target_of
from kdissect.pipeline.sink.alerts import STATE, Alerts, alert_of
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Once
from tests.pipeline.sink.directories import commit, directory_at
from tests.pipeline.sink.hooks import Hook, different, dripping, finding_rows, listening
from tests.support.http_server import without_proxies
from tests.support.patience import PATIENCE_S


@pytest.fixture
def directory(tmp_path: Path) -> StreamDirectory:
    made = directory_at(tmp_path / "out")
    commit(made, 0, [1], "a")
    return made


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    without_proxies(monkeypatch)
    with listening() as found:
        yield found


class Said(list[str]):
    """What people were told."""

    def __call__(self, text: str) -> None:
        self.append(text)


def alerting(directory: StreamDirectory, *targets: Target, said: Said | None = None) -> Alerts:
    """As a new process begins."""
    return Alerts(targets, directory, Said() if said is None else said)


def quick(hook: Hook, **options: Any) -> Webhook:
    return Webhook(hook.url, sleep=lambda _: None, **{"timeout_s": PATIENCE_S} | options)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_alert_says_what_is_wrong_and_where(directory: StreamDirectory, tmp_path: Path) -> None:
    (row, *_) = finding_rows()
    alerting(directory, JsonLines(str(tmp_path / "alerts"))).send(0, [row])
    (alert,) = lines_of(tmp_path / "alerts")
    assert alert.pop("id") == alert_of(row)["id"]
    assert alert.pop("time").startswith(row["time"].strftime("%Y-%m-%dT%H:%M:%S.%f"))
    assert {name: row[name] for name in alert} == alert
    assert {"severity", "code", "expected", "seen", "address", "file", "first_packet"} <= set(alert)
    assert "bytes_seen" not in alert


def test_each_finding_is_told_once_to_each(directory: StreamDirectory, tmp_path: Path, hook: Hook) -> None:
    rows = different(5)
    said = Said()
    told = alerting(directory, JsonLines(str(tmp_path / "alerts")), quick(hook), said=said)
    told.send(0, rows[:2])
    told.send(1, rows[:3])  # all so far, or those of the batch
    told.send(1, rows[2:3])
    again = alerting(directory, JsonLines(str(tmp_path / "alerts")), quick(hook), said=said)
    again.send(1, rows[:3])
    again.send(2, rows)
    again.send(3, [])
    ids = [alert_of(row)["id"] for row in rows]
    assert [alert["id"] for alert in lines_of(tmp_path / "alerts")] == ids
    assert hook.ids == ids
    assert len(set(ids)) == 5
    assert said == []


def test_a_target_that_is_added_is_told_what_comes(directory: StreamDirectory, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    alerting(directory, JsonLines(str(first))).send(0, different(1))
    alerting(directory, JsonLines(str(first)), JsonLines(str(second))).send(1, different(2))
    assert (len(lines_of(first)), len(lines_of(second))) == (2, 2)


def test_the_id_is_that_of_equal_findings(directory: StreamDirectory) -> None:
    once = {rule.code: rule.once for rule in ALL_RULES}
    of_any = next(row for row in finding_rows() if once[row["code"]] == Once.EACH)
    row = of_any | {"role": "client", "address": "10.0.0.1:1", "software": None, "client_id": "app"}
    later = {
        "time_ns": row["time_ns"] + 1,
        "connection": "x",
        "exchange": 99,
        "count": 7,
        "file": "y",
        "seen": "z",
    }
    host = row["address"].rpartition(":")[0]
    assert alert_of(row)["id"] == alert_of(row | later | {"address": f"{host}:1"})["id"]
    for change in (
        {"code": "XXX001"},
        {"address": "10.9.9.9:1"},
        {"client_id": "-"},
        {"expected": "-"},
        {"path": "-"},
    ):
        assert alert_of(row)["id"] != alert_of(row | change)["id"], change


def test_another_stream_in_the_directory_begins_anew(directory: StreamDirectory, tmp_path: Path) -> None:
    target = JsonLines(str(tmp_path / "alerts"))
    alerting(directory, target).send(0, different(1))
    manifest = directory.manifest()
    assert manifest is not None
    directory.clear(manifest)
    commit(directory, 0, [1], "a")
    alerting(directory, target).send(0, different(1))
    assert len(lines_of(tmp_path / "alerts")) == 2


def test_what_is_posted(directory: StreamDirectory, hook: Hook) -> None:
    alerting(directory, quick(hook)).send(0, different(250))
    assert [len(request.alerts) for request in hook.requests] == [100, 100, 50]
    assert {request.path for request in hook.requests} == {"/hooks/TOKEN"}
    assert {request.headers["Content-Type"] for request in hook.requests} == {"application/json"}
    assert hook.requests[0].headers["User-Agent"].startswith("kdissect/")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(directory: StreamDirectory, hook: Hook, status: int) -> None:
    hook.answers = [status, status]
    waits: list[float] = []
    said = Said()
    alerting(directory, Webhook(hook.url, sleep=waits.append), said=said).send(0, different(1))
    assert len(hook.requests) == 3
    assert waits == [0.5, 1.5]
    assert said == []


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404])
def test_what_will_not_pass_waits_for_the_next_batch(
    directory: StreamDirectory, hook: Hook, status: int
) -> None:
    hook.answers = [status, status]
    said = Said()
    told = alerting(directory, quick(hook), said=said)
    told.send(0, different(2))
    told.send(1, [])
    assert [request.path for request in hook.requests] == ["/hooks/TOKEN"] * 2
    assert said == [f"alerts: http://127.0.0.1: HTTP status {status}; 2 wait for the next batch"]
    alerting(directory, quick(hook), said=said).send(2, different(3))  # also by the next process
    assert len(hook.requests[-1].alerts) == 3
    told.send(2, [])
    assert said[-1] == "alerts: http://127.0.0.1 takes them again"


def test_a_host_that_says_nothing_is_given_up(directory: StreamDirectory, hook: Hook) -> None:
    over = threading.Event()
    hook.answers = [lambda: over.wait() and 200] * 3  # type: ignore[list-item]
    said = Said()
    alerting(directory, quick(hook, timeout_s=0.05), said=said).send(0, different(1))
    over.set()
    assert said == ["alerts: http://127.0.0.1: no answer in time; 1 wait for the next batch"]
    # The host may come to the last one when nobody waits for its answer any more.
    for _ in range(int(PATIENCE_S * 100)):
        if len(hook.requests) == 3:
            break
        time.sleep(0.01)
    assert len(hook.requests) == 3


def test_a_host_that_drips_bytes_is_given_up(directory: StreamDirectory) -> None:
    """Each byte comes in time, the answer does not: one limit holds for the whole exchange."""
    said = Said()
    with dripping(seconds=3) as (url, is_left):
        target = Webhook(url, timeout_s=0.2, pauses_s=())
        alerting(directory, target, said=said).send(0, different(1))
        assert said == ["alerts: http://127.0.0.1: no answer in time; 1 wait for the next batch"]
        assert is_left.wait(PATIENCE_S)


def test_a_name_that_is_found_too_late_is_given_up(
    directory: StreamDirectory, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent to it when nobody waits any more."""
    found, over, look = threading.Event(), threading.Event(), socket.getaddrinfo

    def slow(*arguments: Any, **options: Any) -> Any:
        over.wait(3)
        try:
            return look(*arguments, **options)
        finally:
            found.set()

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    said = Said()
    alerting(directory, quick(hook, timeout_s=0.05, pauses_s=()), said=said).send(0, different(1))
    over.set()
    assert found.wait(PATIENCE_S)
    assert said == ["alerts: http://127.0.0.1: no answer in time; 1 wait for the next batch"]
    assert hook.requests == []


def test_a_bad_proxy_stops_nothing_and_is_not_shown(
    directory: StreamDirectory, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://user:SECRET@127.0.0.1:port")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    said = Said()
    alerting(directory, quick(hook), said=said).send(0, different(1))
    assert len(said) == 1
    assert said[0].startswith("alerts: http://127.0.0.1: ")
    assert "SECRET" not in said[0]
    assert "TOKEN" not in said[0]


def test_nothing_stops_a_stream(directory: StreamDirectory, tmp_path: Path, hook: Hook) -> None:
    said = Said()
    absent = JsonLines(str(tmp_path / "no" / "alerts"))
    refused = Webhook("http://127.0.0.1:1/TOKEN", pauses_s=())
    alerting(directory, absent, refused, quick(hook), said=said).send(0, different(1))
    assert said == [
        f"alerts: {tmp_path}/no/alerts: No such file or directory; 1 wait for the next batch",
        "alerts: http://127.0.0.1: Connection refused; 1 wait for the next batch",
    ]
    assert len(hook.ids) == 1
    said.clear()
    lost = directory_at(tmp_path / "out")
    (tmp_path / "file").touch()
    lost.root = str(tmp_path / "file" / "of" / "nobody")
    alerting(lost, quick(hook), said=said).send(1, different(1))
    alerting(directory, quick(hook), said=said).send(1, [{"code": "nonsense"}])
    assert [line.partition(":")[0] for line in said] == ["alerts of batch 1"] * 2


def test_a_damaged_state_tells_again(directory: StreamDirectory, tmp_path: Path) -> None:
    said = Said()
    for text in ("{", "[]", '{"targets": 3}'):
        (tmp_path / "out" / STATE).write_text(text)
        alerting(directory, JsonLines(str(tmp_path / "alerts")), said=said).send(0, different(1))
    assert len(lines_of(tmp_path / "alerts")) == 3
    assert len(said) == 2
    assert said[0] == f"{STATE} is damaged: findings are sent again"


def test_what_waits_and_what_is_remembered_is_bounded(
    directory: StreamDirectory, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts_module, "MAX_WAITING", 3)
    monkeypatch.setattr(alerts_module, "MAX_REMEMBERED", 4)
    hook.answers = [404]
    said = Said()
    told = alerting(directory, quick(hook), said=said)
    told.send(0, different(5))
    assert said[1] == "alerts: http://127.0.0.1: 2 are dropped, because too many wait"
    told.send(1, different(8)[5:])
    assert len(hook.requests[-1].alerts) == 6
    state = json.loads((Path(directory.root) / STATE).read_text())
    assert [len(held["told"]) for held in state["targets"].values()] == [4]


def test_urls_are_written_down_nowhere(directory: StreamDirectory, hook: Hook) -> None:
    hook.answers = [500, 500, 500]
    said = Said()
    alerting(directory, quick(hook), said=said).send(0, different(1))
    assert said
    written = "".join(path.read_text() for path in Path(directory.root).glob("_*.json"))
    assert "TOKEN" not in written + "".join(said)


def test_a_line_that_a_kill_cut_off_is_taken_away(directory: StreamDirectory, tmp_path: Path) -> None:
    path = tmp_path / "alerts"
    for text, kept in (
        ("", 0),
        ('{"id": "x"}\n', 1),
        ('{"id": "x"}\n{"id', 1),
        ('{"id', 0),
        ('{"a": "' + "x" * 99_999, 0),
    ):
        path.write_text(text)
        JsonLines(str(path)).send([alert_of(row) for row in different(2)])
        assert len(lines_of(path)) == kept + 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mail=x", "'mail' is neither"),
        ("jsonl=", "'jsonl' is neither"),
        ("webhook", "'webhook' is neither"),
        ("webhook=ftp://x/y", "begins with http"),
        ("webhook=file:///etc/passwd", "begins with http"),
        ("webhook=http://", "is none"),
        ("webhook=http://x:99999/", "is none"),
        ("webhook=http://[x/", "is none"),
        ("webhook=http://x/a b", "is none"),
        ("webhook=http://x/\r\nHost: y", "is none"),
        ("webhook=https://user:pass@x/", "no user name"),
    ],
)
def test_targets_that_make_no_sense(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as found:
        target_of(text)
    assert "pass@" not in str(found.value)


def test_the_option_prints_no_url(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    add_alerts(parser.add_argument)
    options = parser.parse_args(["--alert", "jsonl=a", "--alert", "webhook=https://x/TOKEN"])
    assert [target.name for target in options.alert] == ["a", "https://x"]
    with pytest.raises(SystemExit):
        parser.parse_args(["--alert", "webhook=https://user:pass@x/TOKEN"])
    said = capsys.readouterr().err
    assert "has no user name in it" in said
    assert "TOKEN" not in said
    assert "pass@" not in said


def test_targets_by_name(tmp_path: Path) -> None:
    assert target_of(f"jsonl={tmp_path}/a=b").name == f"{tmp_path}/a=b"
    assert target_of("webhook=https://hooks.example.com:8443/a?b=c").name == "https://hooks.example.com"


_TELLING = """
import sys
from pathlib import Path
from kdissect.pipeline.sink.alert_targets import target_of
from kdissect.pipeline.sink.alerts import Alerts
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Once
from tests.pipeline.sink.hooks import different
from tests.pipeline.sink.directories import directory_at
Alerts([target_of(sys.argv[2])], directory_at(Path(sys.argv[1])), print).send(0, different(2))
"""


@pytest.mark.exhaustive
def test_killed_between_telling_and_remembering_it_is_told_again_with_the_same_ids(
    directory: StreamDirectory, hook: Hook
) -> None:
    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", _TELLING, directory.root, f"webhook={hook.url}"])

    def kill() -> int:
        os.kill(child.pid, signal.SIGKILL)
        return 200

    hook.answers = [kill]
    with start() as child:
        pass
    assert child.returncode == -signal.SIGKILL
    with start() as child:
        pass
    assert child.returncode == 0
    alerting(directory, quick(hook)).send(1, different(2))
    assert hook.ids == [alert_of(row)["id"] for row in different(2)] * 2
