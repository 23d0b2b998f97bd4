"""Writes a faithful, synthetic capture of Kafka traffic, the same bytes for the same options.

    python benchmarks/generate.py --size 100MB --profile mtu --versions old -o mtu.pcap --truth mtu.json

Bodies are encoded by kafka-python and records by its builder: nothing here depends on what is being measured.
Needs the `test` extra. Bytes of compressed batches also depend on the versions of zlib, lz4 and zstandard.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from traffic.codecs import CODEC_BITS
from traffic.options import PROFILES, RELEASES, Options, default_connections, parse_rate, parse_size
from traffic.sink import LINK_TYPES


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("--size", type=parse_size, default=10_000_000, help="of the file, about: 100MB, 1.5GB, 64k")
    add("--profile", choices=list(PROFILES), default="mtu")
    add("--versions", choices=[*RELEASES, "mixed"], default="mixed", help="old: what Wireshark 4.0 decodes")
    add("--connections", type=int, help="open at the same time; default: one a MB, 6 to 400")
    add("--reorder", type=parse_rate, default=0.0, help="share of segments that change places: 1%% or 0.01")
    add("--loss", type=parse_rate, default=0.0, help="share of packets the capture misses")
    add("--codec", choices=[*CODEC_BITS, "mixed"], default="mixed", help="zstd becomes lz4 before KIP-110")
    add("--seed", type=int, default=1)
    add("--link", choices=list(LINK_TYPES), default="ethernet")
    add("--silent", type=int, default=0, metavar="N", help="N connections that greet and fall silent, alone")
    add("--truth", type=Path, help="write what is in the capture to this JSON file")
    add("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    if chosen.connections is not None and chosen.connections < 1:
        parser.error("--connections must be at least 1")
    return chosen


def main(arguments: list[str]) -> int:
    """Generate one capture; the exit code."""
    chosen = parse_arguments(arguments)
    options = Options(
        size=chosen.size,
        profile=PROFILES[chosen.profile],
        versions=chosen.versions,
        connections=chosen.connections or default_connections(chosen.size),
        reorder=chosen.reorder,
        loss=chosen.loss,
        codec=chosen.codec,
        seed=chosen.seed,
        link=chosen.link,
    )
    # kafka-python takes a while to import: not before the arguments are known to be good.
    from traffic.world import World

    with chosen.output.open("wb") as file:
        world = World(options, file)
        truth = world.run_silent(chosen.silent) if chosen.silent else world.run()
    if chosen.truth:
        chosen.truth.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    counts = ", ".join(f"{truth[name]} {name}" for name in ("bytes", "packets", "connections", "requests"))
    print(f"{chosen.output}: {counts}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
