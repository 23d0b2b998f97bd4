"""Command line: `python -m captures.healthy [RELEASE...] [--client NAME]`."""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from captures.faults.record import able, packed
from captures.healthy.days import CLIENTS, RELEASES, clients_of
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.client_runs import capture_of, cluster, commands, role
from captures.record.command import recordings_parser
from captures.record.drivers import Running
from captures.record.java import extensions
from captures.record.sniffer import Sniffer

_AT_ONCE, _PATIENCE_S = 3, 90


def main() -> int:
    """Record the releases named, all of them without a name; the exit code is 1 if one failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    parser = recordings_parser(Path(__file__).resolve().parent, RELEASES, 19000, "RELEASE")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="these alone")
    options = parser.parse_args()
    if missing := able():
        print(f"no day can be recorded here: {missing}", file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for release in options.releases or RELEASES:
        try:
            clients = options.client or clients_of(release)
            failed += _recorded(release, clients, options.port_base, options.output)
        except RuntimeError as problem:
            print(f"{release}: {problem}", file=sys.stderr, flush=True)
            failed += 1
    return int(failed > 0)


def _recorded(release: str, clients: list[str], base: int, output: Path) -> int:
    """Record each client with one broker; how many failed."""
    server = Cluster(cluster(release, CLIENTS), base, extensions())
    try:
        server.start()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            said = list(pool.map(lambda client: _day(server, client, output), clients))
    finally:
        server.close()
    for client, (size, problem) in zip(clients, said, strict=True):
        print(f"{release} {client}: {problem or f'{size} bytes'}", flush=True)
    return sum(bool(problem) for _, problem in said)


def _day(server: Cluster, client: str, output: Path) -> tuple[int, str]:
    """Record one client: the size of its capture, and what went wrong."""
    library, port = CLIENTS[client], server.nodes[0].port(role(CLIENTS, client))
    target = output / capture_of(server.spec.version, client)
    sniffer = Sniffer([port], workshop.folder("run", "healthy") / f"{server.base}-{client}.pcapng")
    try:
        driver = library.driver()
        sniffer.start()
        for step in commands(driver, f"127.0.0.1:{port}", library.steps, client):
            Running(step, lambda event: None).wait(_PATIENCE_S)
        sniffer.stop(target)
    except RuntimeError as problem:
        sniffer.abandon()
        return 0, str(problem)
    return packed(target), ""


if __name__ == "__main__":
    sys.exit(main())
