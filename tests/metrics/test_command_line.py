"""`--metrics` of commands that read a stream: scraped while they wait for more."""

import os
import re
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.console import CAPTURES, CHECKOUT, TXN, command, run

CAPTURE = (CAPTURES / "tansu_rdk216_acks.pcap").read_bytes()


@contextmanager
def reading(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A command that has got a capture on its standard input, which stays open, and where its metrics are."""
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
        found = re.fullmatch(r"kdissect: metrics at (http://127\.0\.0\.1:\d+/metrics)\n", said)
        assert found, said
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


def scrape(url: str, until: str) -> str:
    """Scrapes until a line is there: reading and scraping run side by side."""
    for _ in range(10_000):
        with urllib.request.urlopen(url) as answer:
            text: str = answer.read().decode()
        if re.search(until, text, re.MULTILINE):
            return text
    raise AssertionError(text)


def test_stats_is_scraped_while_it_reads() -> None:
    with reading("stats", "--format", "json") as (process, url):
        text = scrape(url, r'^kdissect_requests_total\{api="Produce".* [1-9]')
        assert re.search(r"^kdissect_capture_packets_total [1-9]", text, re.MULTILINE)
        assert "kdissect_findings_total{" not in text
        process.communicate(timeout=240)  # the end of the input is the end of the server
        assert process.returncode == 0
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(url)


def test_check_tells_its_findings() -> None:
    with reading("check") as (_, url):
        scrape(url, r'^kdissect_findings_total\{rule="[A-Z]{2,3}\d{3}",severity="\w+"\} [1-9]')


def test_a_port_in_use_ends_the_command() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("stats", TXN, "--metrics", f":{port}")
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(rf"kdissect: metrics cannot be served at 127\.0\.0\.1:{port}: [^\n]+\n", ran.err)


def test_no_address_is_a_usage_error() -> None:
    ran = run("stats", TXN, "--metrics", "::1:80")
    assert ran.code == 2
    assert "an IPv6 address stands in brackets" in ran.err


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
