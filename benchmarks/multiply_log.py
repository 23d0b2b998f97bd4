"""Multiplies request logs of real brokers: every copy begins after the copy before it.

    python benchmarks/multiply_log.py kafka44.requests.log.gz -o short.log --json short.json
    python benchmarks/multiply_log.py slow-follower.requests.log.gz --keep-connections -o long.log

Every copy has other client ports, so that its connections are new. If the ports of a client's address run
out, the next address has them. With `--keep-connections` every copy continues the connections of the first,
with later correlation ids and without the ApiVersions with which connections begin. `--json` writes the JSON
of the lines separately, for `jq -c .`.

Bodies stay as they are, so that identifiers in them repeat as often as there are copies.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import NamedTuple

from traffic.options import parse_size

PAUSE = timedelta(seconds=1)  # between the last line of a copy and the first line of the next
FIRST_PORT, LAST_PORT = 1024, 65535
_LINE = re.compile(
    rb"\[(?P<time>[^]]+)\](?P<level>.*?Completed request:)(?P<head>\{.*?\"correlationId\":)(?P<id>-?\d+)"
    rb"(?P<body>.*\"connection\":\"[^\"]*?-)(?P<host>[^\"-]*):(?P<port>\d+)"
    rb"(?P<end>-[^\"]*\".*\})(?P<logger> \(.*)"
)
API_VERSIONS = b'"requestApiKey":18,'
_TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f"


class Line(NamedTuple):
    """A line of the recorded log, in the parts that a copy replaces or repeats."""

    time: datetime
    level: bytes
    head: bytes
    correlation_id: int
    body: bytes
    client: tuple[str, int]
    end: bytes
    logger: bytes


def read(paths: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of recorded logs. Each log begins after the log before it."""
    last: datetime | None = None
    for path in paths:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as file:
            shift: timedelta | None = None
            for text in file:
                found = _LINE.fullmatch(text.rstrip(b"\r\n"))
                if found is None:
                    continue
                time = datetime.strptime(found["time"].decode().replace(",", "."), _TIME_FORMAT)
                if shift is None:
                    shift = timedelta() if last is None else last + PAUSE - time
                last = max(time + shift, last or datetime.min)
                client = found["host"].decode(), int(found["port"])
                yield Line(
                    time + shift, found["level"], found["head"], int(found["id"]), found["body"], client,
                    found["end"], found["logger"],
                )  # fmt: skip


class Clients:
    """Ends of clients: of every copy other ports."""

    def __init__(self) -> None:
        self._used: dict[str, Iterator[tuple[bytes, int]]] = {}
        self._ends: dict[tuple[int, tuple[str, int]], tuple[bytes, int]] = {}

    def end(self, copy: int, client: tuple[str, int]) -> tuple[bytes, int]:
        """Return address and port of a recorded client in a copy."""
        if (copy, client) not in self._ends:
            free = self._used.setdefault(client[0], _ends(client[0]))
            self._ends[copy, client] = next(free)
        return self._ends[copy, client]


def _ends(host: str) -> Iterator[tuple[bytes, int]]:
    first = ip_address(host.strip("[]"))
    for number in count():
        address = str(first + number)
        for port in range(FIRST_PORT, LAST_PORT + 1):
            yield (f"[{address}]" if first.version == 6 else address).encode(), port


def copies(lines: Sequence[Line], keep_connections: bool) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the lines of all copies, without end: the part before the JSON, the JSON, and the part after."""
    clients = Clients()
    span = lines[-1].time - min(line.time for line in lines) + PAUSE
    step = max(line.correlation_id for line in lines) + 1 if keep_connections else 0
    for copy in count():
        for line in lines:
            if copy and keep_connections and API_VERSIONS in line.head:
                continue
            time = (line.time + copy * span).strftime(_TIME_FORMAT)[:-3].replace(".", ",").encode()
            address, port = clients.end(0 if keep_connections else copy, line.client)
            content = b"%b%d%b%b:%d%b" % (
                line.head, line.correlation_id + copy * step, line.body, address, port, line.end,
            )  # fmt: skip
            yield b"[%b]%b" % (time, line.level), content, line.logger


def write(paths: Sequence[str], size: int, keep_connections: bool, output: str, json: str | None) -> None:
    """Write copies of recorded logs up to a size."""
    lines = list(read(paths))
    if not lines:
        raise SystemExit("no line of a request log")
    with ExitStack() as stack:
        log = stack.enter_context(Path(output).open("wb"))
        plain = stack.enter_context(Path(json).open("wb")) if json else None
        written = 0
        for before, content, after in copies(lines, keep_connections):
            written += log.write(before + content + after + b"\n")
            if plain is not None:
                plain.write(content + b"\n")
            if written >= size:
                return


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--size", type=parse_size, default=parse_size("100MB"))
    parser.add_argument("--keep-connections", action="store_true")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    write(options.logs, options.size, options.keep_connections, options.output, options.json)


if __name__ == "__main__":
    main()
