"""Plays a scenario: the cluster it wants, a capture around it, its clients."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from captures.record import java
from captures.record.broker import Cluster
from captures.record.catalogue import story
from captures.record.lab import Lab
from captures.record.sniffer import Sniffer
from captures.record.truth import Truth


@contextmanager
def played(
    module: ModuleType, base: int, output: Path, sniffer_of: Callable[[list[int]], Sniffer]
) -> Iterator[Lab]:
    """Run a scenario on the 100 ports from `base`; `sniffer_of` makes the capture of the ports it gets.

    Inside the block the clients are done, unless the scenario says `RUNS_ON`, and the servers run and are
    captured still: they are stopped on the way out.
    """
    spec = module.BROKER
    cluster = Cluster(spec, base, java.extensions() if spec.modern else None)
    lab = Lab(
        cluster,
        sniffer_of(cluster.ports(spec.sniff)),
        Truth(module.NAME, story(module), spec.version),
        output,
    )
    try:
        _start(lab)
        module.run(lab)
        if not getattr(module, "RUNS_ON", False):
            lab.close()
        yield lab
    finally:
        lab.close()
        lab.sniffer.abandon()
        cluster.close()


def _start(lab: Lab) -> None:
    parts = (lab.sniffer, lab.cluster) if lab.cluster.spec.from_start else (lab.cluster, lab.sniffer)
    for part in parts:
        part.start()
