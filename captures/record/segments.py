"""Keeps log segments, their indexes and snapshots of a stopped broker, each with what the broker's own dump
tool says of it.
"""

import os
import shutil
from pathlib import Path

from captures.record import jars, workshop
from captures.record.lab import Lab

_DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
_ALLOCATED = (".index", ".timeindex")
_ENTRIES = 24  # a multiple of the 8 and 12 bytes of their entries
_BESIDE = (".index", ".timeindex", ".txnindex", ".snapshot")


def keep(lab: Lab, prefix: str, topics: list[str], node: int = 1) -> None:
    """Copy the segments of these topics of a node that hold something to logs/PREFIX_PARTITION/, dumped."""
    home = lab.cluster.nodes[node - 1].home
    for folder in sorted([*home.glob("d1/*"), *home.glob("d2/*")]):
        topic = folder.name.rpartition("-")[0]
        if folder.is_dir() and topic in topics:
            _keep_partition(lab, folder, f"{prefix}_{folder.name.strip('_')}", topic)


def _keep_partition(lab: Lab, folder: Path, what: str, topic: str) -> None:
    files = [path for path in sorted(folder.glob("*.log")) if path.stat().st_size]
    snapshots = sorted(folder.glob("*.checkpoint"))
    files += snapshots[:1] + snapshots[1:][-1:]  # the first, which holds the voters alone, and the last
    if not files:
        return
    target = lab.output / "logs" / what
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in files + _beside(folder):
        (target / path.name).write_bytes(_without_room(path))
        (target / f"{path.name}.dump.txt").write_text(_dump(lab, folder, path.name, topic))


def _beside(folder: Path) -> list[Path]:
    """Return indexes and producer snapshots that hold something; a stopped broker has cut the others to
    nothing.
    """
    files = [path for suffix in _BESIDE for path in sorted(folder.glob(f"*{suffix}"))]
    return [path for path in files if path.stat().st_size]


def _without_room(path: Path) -> bytes:
    """Return what a file holds; of the 10 MB of zeros that are allocated behind an open index only
    a little.
    """
    data = path.read_bytes()
    if path.suffix not in _ALLOCATED:
        return data
    entries = len(data.rstrip(b"\0")) // _ENTRIES + 100
    return data[: entries * _ENTRIES]


def _dump(lab: Lab, folder: Path, name: str, topic: str) -> str:
    # In the broker's own folder: the tool opens the other files of a segment too, also those that are empty.
    version = lab.cluster.spec.version
    tool = (
        "org.apache.kafka.tools.DumpLogSegments" if lab.cluster.spec.modern else "kafka.tools.DumpLogSegments"
    )
    java = workshop.program("java", "dump log segments")
    command = [java, "-cp", jars.classpath(f"tools-{version}"), tool, "--files", name, "--deep-iteration"]
    decoder = _DECODERS.get(topic, "--print-data-log")
    text = workshop.run([*command, decoder], cwd=folder)
    return text.replace(os.fspath(folder), "")
