"""From the wire to the printed line: `python -m benchmarks.live_latency [OPTION of kdissect live ...]`.

Exchanges of a recorded capture are said once more over loopback, one at a time, each waited for on the
standard output of `kdissect live`. Measured is the time from the first byte of the request to the line,
the answer of the fake broker (some 30 us) included.
"""

import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.support.live import free_port
from tests.support.replay import Frames, Talk, conversations

CAPTURE = Path("captures/kafka44_java_groups.pcapng")
_PAUSE_S = 0.05  # so that no exchange rides on the wakeup of the one before


def main() -> None:
    """Print the latencies for `kdissect live` with these options."""
    port, options = free_port(), sys.argv[1:]
    command = [sys.executable, "-m", "kdissect", "live", "-i", "lo", "-f", f"tcp port {port}"]
    with subprocess.Popen(
        [*command, "--format", "tsv", "--no-header", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as live:
        assert live.stderr is not None
        said = live.stderr.readline().decode()
        if "capturing on" not in said:
            sys.exit(said)
        latencies = sorted(_measure(live, port))
        live.send_signal(signal.SIGINT)
    median, p95 = statistics.median(latencies), latencies[int(len(latencies) * 0.95) - 1]
    print(
        f"{' '.join(options) or 'no options'}: {len(latencies)} exchanges, "
        f"median {median:.1f} ms, p95 {p95:.1f} ms, largest {latencies[-1]:.1f} ms"
    )


def _measure(live: subprocess.Popen[bytes], port: int) -> list[float]:
    assert live.stdout is not None
    found: list[float] = []
    for frames in conversations(CAPTURE):
        talk = Talk(port, frames)
        for first in _pairs(frames):
            time.sleep(_PAUSE_S)
            begin = time.perf_counter()
            talk.say(first, first + 2)
            os.read(live.stdout.fileno(), 1 << 16)
            found.append((time.perf_counter() - begin) * 1e3)
        talk.close()
    return found


def _pairs(frames: Frames) -> list[int]:
    """Return where a request is followed by its response, in connections that have nothing else."""
    order = [by_client for by_client, _ in frames]
    pairs = list(range(0, len(order) - 1, 2))
    return pairs if all(order[at] and not order[at + 1] for at in pairs) else []


if __name__ == "__main__":
    main()
