"""Request logs next to the packets of the same exchanges."""

from __future__ import annotations

import gzip
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.engine import log_lines
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.times.time_split import PHASES
from tests.support.console import CAPTURES

RECORDED = CAPTURES / "logged" / "recorded"
PACKETS, LOG = RECORDED / "kafka44.pcapng.gz", RECORDED / "kafka44.requests.log.gz"


def exchanges(*paths: Path) -> tuple[list[Exchange], Dissection]:
    dissection = Dissection([str(path) for path in paths])
    return list(dissection), dissection


def key(exchange: Exchange) -> tuple[Any, ...]:
    info: ConnectionInfo = exchange.connection
    return str(info.client), exchange.api_key, exchange.api_version, exchange.correlation_id


def test_each_captured_exchange_has_the_times_of_its_line() -> None:
    joined, dissection = exchanges(PACKETS, LOG)
    captured, _ = exchanges(PACKETS)
    logged = {key(exchange): exchange.log_line for exchange in exchanges(LOG)[0]}
    assert [key(exchange) for exchange in joined] == [key(exchange) for exchange in captured]
    for mine, plain in zip(joined, captured, strict=True):
        assert mine.log_line == logged[key(mine)]
        assert mine.log_line is not None
        assert (mine.latency_ns, mine.logged, plain.log_line) == (plain.latency_ns, None, None)
    counts = dissection.joined
    assert counts is not None
    assert (counts.exchanges, counts.captured) == (len(captured), 0)
    assert counts.logged > 0  # of the controller's listener, which was not captured


def test_the_order_of_the_inputs_does_not_matter() -> None:
    found = [
        [(key(one), one.log_line) for one in exchanges(*paths)[0]]
        for paths in ((PACKETS, LOG), (LOG, PACKETS))
    ]
    assert found[0] == found[1]


def test_frames_keep_their_line_when_they_travel() -> None:
    joined, _ = exchanges(PACKETS, LOG)
    frame = joined[0].response
    assert frame is not None
    again = pickle.loads(pickle.dumps(frame))
    assert (again.line, again.data, again.first_ref) == (frame.line, frame.data, frame.first_ref)
    assert frame.shortened(3).line == frame.line


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_the_split_has_the_network_and_the_phases(capfd: pytest.CaptureFixture[str]) -> None:
    rows = []
    for paths in ((PACKETS,), (PACKETS, LOG), (LOG,)):
        words = ("-Y", "api == Heartbeat", "--by", "api", "--table", "split", "--format", "jsonl")
        rows.append(json.loads(run(capfd, "stats", *paths, *words)[1]))
    packets, both, log = rows
    of_log = {"logged", *(f"{name}_ns" for name in PHASES)}
    assert {name: value for name, value in both.items() if name not in of_log} == {
        name: value for name, value in packets.items() if name not in of_log
    }
    assert {name: both[name] for name in of_log} == {name: log[name] for name in of_log}
    assert both["network_ns"] > 0


def test_differences_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = gzip.decompress(LOG.read_bytes()).decode().splitlines(keepends=True)
    left = [line for line in lines if '"correlationId":3,"clientId":"' not in line]
    missing = sum('"isForwarded":false' in line and ":21612-" in line for line in lines if line not in left)
    (tmp_path / "part.log").write_text("".join(left))
    code, _, err = run(capfd, "stats", PACKETS, tmp_path / "part.log")
    assert code == 0
    assert missing > 10
    assert f"{809 - missing} captured exchanges have their line in the request log" in err
    assert f"{missing - 3} exchanges have no line in it" in err  # three requests have no response


def shifted(to: str) -> str:
    """Return the log at another day or hour."""
    text = gzip.decompress(LOG.read_bytes()).decode()
    return re.sub(r"^\[\d{4}-\d\d-\d\d \d\d:", f"[{to}:", text, flags=re.MULTILINE)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("to", ["2026-01-01 07", "2027-01-01 07"])
def test_a_log_of_another_time_has_no_line(
    to: str, jobs: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.log").write_text(shifted(to))
    code, _, err = run(capfd, "inspect", PACKETS, tmp_path / "other.log", "--format", "jsonl", "--jobs", jobs)
    assert code == 0
    assert "0 captured exchanges have their line in the request log; 800 exchanges have no line in it" in err
    assert "900 lines are of exchanges that were not captured" in err
    assert f"do not overlap in time: the log is of {to[:10]}T" in err
    assert "7 forwarded requests left out" in err


@pytest.mark.parametrize(("part", "joined", "captured"), [(0, 394, 413), (1, 415, 387)])
def test_a_log_of_a_part_of_the_time(
    part: int, joined: int, captured: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress(LOG.read_bytes()).decode().splitlines(keepends=True)
    half = len(lines) // 2
    (tmp_path / "part.log").write_text("".join((lines[:half], lines[half:])[part]))
    _, _, err = run(capfd, "stats", PACKETS, tmp_path / "part.log")
    assert f"{joined} captured exchanges have their line" in err
    assert f"{captured} exchanges have no line in it" in err
    assert "overlap" not in err


def test_processes_give_the_same(tmp_path: Path) -> None:
    outs = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.jsonl"
        words = ["inspect", str(PACKETS), str(LOG), "--format", "jsonl", "-Y", "broker.local > 1ms"]
        assert main([*words, "--jobs", str(jobs), "-o", str(out)]) == 0
        outs.append(out.read_text())
    assert outs[0] == outs[1] != ""


def test_lines_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "LINES_KEPT", 10)
    joined, dissection = exchanges(PACKETS, LOG)
    assert len(joined) == 809
    assert dissection.joined is not None
    assert dissection.joined.exchanges < 809
