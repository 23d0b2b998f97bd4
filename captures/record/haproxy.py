"""HAProxy before a broker, with PROXY protocol headers (the package `haproxy` of Debian)."""

import json
import re
import subprocess
import threading
import time
from typing import NamedTuple

from captures.record import workshop
from captures.record.lab import Lab
from captures.record.spec import HOST

_START_SECONDS = 10
_DEFAULTS = """\
global
    log stdout format raw local0
defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 1m
    timeout server 1m
"""
_LOG = '{"event":"proxied","by":"%ft","for":"%ci:%cp","from":"%bi:%bp"}'
"""A line of each connection when it ends: the client, and HAProxy's own end towards the server."""


class Leg(NamedTuple):
    """Listens on `front` and connects to `server`; ports of loopback.

    `sends` are words of the server's line: `send-proxy`, `send-proxy-v2`, `check`. With `accepts` clients of
    `front` send PROXY headers themselves, and the server gets none.
    """

    name: str
    front: int
    server: int
    sends: str = ""
    accepts: bool = False

    @property
    def lines(self) -> str:
        """Its part of the configuration."""
        accepts = " accept-proxy" if self.accepts else ""
        return (
            f"frontend {self.name}\n    bind {HOST}:{self.front}{accepts}\n    log-format '{_LOG}'\n"
            f"    default_backend to-{self.name}\n"
            f"backend to-{self.name}\n    server kafka {HOST}:{self.server} {self.sends}\n"
        )


class HaProxy:
    """One HAProxy process; the connections that it logs become events of the truth."""

    def __init__(self, lab: Lab, *legs: Leg) -> None:
        program = workshop.program("haproxy", "send PROXY protocol headers")
        home = workshop.folder("run", f"c{lab.cluster.base}", "haproxy", fresh=True)
        (home / "haproxy.cfg").write_text(_DEFAULTS + "".join(leg.lines for leg in legs))
        version = re.search(r"version (\S+)", workshop.run([program, "-v"]))
        lab.truth.note(f"HAProxy {version[1] if version else ''}")
        self._lab = lab
        self._names = {leg.name for leg in legs}
        self._process = subprocess.Popen(
            [program, "-db", "-f", str(home / "haproxy.cfg")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        time.sleep(1)
        if self._process.poll() is not None:
            raise RuntimeError(f"haproxy ended with {self._process.poll()}")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                event = json.loads(line)
                self._lab.truth.event(event, event["by"])

    def stop(self) -> None:
        """End it, when what it carries has ended."""
        self._process.terminate()
        self._process.wait(_START_SECONDS)
        self._reader.join(_START_SECONDS)
