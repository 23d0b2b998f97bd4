"""Captures beside processes that take every processor there is, twice."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cli.captures.test_live import EXCHANGES, GROUPS, usable
from tests.support.live import SOURCES, LiveRun, free_port
from tests.support.replay import replay

pytestmark = pytest.mark.exhaustive
REPLAYS = 20


@pytest.fixture
def _load() -> Iterator[None]:
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))
    ]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("_load")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("interface", ["lo", "any"])
def test_nothing_is_lost(source: str, interface: str) -> None:
    usable(source)
    if (source, interface) == ("scapy", "any"):
        pytest.skip("scapy's sockets are of one interface by name")
    port = free_port()
    how = ("-f", f"tcp port {port}", "--source", source, "-e", "api", "--no-header")
    live = LiveRun("live", "-i", interface, *how)
    for _ in range(REPLAYS):
        list(replay(GROUPS, port))
    ran = live.end()
    assert len(ran.out.splitlines()) == REPLAYS * EXCHANGES
    assert " 0 dropped" in ran.err
