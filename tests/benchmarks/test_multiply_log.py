"""The multiplier of request logs: copies have other connections, or continue those of the recording."""

from collections import Counter
from itertools import islice
from pathlib import Path

import multiply_log
import pytest

from kdissect.api import Dissection

LOG = Path(__file__).parents[2] / "captures/logged/recorded/kafka44-sasl-ssl.requests.log.gz"
COPIES = 3


def counts(path: Path) -> tuple[Counter[int], int]:
    """Return exchanges by API, and the number of connections."""
    found = list(Dissection(str(path)))
    assert not [one for one in found if one.anomalies]
    return Counter(one.api_key or 0 for one in found), len({one.connection.id for one in found})


@pytest.mark.parametrize("keep_connections", [False, True])
def test_copies_have_the_exchanges_of_the_recording(keep_connections: bool, tmp_path: Path) -> None:
    lines = list(multiply_log.read([str(LOG)]))
    once = sum(multiply_log.API_VERSIONS in line.head for line in lines) if keep_connections else 0
    wanted = COPIES * len(lines) - (COPIES - 1) * once
    path, copies = tmp_path / "copies.log", multiply_log.copies(lines, keep_connections)
    path.write_bytes(b"".join(b"%b%b%b\n" % parts for parts in islice(copies, wanted)))
    apis, connections = counts(LOG)
    expected = Counter({key: count * COPIES for key, count in apis.items()})
    if keep_connections:
        expected[18] = apis[18]  # ApiVersions
    assert counts(path) == (expected, connections * (1 if keep_connections else COPIES))


def test_the_log_and_its_json_have_equal_lines(tmp_path: Path) -> None:
    log, json = tmp_path / "out.log", tmp_path / "out.json"
    multiply_log.write([str(LOG)], 300_000, False, str(log), str(json))
    assert 300_000 <= log.stat().st_size < 400_000
    rows = json.read_bytes().splitlines()
    assert len(rows) > 66
    for line, row in zip(log.read_bytes().splitlines(), rows, strict=True):
        assert b"Completed request:" + row + b" (kafka.request.logger)" in line
