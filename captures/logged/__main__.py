"""Command line: `python -m captures.logged [NAME...]`."""

import gzip
import signal
import sys
from pathlib import Path

from captures.logged.six_clients import SPECS, run
from captures.record import java, workshop
from captures.record.broker import Cluster
from captures.record.command import record_each, recordings_parser
from captures.record.lab import Lab
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth


def main() -> int:
    """Record the names given, all of them without a name. The exit code is 1 if one failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    options = recordings_parser(Path(__file__).resolve().parent, SPECS, 21600).parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    return record_each(options.names or SPECS, lambda name: _record(name, options.port_base, options.output))


def _record(name: str, base: int, output: Path) -> str:
    """Record a cluster, and return how much it was."""
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
    return f"{packets} packets"


if __name__ == "__main__":
    sys.exit(main())
