"""Command line: `python -m captures.logged [NAME...]`."""

import argparse
import gzip
import signal
import sys
from pathlib import Path

from captures.logged.six_clients import SPECS, run
from captures.record import java, workshop
from captures.record.broker import Cluster
from captures.record.lab import Lab
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth


def main() -> int:
    """Record the names given, all of them without a name. The exit code is 1 if one failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    parser = argparse.ArgumentParser(prog="python -m captures.logged", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SPECS)}")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent / "recorded")
    parser.add_argument("--port-base", type=int, default=21600, help="first of 100 ports to use")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.names or SPECS:
        try:
            packets = _record(name, options.port_base, options.output)
        except (RuntimeError, workshop.MissingProgramError) as problem:
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
            failed += 1
            continue
        print(f"{name}: {packets} packets", flush=True)
    return int(failed > 0)


def _record(name: str, base: int, output: Path) -> int:
    """Return the number of packets that were recorded."""
    spec = SPECS[name]
    cluster = Cluster(spec, base, java.extensions() if spec.modern else None)
    sniffer = Sniffer(cluster.ports("clients"), workshop.folder("run", f"raw{base}") / "raw.pcapng")
    lab = Lab(cluster, sniffer, Truth(name, __doc__ or "", spec.version), output)
    try:
        cluster.start()
        sniffer.start()
        run(lab, name)
        lab.close()
        packets = sniffer.stop(output / f"{name}.pcapng")
        log = cluster.request_log(1).read_bytes()
        (output / f"{name}.requests.log.gz").write_bytes(gzip.compress(log, mtime=0))
        if spec.key_log:
            (output / f"{name}.keys").write_bytes(cluster.key_log.read_bytes())
    finally:
        lab.close()
        sniffer.abandon()
        cluster.close()
    return packets


if __name__ == "__main__":
    sys.exit(main())
