"""Which tests a mutant meets first."""

from pathlib import Path

from tests.source_mutants.points import points_of
from tests.source_mutants.trials import COLD, Place, Warmth, _in_order, _Known, _near

SOURCE = """\
LOW, HIGH = 3, 5

def is_between(value):
    return LOW < value < HIGH

def other():
    return 7
"""


def known(path: Path) -> _Known:
    """Return a slow test of a line, two cases of a quick one, one of more lines, one of the other
    function.
    """
    lines = {
        4: {"a.py::slow", "b.py::quick[1]", "b.py::quick[2]", "b.py::many"},
        7: {"b.py::many", "c.py::x"},
    }
    seconds = {
        "a.py::slow": 2.0, "b.py::quick[1]": 0.01, "b.py::quick[2]": 0.01, "b.py::many": 0.02,
        "c.py::x": 0.01,
    }  # fmt: skip
    return _Known(seconds, {str(path): lines})


def test_quick_tests_of_few_lines_come_first(tmp_path: Path) -> None:
    its = known(tmp_path / "m.py")
    order = ["b.py::quick[1]", "b.py::quick[2]", "b.py::many", "a.py::slow"]
    assert _in_order(reversed(order), its) == order
    assert _in_order([*order, "b.py::fails_without_a_mutant"], its) == order


def test_tests_of_a_constant_are_those_of_the_lines_that_name_it(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE)
    places = {point.what: Place(path, point) for point in points_of(SOURCE)}
    assert _near(places["5 -> 6"], known(path)) == {
        "a.py::slow", "b.py::quick[1]", "b.py::quick[2]", "b.py::many",
    }  # fmt: skip


def test_what_is_computed_once_changes_with_mutants_of_its_own_modules(tmp_path: Path) -> None:
    computed: list[str] = []
    warmth = Warmth(lambda: computed.append("x"), ("gather/log.py",))
    point = points_of(SOURCE)[0]
    own, other = (Place(tmp_path / name, point) for name in ("gather/log.py", "causes/log.py"))
    assert [warmth.may_come_after(each) for each in (own, other)] == [False, True]
    assert not COLD.may_come_after(other)
    COLD.warm()
    warmth.warm()
    assert computed == ["x"]
