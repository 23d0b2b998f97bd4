"""24 public captures of scripted requests of 2016: each decodes, or its oddity is named."""

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_rows import ExchangeRows

# What is odd in these captures, found by hand: file -> (API key, version, kinds of anomalies, in order of the
# rows).
ODD: dict[str, list[tuple[int | None, int | None, list[str]]]] = {
    # Both brokers answer with their correlation id wrong: 0007 0001 is the API key and version of the
    # request.
    "controlled-shutdown": [(7, 1, ["orphan_response", "inferred_api"])],
    # A null topic name, and a string length of -2.
    "string-type": [(20, 0, ["malformed_body"]), (20, 0, ["malformed_body"])],
    # API key 10000; ControlledShutdown v0 with a client id, which its header v0 has not; v1000; and responses
    # whose first bytes are the API key and version instead of the correlation id.
    "unsupported-version": [
        (None, None, ["orphan_response", "unreadable_request"]),
        (10000, 0, ["unknown_api"]),
        (None, None, ["orphan_response", "unreadable_request"]),
        (7, 0, ["trailing_bytes"]),
        (None, None, ["orphan_response", "unreadable_request"]),
        (7, 1000, ["unknown_version"]),
        (18, 0, ["orphan_response", "inferred_api"]),
    ],
}
EXCHANGES = {
    "api-versions": 1,
    "controlled-shutdown": 2,
    "create-topics": 1,
    "delete-topics": 1,
    "describe-groups": 1,
    "fetch": 8,
    "group-coordinator": 2,
    "heartbeat": 1,
    "join-group": 2,
    "leader-and-isr": 1,
    "leave-group": 1,
    "list-groups": 1,
    "metadata": 7,
    "offset-commit": 3,
    "offset-fetch": 4,
    "offsets": 4,
    "produce": 8,
    "request-missing": 1,
    "sasl-handshake": 1,
    "stop-replica": 1,
    "string-type": 3,
    "sync-group": 1,
    "unsupported-version": 8,
    "update-metadata": 3,
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_scripted_requests(reference: Path, name: str) -> None:
    (path,) = reference.glob(f"third-party/*/{name}.pcapng")
    run = Dissection(str(path))
    rows = ExchangeRows(run.file_names, bodies=True)
    found = [rows.row(exchange) for exchange in run]
    odd = [
        (row["api_key"], row["api_version"], [str(anomaly["kind"]) for anomaly in row["anomalies"]])
        for row in found
        if row["anomalies"]
    ]
    assert len(found) == EXCHANGES[name]
    assert odd == ODD.get(name, [])
