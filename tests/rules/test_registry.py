"""Every file of a rule is in the registry. `KDISSECT_UPDATE=1` adds those that it lacks."""

import ast
import os
from pathlib import Path

import pytest

from kdissect.rules import registry

PATH = Path(registry.__file__)
BEGIN, END = "_MODULES = (\n", ")\n"


def names_of_rule_files() -> set[str]:
    """`family.file` of each module that holds a class with a code."""
    return {
        f"{path.parent.name}.{path.stem}"
        for path in PATH.parent.glob("*/*.py")
        if _has_code(path.read_text())
    }


def _has_code(source: str) -> bool:
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    assigned = [
        node.targets[0] for of in classes for node in of.body if isinstance(node, ast.Assign) and node.targets
    ]
    return any(isinstance(target, ast.Name) and target.id == "code" for target in assigned)


def completed(listed: list[str], there: set[str]) -> list[str]:
    """Return the list without files that are gone, with new ones after the last of their family."""
    found = [name for name in listed if name in there]
    for name in sorted(there - set(listed)):
        family = name.partition(".")[0]
        last = max((at for at, known in enumerate(found) if known.startswith(f"{family}.")), default=-1)
        found.insert(last + 1 if last >= 0 else len(found), name)
    return found


def test_every_rule_is_registered() -> None:
    before, _, rest = PATH.read_text().partition(BEGIN)
    held, _, after = rest.partition(END)
    listed = [line.strip().strip('",') for line in held.splitlines()]
    wanted = completed(listed, names_of_rule_files())
    if os.environ.get("KDISSECT_UPDATE"):
        lines = "".join(f'    "{name}",\n' for name in wanted)
        PATH.write_text(f"{before}{BEGIN}{lines}{END}{after}")
    else:
        assert listed == wanted, "python -m tests.regenerate registry"


@pytest.mark.parametrize(
    ("listed", "there", "wanted"),
    [
        (
            ["a.one", "b.one", "a.two"],
            {"a.one", "a.two", "a.new", "b.one"},
            ["a.one", "b.one", "a.two", "a.new"],
        ),
        (["a.one", "b.one"], {"b.one", "c.one"}, ["b.one", "c.one"]),
    ],
)
def test_new_files_go_to_the_end_of_their_family(
    listed: list[str], there: set[str], wanted: list[str]
) -> None:
    assert completed(listed, there) == wanted


def test_a_file_in_the_list_holds_a_rule() -> None:
    with pytest.raises(ValueError, match="defines no rule"):
        registry._rules_in("findings")


def test_rules_of_a_file_keep_their_order() -> None:
    codes = [rule.code for rule in registry._rules_in("bodies.tags")]
    assert codes == sorted(codes)
    assert len(codes) > 1
