"""What `upgrade` predicts for real clients is what they did with real brokers of the target.

`python -m tests.regenerate upgrades` writes the table of docs/statistics.md again.
"""

import os

from captures.record.client_runs import capture_of
from captures.upgrades.clients import CLIENTS, RELEASES, SOURCES, TARGETS
from captures.upgrades.predictions import RECORDED, is_right, outcomes, predictions, table
from tests.support.console import CAPTURES

PAGE = CAPTURES.parent / "docs" / "statistics.md"
MARK = "<!-- upgrades -->\n"


def test_each_prediction_is_right_and_the_page_has_them() -> None:
    found, real = predictions(), outcomes()
    assert [one for one in found if not is_right(one, real)] == []
    assert {one.predicted for one in found} >= {"fine", "deprecated", "breaks"}
    before, _, rest = PAGE.read_text().partition(MARK)
    _, _, behind = rest.partition(MARK)
    text = f"{before}{MARK}{table(found, real)}\n{MARK}{behind}"
    if os.environ.get("KDISSECT_UPDATE"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_each_client_ran_with_each_release() -> None:
    real = outcomes()
    assert {release: set(of) for release, of in real.items()} == {key: set(CLIENTS) for key in RELEASES}
    assert {target for target in TARGETS if any(not one.works for one in real[target].values())} == set(
        TARGETS
    )
    wanted = {
        f"{capture_of(source, client)}.gz"
        for source in SOURCES
        for client in CLIENTS
        if real[source][client].works
    }
    assert {path.name for path in RECORDED.iterdir()} == wanted
