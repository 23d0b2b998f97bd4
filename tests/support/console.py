"""Runs the command line, in this process or in one of its own, with or without a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).parent.parent.parent
CAPTURES = CHECKOUT / "captures"
TXN = str(CAPTURES / "tansu_rdk216_txn.pcap")


class Ran(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> list[str]:
    """Return the command line of a process of its own."""
    return [sys.executable, "-m", "kdissect", *map(str, arguments)]


def run(*arguments: object, stdin: bytes | None = None, **environment: str) -> Ran:
    """Run in a process of its own, standard output being a pipe."""
    ran = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        env=_environment(environment),
        cwd=CHECKOUT,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def run_on_terminal(arguments: Sequence[object], columns: int = 200, **environment: str) -> Ran:
    """Run with a terminal of that width as standard output; `err` stays a pipe."""
    leader, follower = pty.openpty()
    _set_width(follower, columns)
    process = subprocess.Popen(
        command(*arguments), stdin=subprocess.DEVNULL, stdout=follower, stderr=subprocess.PIPE,
        env=_environment({"TERM": "xterm"} | environment), cwd=CHECKOUT,
    )  # fmt: skip
    os.close(follower)
    out = _read_all(leader)
    assert process.stderr is not None
    with process.stderr as stderr:
        err = stderr.read().decode()
    return Ran(process.wait(), out.decode().replace("\r\n", "\n"), err)


def _set_width(terminal: int, columns: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))


def _read_all(leader: int) -> bytes:
    parts = []
    while True:
        try:
            part = os.read(leader, 1 << 16)
        except OSError:  # Linux: the other end was closed
            part = b""
        if not part:
            os.close(leader)
            return b"".join(parts)
        parts.append(part)


def _environment(changes: dict[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return kept | changes
