"""Command line: `python -m captures.upgrades [RELEASE...]` runs the clients and records them."""

import argparse
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

from captures.faults.record import able, packed
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.client_runs import capture_of, cluster, commands, role
from captures.record.drivers import Running
from captures.record.java import extensions
from captures.record.sniffer import Sniffer
from captures.upgrades.clients import CLIENTS, RELEASES, SOURCES, Client
from captures.upgrades.predictions import OUTCOMES, RECORDED, Outcome, outcomes

_AT_ONCE, _PATIENCE_S = 3, 90
# A client may be slow to see a new topic. A version that is refused is refused each time.
_TRIES = 3


def main() -> int:
    """Run the clients with the releases named, with all of them without a name; the exit code is 1 if one
    could not be recorded.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    parser = argparse.ArgumentParser(prog="python -m captures.upgrades", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of {', '.join(RELEASES)}")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="these alone")
    parser.add_argument("--port-base", type=int, default=19000, help="first of 100 ports to use")
    options = parser.parse_args()
    if missing := able():
        print(f"no client can be recorded here: {missing}", file=sys.stderr)
        return 2
    RECORDED.mkdir(exist_ok=True)
    failed = 0
    for release in options.releases or RELEASES:
        try:
            _run(release, options.client or list(CLIENTS), options.port_base)
        except RuntimeError as problem:
            print(f"{release}: {problem}", file=sys.stderr, flush=True)
            failed += 1
    return int(failed > 0)


def _run(release: str, clients: list[str], base: int) -> None:
    """Run each client with one broker, and note whether it works."""
    server = Cluster(cluster(release, CLIENTS), base, extensions() if release.startswith("4.") else None)
    try:
        server.start()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(lambda client: _outcome_of(server, client), clients))
    finally:
        server.close()
    known = outcomes()
    for client, outcome in zip(clients, found, strict=True):
        known.setdefault(release, {})[client] = outcome
        print(f"{release} {client}: {'works' if outcome.works else outcome.problem}", flush=True)
    text = {version: {name: one._asdict() for name, one in of.items()} for version, of in known.items()}
    OUTCOMES.write_text(json.dumps(text, indent=1, sort_keys=True) + "\n")


def _outcome_of(server: Cluster, name: str) -> Outcome:
    """Run one client until it works, at most `_TRIES` times."""
    for _ in range(_TRIES):
        if (outcome := _tried(server, name)).works:
            break
    return outcome


def _tried(server: Cluster, name: str) -> Outcome:
    """Run one client. With a release whose captures are judged it is recorded, if it works."""
    client, port, release = CLIENTS[name], server.nodes[0].port(role(CLIENTS, name)), server.spec.version
    target = RECORDED / capture_of(release, name)
    sniffer = Sniffer([port], workshop.folder("run", "upgrades") / f"{server.base}-{name}.pcapng")
    is_recorded = release in SOURCES
    if is_recorded:
        sniffer.start()
    try:
        outcome = _outcome(client, name, f"127.0.0.1:{port}")
    except BaseException:
        sniffer.abandon()
        raise
    if is_recorded and outcome.works:
        sniffer.stop(target)
        packed(target)
    else:
        sniffer.abandon()
        for path in (target, target.with_name(f"{target.name}.gz")):
            path.unlink(missing_ok=True)
    return outcome


def _outcome(client: Client, name: str, bootstrap: str) -> Outcome:
    running, read, problems = [], 0, []
    for step in commands(client.driver(), bootstrap, client.steps, name):
        running.append(Running(step, lambda event: None))
        if not client.together:
            problems += _end(running[-1])
    if client.together:
        problems += [problem for one in running for problem in _end(one)]
    for event in (event for one in running for event in one.events):
        read += event["event"] in ("read", "delivered")
        if event["event"] == "seen":  # the drivers in Python report how many records are left
            read += client.reads - event["left"]
        if event["event"] == "error":
            problems.append(f"{event['where']}: {event['code']}")
    works = read >= client.reads and not problems
    if not works and not problems:
        problems.append(f"read {read} of {client.reads} records")
    return Outcome(works, "" if works else problems[-1][:200])


def _end(running: Running) -> list[str]:
    """Wait for the end of a step, and return what went wrong: the last line that its program printed."""
    try:
        running.wait(_PATIENCE_S)
    except RuntimeError as problem:
        lines = [line.strip() for line in str(problem).splitlines() if "Exception" in line or "Error" in line]
        return [lines[-1] if lines else str(problem)[:200]]
    return []


if __name__ == "__main__":
    sys.exit(main())
