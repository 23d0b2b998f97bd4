"""A healthy day of each client library with each release has no error and no warning but proven ones.

`python -m tests.regenerate healthy` writes the table of docs/mutants.md anew.
"""

import os

import pytest

from captures.healthy.days import CLIENTS, RELEASES, clients_of
from captures.healthy.verdicts import RECORDED, table, verdict, verdicts
from captures.record.client_runs import capture_of
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "mutants.md"
MARK = "<!-- healthy -->\n"
UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
# docs/found-in-the-wild.md proves each by its bytes.
PROVEN = {"segmentio": {"GRP009"}, "platformatic": {"GRP009", "TXN003"}}
DAYS = [(release, client) for release in RELEASES for client in clients_of(release)]


@pytest.mark.exhaustive
def test_the_page_has_what_is_found() -> None:
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, behind = rest.partition(MARK)
    text = f"{before}{MARK}{table(list(verdicts()))}\n{MARK}{behind}"
    if UPDATE:
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_each_pair_is_recorded() -> None:
    assert len(RELEASES) == 16 and len(CLIENTS) == 9
    wanted = {f"{capture_of(*day)}.gz" for day in DAYS}
    assert {path.name for path in RECORDED.iterdir()} == wanted


@pytest.mark.sampled(32)
@pytest.mark.parametrize(("release", "client"), DAYS)
def test_a_healthy_day_has_proven_faults_alone(release: str, client: str) -> None:
    found = verdict(release, client)
    assert found.exchanges > 40
    assert set(found.codes) <= PROVEN.get(client, set())
