"""The captures of the benchmark: recordings of real clients, multiplied, and generated traffic, by shape.

    python benchmarks/shapes.py --mb 30 --folder captures_30

makes all of them. `compare.py --shapes` makes those that it measures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from measure import MB

ROOT = Path(__file__).parent.parent
CAPTURES = ROOT / "captures"
GENERATE = Path(__file__).parent / "generate.py"
GENERATED_PORT = 9092
sys.path.append(str(ROOT))  # if kdissect is not installed
TSHARK_CAN = "versions that tshark 4.0 decodes"


class Shape(NamedTuple):
    """How one capture is made."""

    title: str
    options: tuple[str, ...] = ()
    """Of generate.py."""
    recordings: tuple[str, ...] = ()
    """Names in captures/, multiplied."""
    keys: tuple[str, ...] = ()
    """TLS key logs in captures/; the output is a pcapng file that contains them."""
    suffix: str = ".pcap"
    scale: float = 1.0
    """Bytes of the capture, as a part of those that are asked for."""


class Capture(NamedTuple):
    """A capture that was made."""

    path: Path
    ports: list[int]
    """Of brokers, where connections are not encrypted."""
    tls_ports: list[int]
    """Of brokers, where they are."""
    bytes: int
    exchanges: int


def _generated(profile: str, versions: str, *options: str) -> tuple[str, ...]:
    return ("--profile", profile, "--versions", versions, "--codec", "none", *options)


_JAVA = ("produce", "groups", "kip848", "transactions", "admin", "streams", "rejoins", "telemetry")
_AIOKAFKA = ("produce", "groups", "transactions")
SHAPES = {
    "share": Shape("recorded: Java 4.4, a share group", recordings=("kafka44_java_share.pcapng",)),
    "java44": Shape(
        "recorded: Java 4.4, clients of 8 kinds",
        recordings=tuple(f"kafka44_java_{name}.pcapng" for name in _JAVA),
    ),
    "java44gz": Shape(
        "the same as pcapng, compressed by gzip",
        recordings=tuple(f"kafka44_java_{name}.pcapng" for name in _JAVA),
        suffix=".pcapng.gz",
    ),
    "aiokafka": Shape(
        "recorded: aiokafka 0.14 on a 4.4 broker",
        recordings=tuple(f"kafka44_aiokafka_{name}.pcapng" for name in _AIOKAFKA),
    ),
    "java2": Shape(
        "recorded: Java 2.0 to 2.8 on a 2.8 broker", recordings=("kafka28_java_generations_late.pcapng.gz",)
    ),
    "quorum": Shape(
        "recorded: brokers and controllers 4.4", recordings=("kafka44_quorum_failover.pcapng.gz",)
    ),
    "tls": Shape(
        "recorded: Java 4.4, TLS 1.2 and 1.3 with keys",
        recordings=("kafka44_java_tls12.pcapng", "kafka44_java_tls13.pcapng"),
        keys=("kafka44_java_tls12.keys", "kafka44_java_tls13.keys"),
        suffix=".pcapng",
    ),
    "short": Shape("short connections, current versions", _generated("short", "new")),
    "shortold": Shape(f"short connections, {TSHARK_CAN}", _generated("short", "old")),
    "vxlan": Shape("short connections in VXLAN", _generated("short", "new", "--link", "vxlan")),
    "followers": Shape("follower Fetches with tagged fields", _generated("followers", "new")),
    "wide": Shape("5,000 partitions in Fetch and Metadata", _generated("wide", "new")),
    "large": Shape(
        "Fetches of 16 MB", _generated("large", "old", "--connections", "4"), scale=4.0
    ),  # two Fetches would be too few
    "early": Shape("every poll violates a rule", _generated("early", "old")),
    "current": Shape("small frames, current versions", _generated("small", "new")),
    "old": Shape(f"small frames, {TSHARK_CAN}", _generated("small", "old")),
    "polls": Shape("empty polls", _generated("polls", "old")),
    "mtu": Shape("segments of an MTU", _generated("mtu", "old")),
}


def make(name: str, folder: Path, mb: float) -> Capture:
    """Return a capture of a shape, `mb` MB long. Make the file unless it is in the folder.

    Another process makes it: the memory of this one would count for every process that it measures.
    """
    path, known = _places(name, folder, mb)
    if not known.exists():
        command = (sys.executable, __file__, name, "--mb", str(mb), "--folder", str(folder))
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    facts = json.loads(known.read_text(encoding="utf-8"))
    return Capture(path.absolute(), bytes=path.stat().st_size, **facts)


def _places(name: str, folder: Path, mb: float) -> tuple[Path, Path]:
    """Of a capture, and of what is known of it."""
    return folder / f"{name}_{mb:g}{SHAPES[name].suffix}", folder / f"{name}_{mb:g}.json"


def _make(name: str, folder: Path, mb: float) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path, known = _places(name, folder, mb)
    shape = SHAPES[name]
    ports, tls_ports = _write(shape, path, int(mb * MB * shape.scale))
    facts = {"ports": ports, "tls_ports": tls_ports, "exchanges": _exchanges(path)}
    known.write_text(json.dumps(facts), encoding="utf-8")
    return f"{path}: {path.stat().st_size} bytes, {facts['exchanges']} exchanges"


def _write(shape: Shape, path: Path, size: int) -> tuple[list[int], list[int]]:
    """Make a capture; the plain ports of its brokers, and those with TLS."""
    if shape.options:
        command = [sys.executable, str(GENERATE), *shape.options, "--size", str(size), "-o", str(path)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return [GENERATED_PORT], []
    from multiply import multiply  # brings kdissect, which `make` keeps out of its process

    plain = path.with_suffix("") if path.suffix == ".gz" else path
    recordings = [CAPTURES / name for name in shape.recordings]
    recording, _ = multiply(recordings, plain, size=size, keys=[CAPTURES / name for name in shape.keys])
    if plain != path:
        with plain.open("rb") as source, gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as target:
            shutil.copyfileobj(source, target)
        plain.unlink()
    return sorted(recording.brokers.keys() - recording.tls_ports), sorted(recording.tls_ports)


def _exchanges(path: Path) -> int:
    import kdissect  # as `_write`

    return sum(1 for _ in kdissect.open(str(path)))


def main(arguments: list[str]) -> int:
    """Make captures; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, []], help="default: all")
    parser.add_argument("--mb", type=float, default=30, help="size of each (default: 30)")
    parser.add_argument("--folder", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    for name in chosen.shapes or SHAPES:
        print(_make(name, chosen.folder, chosen.mb))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
