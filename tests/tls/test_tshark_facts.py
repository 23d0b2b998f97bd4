"""Groups, suites and dates of certificates in `connections`, against tshark's own fields."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.tls.groups import group_name
from tests.support.console import CAPTURES

pytest.importorskip("cryptography", reason="needs cryptography")
FIELDS = (
    "tcp.dstport", "tls.handshake.type", "tls.handshake.extensions_key_share_group",
    "tls.handshake.server_named_curve",
    "x509af.utcTime",
)  # fmt: skip
FROM_SERVER = "tls.handshake.type == 2 || tls.handshake.type == 12 || tls.handshake.type == 11"
Facts = tuple[str | None, str | None]
"""Group, and until when the certificate is valid."""


def of_tshark(name: str) -> dict[int, Facts]:
    """Return facts by the client's port."""
    fields = [word for field in FIELDS for word in ("-e", field)]
    keys = f"tls.keylog_file:{CAPTURES / name}.keys"
    command = [
        "tshark",
        "-r",
        str(CAPTURES / f"{name}.pcapng"),
        "-o",
        keys,
        "-Y",
        FROM_SERVER,
        "-T",
        "fields",
    ]
    found: dict[int, Facts] = {}
    for line in subprocess.run(
        [*command, *fields], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        port, kinds, share, curve, dates = line.split("\t")
        if int(port) not in found and "2" not in kinds.split(","):
            continue  # a certificate of the client
        group, until = found.get(int(port), (None, None))
        number = int(share) if share else int(curve, 0) if curve else None
        group = group if number is None else group_name(number)
        if dates:  # from, then until; a chain has more of them
            day, time, _ = dates.split(",")[1].split(" ")
            until = until or f"{day}T{time}Z"
        found[int(port)] = group, until
    return found


def of_kdissect(name: str, capfd: pytest.CaptureFixture[str]) -> dict[int, Facts]:
    path = str(CAPTURES / f"{name}.pcapng")
    assert main(["connections", path, "--keylog", str(CAPTURES / f"{name}.keys"), "--format", "jsonl"]) == 0
    rows: list[Any] = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return {
        int(row["client"].rpartition(":")[2]): (row["tls"]["group"], row["tls"]["valid_until"])
        for row in rows
        if row["tls"] is not None and row["tls"]["suite"] is not None
    }


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["kafka44_java_tls12", "kafka44_java_tls13", "kafka44_connect_tls"])
def test_tshark_has_the_same_groups_and_dates(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    expected = of_tshark(name)
    assert len(expected) > 10
    assert of_kdissect(name, capfd) == expected
