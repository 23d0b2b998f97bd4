"""Kills a writer again and again while others read and compact: `python -m tests.pipeline.sink.soak`.

The writer begins as a stream does (recover, then the last batch again or the next one), joins small files
every few batches, and is killed with SIGKILL at a random moment. Meanwhile this process reads by the manifest
and demands whole batches, each once, none lost; another one compacts by hand, and is killed, too.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from kdissect.pipeline.sink.compaction import compact, compact_every
from kdissect.pipeline.sink.lock import BusyError
from kdissect.pipeline.sink.readers import dataset_of
from tests.pipeline.sink.directories import commit, directory_at

ROWS = 3  # of a batch, in so many files
GRACE_S = 20.0


def write(root: Path) -> None:
    """Commit batches until killed."""
    directory = directory_at(root, grace_s=GRACE_S, clock=time.time)
    left = directory.recover()
    if any(left):
        print(f"found {left}", flush=True)
    last = directory.last_batch()
    batch = 0 if last is None else last + random.randrange(2)
    while True:
        commit(directory, batch, [batch * ROWS + row for row in range(ROWS)], str(batch))
        compact_every(directory, 5)
        batch += 1


def join(root: Path) -> None:
    """Compact by hand until killed; who finds the lock taken comes back."""
    while True:
        try:
            compact(directory_at(root, grace_s=GRACE_S, clock=time.time))
        except BusyError:
            pass
        except OSError as error:  # the writer began anew and took away what was staged
            print(f"compaction: {error}", flush=True)
        time.sleep(0.05)


def read(root: Path) -> int:
    """Return the batches that are there. Raises AssertionError where one is not there once and as a whole."""
    rates = sorted(dataset_of(str(root), "rates").to_table().column("exchanges").to_pylist())
    assert rates == list(range(len(rates))), rates
    assert len(rates) % ROWS == 0, rates
    return len(rates) // ROWS


def soak(root: Path, kills: int) -> None:
    """Kill a writer and a joiner again and again, and check what readers see. Raises AssertionError."""
    reads = batches = 0
    for _ in range(kills):
        children = [
            subprocess.Popen([sys.executable, "-m", __spec__.name, "--as", role, str(root)])
            for role in ("writer", "joiner")
        ]
        begun, until = batches, time.monotonic() + 60
        while time.monotonic() < until:
            found = read(root)
            assert found >= batches, (found, batches)
            if found > batches == begun:  # it is at work
                until = time.monotonic() + random.uniform(0, 2)
            batches, reads = found, reads + 1
            time.sleep(0.02)
        for child in children:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
    directory = directory_at(root, grace_s=0, clock=time.time)
    print(f"{kills} kills, {reads} reads, {batches} batches, left by the last: {directory.recover()}")
    compact(directory)
    assert read(root) in (batches, batches + 1)
    found = len(list((root / "rates").rglob("*.parquet")))
    assert found == len(directory.entries("rates")), found
    print(f"{found} files in the end, all of them named")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--as", dest="role", choices=("writer", "joiner"), help=argparse.SUPPRESS)
    parser.add_argument("root", nargs="?", type=Path)
    options = parser.parse_args()
    if options.role:
        (write if options.role == "writer" else join)(options.root)
    else:
        soak(options.root or Path(mkdtemp(prefix="kdissect-soak-")), options.kills)


if __name__ == "__main__":
    main()
