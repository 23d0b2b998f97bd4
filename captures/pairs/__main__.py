"""Command line: `python -m captures.pairs [NAME...]`."""

import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from captures.faults.record import able, packed
from captures.pairs.pairs import APACHE, PAIRS, RDKAFKA, Run
from captures.record import workshop
from captures.record.broker import Cluster
from captures.record.command import recordings_parser
from captures.record.drivers import Running
from captures.record.java import extensions
from captures.record.other_brokers import librdkafka_mock
from captures.record.pythons import release
from captures.record.sniffer import Sniffer
from captures.record.spec import Spec

_CLIENT, _PATIENCE_S = "shop", 60
# Four partitions a topic: as the mock cluster has them.
_BROKER = Spec("4.4.0", properties={"group.initial.rebalance.delay.ms": "0", "num.partitions": "4"})


def main() -> int:
    """Record the pairs named, all of them without a name."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    options = recordings_parser(Path(__file__).resolve().parent, PAIRS, 19000).parse_args()
    if missing := able():
        print(f"no pair can be recorded here: {missing}", file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    with _apache(options.port_base) as cluster:
        for name in options.names or PAIRS:
            pair = PAIRS[name]
            for side, run in (("good", pair.good), ("bad", pair.bad)):
                size = _recorded(run, cluster, options.output / f"{name}-{side}.pcapng")
                print(f"{name}-{side}: {size} bytes", flush=True)
            sides = {"good": _said(pair.good), "bad": _said(pair.bad)}
            told = {"pair": name, "changed": pair.changed, "client_id": _CLIENT, **sides}
            (options.output / f"{name}.pair.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


def _said(run: Run) -> dict[str, object]:
    driver = run.driver()
    client = f"{driver.name} {driver.version}"
    return {"broker": run.broker, "client": client, "does": run.action, "settings": dict(run.settings)}


@contextlib.contextmanager
def _apache(base: int) -> Iterator[Cluster]:
    cluster = Cluster(_BROKER, base, extensions())
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def _recorded(run: Run, cluster: Cluster, target: Path) -> int:
    """Record one half; the size of its capture."""
    with contextlib.ExitStack() as held:
        if run.broker == APACHE:
            bootstrap, ports = cluster.bootstrap, cluster.ports("clients")
        else:
            port = held.enter_context(librdkafka_mock(RDKAFKA))
            bootstrap, ports = f"127.0.0.1:{port}", [port]
        topic = f"sales-{target.stem}"
        filler = release("librdkafka", RDKAFKA)
        count = 12 if run.action in ("reads", "Consume") else 1
        filled = {"topic": topic, "count": count, "burst": count, "pace": 0, "size": 120}
        _driven([*filler.command, bootstrap, "writes", "--client-id", "before"], filled, {})
        sniffer = Sniffer(ports, workshop.folder("run", "pairs") / "raw.pcapng")
        held.callback(sniffer.abandon)
        sniffer.start()
        options = {"topic": topic} | dict(run.options)
        if "group" in options:
            options["group"] += f"-{target.stem}"
        _driven([*run.driver().command, bootstrap, run.action, "--client-id", _CLIENT], options, run.settings)
        sniffer.stop(target)
    return packed(target)


def _driven(command: list[str], options: dict[str, object], settings: object) -> None:
    for key, value in options.items():
        command += ["--" + key.replace("_", "-"), str(value)]
    for key, value in dict(settings).items():  # type: ignore[call-overload]
        command += ["--set", f"{key}={value}"]
    Running(command, lambda event: None).wait(_PATIENCE_S)


if __name__ == "__main__":
    sys.exit(main())
