"""The screen in a browser: textual-serve starts one `kdissect tui` for each page that is open.

It listens on 127.0.0.1 alone: whoever reaches the page reads the captures.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from shlex import join

HOST = "127.0.0.1"


def serve(arguments: Sequence[str], port: int) -> None:
    """Serve until Ctrl-C. `arguments` are those of `kdissect tui` without `--web`.

    Raises ModuleNotFoundError without textual-serve, OSError where the port cannot be had.
    """
    from textual_serve.server import Server  # an optional package

    _check(port)
    command = join([sys.executable, "-m", "kdissect", "tui", *arguments])
    Server(command, host=HOST, port=port, title="kdissect").serve()


def _check(port: int) -> None:
    """Whether the port can be had: textual-serve itself would print a traceback."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind((HOST, port))
