"""`--metrics` of commands that read a stream: scraped while they wait for more."""

import os
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.metrics.scraping import scrape, scraped
from tests.support.console import CAPTURES, CHECKOUT, TXN, command, run
from tests.support.patience import PATIENCE_S

CAPTURE = (CAPTURES / "tansu_rdk216_acks.pcap").read_bytes()


@contextmanager
def reading(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """Run a command whose standard input stays open; yield it, and the address and token of its metrics."""
    process = subprocess.Popen(
        command(*arguments, "-", "--metrics", "127.0.0.1:0"), cwd=CHECKOUT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        process.stdin.write(CAPTURE)
        process.stdin.flush()
        said = process.stderr.readline().decode()
        found = re.fullmatch(r"kdissect: metrics at (http://127\.0\.0\.1:\d+/metrics) (.+)\n", said)
        assert found, said
        yield process, found[1], found[2]
    finally:
        process.kill()
        process.communicate()


def printed(how: str) -> str:
    """Return the token that a command prints."""
    assert how.startswith("with Authorization: Bearer "), how
    return how.rpartition(" ")[2]


def test_stats_is_scraped_while_it_reads() -> None:
    with reading("stats", "--format", "json") as (process, url, how):
        text = scrape(url, printed(how), r'^kdissect_requests_total\{api="Produce".* [1-9]')
        assert re.search(r"^kdissect_capture_packets_total [1-9]", text, re.MULTILINE)
        assert "kdissect_findings_total{" not in text
        process.communicate(timeout=PATIENCE_S)  # the end of the input is the end of the server
        assert process.returncode == 0
        with pytest.raises(OSError, match="refused"):
            scraped(url, printed(how))


def test_check_tells_its_findings() -> None:
    with reading("check") as (_, url, how):
        scrape(url, printed(how), r'^kdissect_findings_total\{rule="[A-Z]{2,3}\d{3}",severity="\w+"\} [1-9]')


def test_who_does_not_know_the_token_gets_nothing() -> None:
    with reading("stats") as (_, url, how):
        for token in (None, "", "wrong", printed(how)[:-1], printed(how) + "0"):
            status, text = scraped(url, token)
            assert status == 401
            assert "kdissect_" not in text
        assert scraped(url, printed(how))[0] == 200


def test_each_run_has_a_token_of_its_own() -> None:
    with reading("stats") as (_, _, one), reading("stats") as (_, url, other):
        assert scraped(url, printed(one))[0] == 401
        assert scraped(url, printed(other))[0] == 200


def test_a_token_file_is_created_for_its_owner_alone_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "token"
    for _ in range(2):
        with reading("stats", "--metrics-token", str(path)) as (_, url, how):
            assert how == f"with the token in {path}"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            token = path.read_text().strip()
            assert scraped(url, None)[0] == 401
            assert scraped(url, token)[0] == 200
    assert path.read_text() == f"{token}\n"


def test_an_open_server_says_so() -> None:
    with reading("stats", "--metrics-open") as (_, url, how):
        assert how == "for everybody who reaches it: --metrics-open"
        assert scraped(url, None)[0] == 200


@pytest.mark.parametrize("text", ["", "short\n", "two words that are long enough\n", "é" * 20, "a" * 5000])
def test_a_file_without_a_token_is_refused_and_not_shown(text: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    ran = run("stats", TXN, "--metrics", ":0", "--metrics-token", path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"kdissect: --metrics-token {path}: it has no token: "
        "one line of at least 16 letters, digits and any of -._~+/\n"
    )


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, why in (
        (pipe, "it is not a regular file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none" / "token", "No such file or directory"),
    ):
        ran = run("stats", TXN, "--metrics", ":0", "--metrics-token", path)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f"kdissect: --metrics-token {path}: {why}\n"


@pytest.mark.parametrize("option", [("--metrics-open",), ("--metrics-token", "file")])
def test_access_to_nothing_is_a_usage_error(option: tuple[str, ...]) -> None:
    ran = run("stats", TXN, *option)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "kdissect: --metrics-token and --metrics-open need --metrics\n"


def test_a_port_in_use_ends_the_command() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("stats", TXN, "--metrics", f":{port}")
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(rf"kdissect: metrics cannot be served at 127\.0\.0\.1:{port}: [^\n]+\n", ran.err)


def test_no_address_is_a_usage_error() -> None:
    ran = run("stats", TXN, "--metrics", "::1:80")
    assert ran.code == 2
    assert "an IPv6 address requires brackets" in ran.err


def test_the_library_is_imported_when_asked_for() -> None:
    program = (
        "import sys; from kdissect.cli import main; main(sys.argv[1:]); "
        "sys.exit('prometheus_client' in sys.modules)"
    )
    ran = subprocess.run(
        [*command()[:1], "-c", program, "stats", TXN],
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        env=os.environ,
        check=False,
    )
    assert ran.returncode == 0
