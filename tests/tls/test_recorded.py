"""Handshakes that Python's ssl does not offer, recorded on loopback with OpenSSL 3.0.19 and tcpdump.

- early_data: `openssl s_server -early_data -tls1_3` and three runs of `openssl s_client`. The first saves its
  session (`-sess_out`), two resume it with `-early_data`. The server accepts the early data of the first
  resumption and refuses that of the second, because a ticket is good for one use.
- renegotiation: `openssl s_server -client_renegotiation -tls1_2`. The client renegotiates (`R`) between two
  requests.

Each request is an ApiVersions v0 that nobody answers. Its correlation id is 1 in early data and in first
requests, and 2 later.
"""

from pathlib import Path

import pytest

from tests.support.console import run

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize(
    ("name", "port", "requests"),
    [
        ("early_data", 24443, [(48670, 1), (48682, 1), (48682, 2), (48684, 2)]),
        ("renegotiation", 24445, [(38024, 1), (38024, 2)]),
    ],
)
def test_every_request_is_read(name: str, port: int, requests: list[tuple[int, int]]) -> None:
    capture, keys = RECORDED / f"{name}.pcap", RECORDED / f"{name}.keys"
    columns = "client.port,correlation_id,api"
    ran = run("inspect", capture, "--keylog", keys, "--port", port, "-e", columns, "--format", "csv")
    assert ran.out.splitlines()[1:] == [f"{client},{number},ApiVersions" for client, number in requests]
    assert "TLS" not in ran.err


def test_early_data_without_its_secret_is_not_read(tmp_path: Path) -> None:
    """Then nothing of the connection is: its first requests are missing."""
    keys = tmp_path / "partial.keys"
    lines = (RECORDED / "early_data.keys").read_text().splitlines(keepends=True)
    keys.write_text("".join(line for line in lines if not line.startswith("CLIENT_EARLY")))
    ran = run("inspect", RECORDED / "early_data.pcap", "--keylog", keys, "--port", 24443, "-e", "client.port")
    assert ran.out.split() == ["client.port", "48670", "48684"]
    assert "the key log lacks CLIENT_EARLY_TRAFFIC_SECRET for this connection" in ran.err
