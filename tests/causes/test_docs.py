"""docs/why.md lists what there is, and shows what the command prints.

`python -m tests.regenerate docs` writes it anew.
"""

import os
import re
from collections.abc import Callable

import pytest

from kdissect.causes.laws.laws import LAWS
from kdissect.causes.ledger.normal import NORMAL, normal_list
from kdissect.causes.registry import ALL_CAUSES
from kdissect.schema.citations import is_place
from tests.causes.test_healthy import FALSE_ALARMS, HEALTHY
from tests.support.console import CHECKOUT

UPDATE = bool(os.environ.get("KDISSECT_UPDATE"))
PAGE = CHECKOUT / "docs" / "why.md"
CONSOLE = re.compile(r"```console\n\$ (kdissect [^\n]*)\n(.*?)```", re.DOTALL)


def cause_list() -> str:
    rows: dict[str, str] = {}
    for cause in ALL_CAUSES:
        rows.setdefault(
            cause.id, f"| `{cause.id}` | {cause.severity.name.lower()} | {cause.title} | {cause.help} |"
        )
    return "\n".join(
        ["| id | does | what | what usually helps |", "|---|---|---|---|", *sorted(rows.values())]
    )


def law_list() -> str:
    rows = [
        f"| `{law.id}` | {law.says} | {', '.join(f'`{one}`' for one in sorted(law.causes))} |" for law in LAWS
    ]
    return "\n".join(["| law | says | about |", "|---|---|---|", *rows])


def false_alarm_list() -> str:
    rows = [f"- `{name}`: `{cause}`: {why}" for name, cause, why in FALSE_ALARMS]
    return "\n".join([f"{len(FALSE_ALARMS)} in {len(HEALTHY)} captures.", *rows])


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("causes", cause_list),
        ("normal", normal_list),
        ("laws", law_list),
        ("false alarms", false_alarm_list),
    ],
)
def test_generated_sections(section: str, content: Callable[[], str]) -> None:
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    text = PAGE.read_text()
    before, _, rest = text.partition(begin)
    held, _, after = rest.partition(end)
    if UPDATE:
        PAGE.write_text(f"{before}{begin}\n\n{content()}\n\n{end}{after}")
    else:
        assert held.strip() == content()


def test_there_are_forty_causes_with_their_sources() -> None:
    assert len({cause.id for cause in ALL_CAUSES}) >= 40
    for cause in ALL_CAUSES:
        assert cause.cites and all(is_place(cited) for cited in cause.cites), cause.id
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cause.id)


def test_what_is_normal_has_a_source_and_laws_are_about_causes() -> None:
    assert all(row.reason and row.cites and all(map(is_place, row.cites)) for row in NORMAL)
    known = {cause.id for cause in ALL_CAUSES}
    assert all(law.causes <= known for law in LAWS)


def test_what_is_explained_is_a_cause() -> None:
    known = {cause.id for cause in ALL_CAUSES}
    assert {name for cause in ALL_CAUSES for name in cause.explains} <= known
