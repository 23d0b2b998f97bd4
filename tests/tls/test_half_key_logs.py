"""A key log that lacks the secret of one direction: no command reads the connections."""

import json
from pathlib import Path

import pytest

from kdissect.engine.unread import ConnectionTally
from kdissect.session.info import ConnectionKind
from kdissect.tls.tls_info import NO_HANDSHAKE, NO_KEY_LOG, not_supported
from tests.support.console import run

CAPTURES = Path(__file__).parent.parent.parent / "captures"
CAPTURE = str(CAPTURES / "kafka44_java_tls13.pcapng")
LABELS = ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"]


@pytest.fixture(params=LABELS)
def half(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Return the label that lacks, and the log."""
    lines = (CAPTURES / "kafka44_java_tls13.keys").read_text().splitlines()
    path = tmp_path / "half.keys"
    path.write_text("".join(f"{x}\n" for x in lines if not x.startswith(request.param)))
    return request.param, str(path)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("command", ["check", "why", "stats"])
def test_commands_say_what_they_say_without_a_log(half: tuple[str, str], command: str) -> None:
    _, log = half
    without = json.loads(run(command, CAPTURE, "--format", "json").out)
    with_half = json.loads(run(command, CAPTURE, "--keylog", log, "--format", "json").out)
    for told in (without, with_half):
        told.pop("not_seen", None)  # the reason differs, and is told
    assert with_half == without


def test_one_line_names_the_label(half: tuple[str, str]) -> None:
    label, log = half
    result = run("connections", CAPTURE, "--keylog", log, "--format", "jsonl")
    (line,) = result.err.splitlines()
    assert (
        f"15 of 30 connections are TLS without keys (the key log lacks {label} for this connection)" in line
    )
    kinds = [row["kind"] for row in map(json.loads, result.out.splitlines()) if row["tls"]]
    assert kinds == ["tls"] * 15


@pytest.mark.parametrize("count", [1, 2])
def test_grammar_of_the_lines(count: int) -> None:
    tally = ConnectionTally()
    for _ in range(count):
        tally.count(ConnectionKind.KAFKA, NO_KEY_LOG)
        tally.count(ConnectionKind.TLS, not_supported("cipher suite 0xc077"))
        tally.count(ConnectionKind.TLS, NO_HANDSHAKE)
    others, middle, partly = tally.lines()
    verb = "is" if count == 1 else "are"
    share = f"{count} of {3 * count} connections"
    assert (
        others == f"{share} {verb} TLS that cannot be decrypted: {count} cipher suite 0xc077 is not supported"
    )
    assert middle.startswith(f"{share} {verb} TLS that began before the capture")
    assert partly == f"{share} could be decrypted in part only: {count} {NO_KEY_LOG}"
    assert "--keylog" not in others + middle
