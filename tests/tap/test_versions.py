"""Taps of Java clients from 0.10 to 4.4 and brokers from 2.8 to 4.4, on the releases of Java that are here.

A part of the matrix (`python -m tests.tap.matrix` runs all of it): each broker, and each Java, once.
"""

from pathlib import Path

import pytest

from captures.record.broker import Cluster
from tests.tap import kafka, matrix

pytestmark = pytest.mark.exhaustive  # brokers, and a minute

BASE = 24400
# Of each broker: a client, the Java it runs on, and the Java that is attached to.
CASES = {
    "2.8.2": ("0.10.2.2", 11, 11),
    "3.9.2": ("1.1.1", 21, 17),
    "4.4.0": ("4.4.0", 25, 25),
}


def java(wanted: int) -> tuple[int, str]:
    """Return a Java of that release, else the one on the path."""
    found = matrix.program_of(wanted)
    return (wanted, found) if found else (matrix.java_of("java"), "java")


@pytest.mark.rotated(3)  # each takes a minute or more
@pytest.mark.parametrize("version", CASES)
def test_a_broker_and_its_clients(tmp_path: Path, version: str) -> None:
    client, wanted, attached = CASES[version]
    kafka.needs_kafka(f"broker-{version}", "client-2.8.2", f"client-{client}")
    kafka.needs_sniffer()
    with kafka.running(matrix.spec(version), BASE) as cluster:
        release, program = java(wanted)
        for is_attached in (False, True):
            folder = tmp_path / f"attached-{is_attached}"
            folder.mkdir()
            result = matrix.case(cluster, client, release, program, folder, is_attached)
            assert (result.problems, result.failed) == ([], []), is_attached
        attach(cluster, tmp_path, *java(attached))


def attach(cluster: Cluster, folder: Path, release: int, program: str) -> None:
    """Twice to an application that runs, on some release of Java."""
    options = {"program": program, "topic": f"runs{release}", "rate": 200}
    application = kafka.client("2.8.2", kafka.secure(cluster), "Load", kafka.tls(), **options)
    try:
        application.until_read(100)
        for turn in range(2):
            path = folder / f"{release}.{turn}.pcapng"
            tapping = kafka.Tapping(application.pid, "-w", path)
            application.until_read(400)
            tapping.stop()
            assert len(kafka.cut_in(path)) > 5
            assert kafka.until(lambda: not kafka.threads_of(application.pid))
        end = application.stop()[-1]
        assert end["errors"] == 0 and end["sent"] == end["read"], end
    finally:
        application.kill()
