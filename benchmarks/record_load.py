"""`kdissect record` next to dumpcap, while another process keeps each core busy.

    python benchmarks/generate.py --size 3450MB --profile small --versions new --codec none \\
        --connections 150 -o small.pcap
    python benchmarks/record_load.py small.pcap --rate 20000 --seconds 600

Plays a capture to a pair of virtual interfaces. One that is too short is played again, from other ports: its
connections never end then, and their number grows. Both programs capture the same packets, with the same
filter and kernel buffer. Prints packets, drops, CPU time and memory. Needs Linux, root and dumpcap. Nothing
is judged.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kdissect.capture.files import open_captures

SENDS, CAPTURES = "kdload0", "kdload1"
BROKER_PORT, FILTER = 9092, "tcp port 9092"
BUFFER_MIB = "16"
BURST = 20
ENDS_S = 20
PORTS_AT = 34  # Ethernet, IPv4 without options
BUSY = "while True: pass"


def play(path: str, rate: float, seconds: float) -> None:
    """Send the packets of a capture, so many a second. Print their number, and how long it took."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((SENDS, 0))
    print("ready", flush=True)
    begin = time.monotonic()
    sent = 0
    for data in packets(path):
        out.send(data)
        sent += 1
        if not sent % BURST:
            passed = time.monotonic() - begin
            if passed >= seconds:
                break
            time.sleep(max(0.0, sent / rate - passed))
    print(f"sent {sent} packets in {time.monotonic() - begin:.1f} s", flush=True)


def packets(path: str) -> Iterator[bytes]:
    """Yield the packets of a capture again and again, each time from other client ports."""
    ports = struct.Struct(">HH")
    for turn in count():
        for batch in open_captures([path]).batches():
            for packet in batch:
                data = bytearray(packet[3])
                if turn:
                    source, target = ports.unpack_from(data, PORTS_AT)
                    moved = (source, _moved(target, turn)), (_moved(source, turn), target)
                    ports.pack_into(data, PORTS_AT, *moved[source != BROKER_PORT])
                yield data


def _moved(port: int, turns: int) -> int:
    return 10_000 + (port - 10_000 + 997 * turns) % 50_000


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue
    return found


def memory_kb(pid: int) -> list[tuple[int, str]]:
    """Return the memory of a process and those below it, with their commands. Shared pages are divided among
    those that share them.
    """
    found = []
    for one in tree(pid):
        try:
            rolled = Path(f"/proc/{one}/smaps_rollup").read_text()
            command = command_of(one)
        except OSError:
            continue
        match = re.search(r"^Pss:\s+(\d+)", rolled, re.MULTILINE)
        found += [] if match is None else [(int(match[1]), command)]
    return found


def total_kb(parts: list[tuple[int, str]]) -> int:
    """Return the memory of all."""
    return sum(size for size, _ in parts)


def most_memory(pid: int, sender: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Return the memory at the second with the most, while the sender runs."""
    most: list[tuple[int, str]] = []
    while sender.poll() is None:
        time.sleep(1)
        most = max(most, memory_kb(pid), key=total_kb)
    return most


def command_of(pid: int) -> str:
    """Return the words of a process that say what it does; those of a copy are those of its parent."""
    return " ".join(Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:3])


def cpu_of(pid: int) -> list[tuple[str, float]]:
    """Return the CPU seconds of a process, with those of its children that have ended, and of each below."""
    found = []
    for one in tree(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(") ")[2].split()
            command = command_of(one)
        except OSError:
            continue
        ticks = sum(map(int, fields[11:15]))  # proc(5): utime, stime, and those of children
        found.append((command, ticks / os.sysconf("SC_CLK_TCK")))
    return found


def wait_for(is_there: Callable[[], bool]) -> None:
    """Return once something holds."""
    while not is_there():
        time.sleep(0.5)


def end(process: subprocess.Popen[str]) -> None:
    """Interrupt a program: twice if it still has much to analyse."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait(ENDS_S)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture")
    parser.add_argument("--rate", type=float, default=20_000, help="packets a second")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--plays", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--option", action="append", default=[], help="another option of record")
    chosen = parser.parse_args(arguments)
    if chosen.plays:
        play(chosen.capture, chosen.rate, chosen.seconds)
    else:
        measure(chosen)
    return 0


def measure(chosen: argparse.Namespace) -> None:
    """Run both programs next to the sender, and print what they took."""
    subprocess.run(["ip", "link", "add", SENDS, "type", "veth", "peer", "name", CAPTURES], check=True)
    folder = Path(tempfile.mkdtemp(prefix="kdissect-load-"))
    programs: list[subprocess.Popen[str]] = []

    def start(*command: str) -> subprocess.Popen[str]:
        with (folder / f"words-{len(programs)}").open("w") as words_file:
            # each in a session, as services have: Linux may divide cores among sessions
            programs.append(
                subprocess.Popen(
                    command, stdout=words_file, stderr=words_file, text=True, start_new_session=True
                )
            )
        return programs[-1]

    def words(process: subprocess.Popen[str], most: int = 6) -> str:
        said = (folder / f"words-{programs.index(process)}").read_text().splitlines()
        return " | ".join(filter(None, said[-most:]))

    try:
        for name in (SENDS, CAPTURES):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        busy = [start(sys.executable, "-c", BUSY) for _ in range(os.cpu_count() or 1)]
        dumpcap = start(
            "dumpcap", "-q", "-i", CAPTURES, "-B", BUFFER_MIB, "-f", FILTER, "-w", str(folder / "d.pcapng")
        )
        head = [sys.executable, "-m", "kdissect", "record", "-i", CAPTURES, "-f", FILTER]
        record = start(*head, "-d", str(folder / "recorder"), *chosen.option)
        wait_for(lambda: "recording" in words(record))
        sender = start(
            "nice", "-n", "-10", sys.executable, __file__, chosen.capture, "--plays",
            "--rate", str(chosen.rate), "--seconds", str(chosen.seconds),
        )  # fmt: skip
        time.sleep(3)
        most = most_memory(record.pid, sender)
        print(words(sender, 1))
        for name, process in (("dumpcap", dumpcap), ("record", record)):
            parts = cpu_of(process.pid)
            total = sum(seconds for _, seconds in parts) / chosen.seconds
            print(f"{name}: {total:.2f} of a core, of these")
            for command, seconds in parts:
                print(f"  {seconds / chosen.seconds:.2f} {command}")
        for process in busy:
            process.kill()
        for name, process in (("dumpcap", dumpcap), ("record", record)):
            end(process)
            print(f"{name}: {words(process)}")
        ring = open_captures([str(folder / "recorder" / "ring")])
        packets = sum(map(len, ring.batches()))
        print(f"record: {packets} packets in its ring, {sum(file.drops for file in ring.files)} dropped")
        print(f"record: at most {total_kb(most) / 1000:.0f} MB of proportional set sizes, of these")
        for size, command in most:
            print(f"  {size / 1000:.0f} MB {command}")
    finally:
        for process in programs:
            process.kill()
        subprocess.run(["ip", "link", "del", SENDS], check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
