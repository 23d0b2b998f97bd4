"""Puts a mutant in the place of a module: of one that is loaded, or before it is loaded."""

import ast
import gc
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

_Key = tuple[str, int, int]


def plant_in_functions(module: str, path: Path, mutant: ast.Module) -> None:
    """Replace the code of the functions of a module. Raises LookupError if it has none that differs."""
    import_module(module)
    name = str(path)
    new = dict(_keyed(compile(mutant, name, "exec", dont_inherit=True)))
    source = compile(path.read_text(), name, "exec", dont_inherit=True)
    old = {code: key for key, code in _keyed(source)}
    is_planted = False
    gc.unfreeze()  # the objects that are frozen are not among those of the collector
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == name:
            code = new[old[each.__code__]]
            if code != each.__code__:
                each.__code__ = code
                is_planted = True
    if not is_planted:
        raise LookupError(module)


def _keyed(code: CodeType, seen: dict[tuple[str, int], int] | None = None) -> Iterator[tuple[_Key, CodeType]]:
    """Code of all functions; several on one line by their order."""
    seen = {} if seen is None else seen
    for each in code.co_consts:
        if isinstance(each, CodeType):
            place = each.co_qualname, each.co_firstlineno
            seen[place] = seen.get(place, -1) + 1
            yield (*place, seen[place]), each
            yield from _keyed(each, seen)


class _Loader(SourceFileLoader):
    mutant: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutant, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, module: str, path: Path, mutant: ast.Module) -> None:
        self._module, self._path, self._mutant = module, path, mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        loader = _Loader(fullname, str(self._path))
        loader.mutant = self._mutant
        return spec_from_file_location(fullname, self._path, loader=loader)


def plant_before_import(module: str, path: Path, mutant: ast.Module) -> None:
    """Have the import of a module load the mutant."""
    assert module not in sys.modules
    sys.meta_path.insert(0, _Finder(module, path, mutant))
