"""`kdissect tui --web` as a process that serves."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.console import CHECKOUT
from tests.support.patience import PATIENCE_S


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(*line: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=CHECKOUT, start_new_session=True,
        env=os.environ | environment,
    )  # fmt: skip
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def url_of(serving: subprocess.Popen[bytes]) -> str:
    """Return the URL that `kdissect tui --web` prints."""
    assert serving.stdout is not None
    found = re.search(r"http://\S+", serving.stdout.readline().decode())
    assert found is not None
    return found[0]


def connected(address: str, port: int) -> socket.socket:
    """Return a connection to a server that is about to listen."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((address, port), PATIENCE_S)
        except ConnectionRefusedError:
            assert time.monotonic() < until, port
            time.sleep(0.05)
