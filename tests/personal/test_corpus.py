"""The recordings of real software have no personal data that nobody planted."""

import json
from pathlib import Path

import pytest

from kdissect.cli import main
from tests.support.console import CAPTURES

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

PLANTED = ("personal", "schemas")
RECORDINGS = sorted(
    path
    for path in CAPTURES.rglob("*.pcap*")
    if path.suffix in (".pcap", ".pcapng", ".gz") and path.relative_to(CAPTURES).parts[0] not in PLANTED
)


@pytest.mark.sampled(40)
@pytest.mark.rotated(12)
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_no_personal_data_is_found(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["personal-data", str(path), "--json"])
    found = json.loads(capfd.readouterr().out)
    assert code in (0, 3)  # some are damaged
    assert found["personal_data"] == []
