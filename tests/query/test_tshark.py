"""Filters against the display filters of tshark, on old versions, which it dissects well."""

import shutil
import subprocess
from collections.abc import Sequence

import pytest

from kdissect.api import Dissection
from kdissect.model.packets.packet import ref_number
from kdissect.query import compile_filter
from tests.support.console import CAPTURES

# tshark's filter, ours, and the frame that carries what it is about. Filters of tshark are about packets, so
# each of them has a single condition on a single message.
PAIRS = [
    ("kafka.request_key == 0", "api == Produce", "request"),
    ("kafka.response_key == 3", "api == Metadata", "response"),
    ("kafka.request_key in {8, 9, 10}", "api in (OffsetCommit, OffsetFetch, 10)", "request"),
    ("kafka.request.version >= 2", "version >= 2", "request"),
    ("kafka.correlation_id == 3 && kafka.client_id", "correlation_id == 3", "request"),
    ("kafka.client_id matches \"^k\"", "client_id ~ '(?i)^k'", "request"),
    ("kafka.client_id contains \"java\"", "client_id contains java", "request"),
    ("kafka.error == 36", "error == TOPIC_ALREADY_EXISTS", "response"),
    ("kafka.consumer_group && kafka.request_key == 12", "api == Heartbeat and group", "request"),
    ("kafka.required_acks == -1", "request.acks == ALL_ISR", "request"),
    ("kafka.max_wait_time > 100", "request.max_wait_ms > 100ms", "request"),
    ("kafka.replica_id == -1 && kafka.isolation_level",
     "request.replica_id == -1 and request.isolation_level", "request"),
]  # fmt: skip
NAMES = ("kafka28zk_franz_early.pcapng", "tansu_kp202_admin.pcap")


def tshark(name: str, display_filter: str, ports: Sequence[int]) -> list[int]:
    decode = [word for port in ports for word in ("-d", f"tcp.port=={port},kafka")]
    shown = ["-Y", display_filter, "-T", "fields", "-e", "frame.number"]
    command = ["tshark", "-r", str(CAPTURES / name), *decode, *shown]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.skip(ran.stderr)
    return [int(line) for line in ran.stdout.split()]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "pairs"), [(NAMES[0], PAIRS), (NAMES[1], PAIRS[1::5])])
def test_like_tshark(name: str, pairs: list[tuple[str, str, str]]) -> None:
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    exchanges = list(Dissection(str(CAPTURES / name)))
    ports = sorted({exchange.connection.broker.port for exchange in exchanges})
    for theirs, ours, side in pairs:
        test = compile_filter(ours).bind()
        frames = [getattr(exchange, side) for exchange in exchanges if test(exchange)]
        packets = {ref_number(frame.last_ref) for frame in frames if frame is not None}
        assert packets == set(tshark(name, theirs, ports)), ours
