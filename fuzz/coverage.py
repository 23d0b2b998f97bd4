"""Which lines of kdissect an input reaches: with `sys.settrace`, switched off line by line once all are
known.

A function all of whose lines were seen is not traced again, so the cost falls as the coverage grows. Code
that kdissect compiles itself (decoders) has no file of its own and is not counted.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import kdissect

_ROOT = str(Path(kdissect.__file__).parent)


class Coverage:
    """`with coverage:` collects lines; `take_new` says whether there were any since it was asked last."""

    def __init__(self) -> None:
        self._left: dict[CodeType, set[int]] = {}
        self._seen: dict[str, set[int]] = {}
        self._is_new = False

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def take_new(self) -> bool:
        """Return whether a line was reached for the first time since the last call."""
        was, self._is_new = self._is_new, False
        return was

    @property
    def total(self) -> int:
        """Lines of kdissect reached."""
        return sum(map(len, self._seen.values()))

    def of(self, modules: Iterable[str]) -> tuple[int, int]:
        """Lines reached in functions of the modules (and packages) named, and all there are."""
        reached = total = 0
        for path, lines in _lines_of(modules):
            reached += len(lines & self._seen.get(path, set()))
            total += len(lines)
        return reached, total

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            known = code.co_filename.startswith(_ROOT)
            left = self._left[code] = _own_lines(code) if known else set()
        if not left:
            return None
        seen = self._seen.setdefault(code.co_filename, set())
        self._line(left, seen, frame.f_lineno)

        def line(inner: FrameType, event: str, _argument: Any) -> Any:
            if event == "line":
                self._line(left, seen, inner.f_lineno)
            return line if left else None

        return line

    def _line(self, left: set[int], seen: set[int], number: int) -> None:
        if number in left:
            left.discard(number)
            seen.add(number)
            self._is_new = True


def _own_lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}


def _lines_of(modules: Iterable[str]) -> Iterator[tuple[str, set[int]]]:
    names = tuple(modules)
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None)
        wanted = any(name == each or name.startswith(each + ".") for each in names)
        if path and wanted and isinstance(module, ModuleType):
            code = compile(Path(path).read_text(), path, "exec")
            yield path, set().union(*(_own_lines(each) for each in _functions(code)))


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 2:  # CO_NEWLOCALS: a function; a class body runs at import
                yield constant
            yield from _functions(constant)
