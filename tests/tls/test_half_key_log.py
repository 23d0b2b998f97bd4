"""A key log that lacks the secret of one direction: nothing is read, and nobody is blamed.

The capture has each connection twice, in plaintext and over TLS (a proxy stands between).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.console import CAPTURES, run

CAPTURE = CAPTURES / "kafka44_java_tls13.pcapng"
KEYS = CAPTURE.with_suffix(".keys")
LINES = KEYS.read_text().splitlines(keepends=True)
RANDOMS = sorted({line.split()[1] for line in LINES if line.split()[0] == "SERVER_TRAFFIC_SECRET_0"})


def log_without(folder: Path, label: str, randoms: list[str] = RANDOMS) -> tuple[str, Path]:
    """The option for a key log without a secret of some connections."""
    log = folder / "half.keys"
    words = {(label, random) for random in randoms}
    log.write_text("".join(line for line in LINES if tuple(line.split()[:2]) not in words))
    return "--keylog", log


def tls_connections(*keys: object) -> list[dict[str, Any]]:
    lines = run("connections", CAPTURE, *keys, "--format", "jsonl").out.splitlines()
    return [row for row in map(json.loads, lines) if row["tls"] is not None]


def findings(*keys: object) -> tuple[int, list[tuple[str, int]]]:
    checked = run("check", CAPTURE, *keys, "--format", "json")
    return checked.code, [(row["code"], row["count"]) for row in json.loads(checked.out)["findings"]]


@pytest.mark.parametrize("label", ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"])
def test_nothing_is_read_and_nobody_is_blamed(tmp_path: Path, label: str) -> None:
    keys = log_without(tmp_path, label)
    reason = f"the key log lacks {label} for this connection"
    rows = tls_connections(*keys)
    assert len(rows) == len(RANDOMS)
    assert {(row["kind"], row["tls"]["why"], row["exchanges"]) for row in rows} == {("tls", reason, 0)}
    assert findings(*keys) == findings(), "of the plaintext alone"
    assert reason in run("check", CAPTURE, *keys).err
    causes = [
        json.loads(run("why", CAPTURE, *given, "--format", "json").out)["causes"] for given in (keys, ())
    ]
    assert causes[0] == causes[1]
    assert run("inspect", CAPTURE, *keys).out == run("inspect", CAPTURE).out


def test_other_connections_of_the_log_are_read(tmp_path: Path) -> None:
    """As in a log that was copied while it was written."""
    keys = log_without(tmp_path, "SERVER_TRAFFIC_SECRET_0", RANDOMS[:1])
    kinds = sorted(row["kind"] for row in tls_connections(*keys))
    assert kinds == [*["kafka"] * (len(RANDOMS) - 1), "tls"]
    assert {code for code, _ in findings(*keys)[1]} <= {code for code, _ in findings("--keylog", KEYS)[1]}
