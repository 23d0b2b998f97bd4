"""Imports that functions make at their first use, made before root is given up.

Another user may not be able to read the folder of Python or of a package, and a codec is a module, too.
"""

from __future__ import annotations

import codecs
import dis
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import resolve_name
from tempfile import TemporaryDirectory
from types import CodeType, ModuleType

from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident
from kdissect.recorder.incident_job import IncidentJob
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.symptom import MARK, Symptom
from kdissect.rules.replays import replays_of
from kdissect.schema.fact_tables import keep_texts

_OURS = __name__.partition(".")[0]
_LIBRARIES = frozenset({"cramjam", "crc32c", "cryptography", "isal", "lz4", "orjson", "zstandard"})
"""Packages that an analysis uses. The other ones are of commands that a recorder does not run."""
_OTHER_COMMANDS = tuple(
    f"{_OURS}.{name}"
    for name in ("cli.", "library", "tui", "pipeline", "serdes.avro", "serdes.json_schema", "serdes.protobuf")
)
_CODECS = ("ascii", "idna", "latin-1", "utf-8-sig", "utf-16-be")


def import_all(first: str) -> None:
    """Import a module, and what functions of all modules of kdissect that are there import later."""
    for name in _CODECS:
        codecs.lookup(name)
    import_module(first)
    done: set[str] = set()
    while new := [name for name in sys.modules if name.partition(".")[0] == _OURS and name not in done]:
        done.update(new)
        for name in new:
            for wanted in _later_imports(sys.modules[name]):
                if _is_used(wanted):
                    with suppress(ImportError, AttributeError, ValueError):  # an extra, or of another system
                        import_module(wanted)


def _is_used(name: str) -> bool:
    top = name.partition(".")[0]
    if top == _OURS:
        return not name.startswith(_OTHER_COMMANDS)
    return top in _LIBRARIES or top in sys.stdlib_module_names


def _later_imports(module: ModuleType) -> Iterator[str]:
    """Yield the names of modules that functions of a module import."""
    spec = module.__spec__
    get_code = getattr(spec and spec.loader, "get_code", None)
    code = get_code(module.__name__) if get_code is not None else None
    if isinstance(code, CodeType):
        for inner in _functions(code):
            yield from _imports(inner, module)


def _functions(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _functions(one)


def _imports(code: CodeType, module: ModuleType) -> Iterator[str]:
    steps = list(dis.get_instructions(code))
    for at, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            name, level = step.argval, steps[at - 2].argval  # level, names from it, module: dis
            if level:
                name = resolve_name("." * level + name, module.__package__ or "")
            yield name
            for name_from in steps[at - 1].argval or ():
                yield f"{name}.{name_from}"  # may be a module


def rehearse_incident(place: str) -> None:
    """Write an incident without packets to a folder in `place`, which is removed, and read all tables. They
    stay in memory.
    """
    keep_texts()
    replays_of("")
    with TemporaryDirectory(dir=place) as name:
        folder = Folder(name)
        folder.incidents_path.mkdir()
        incident = Incident.of(Symptom(MARK, "mark", "", "mark", "", (), 0, 0, 1), 0, 0, 0)
        job = IncidentJob(folder, RecorderSettings(name, ()), incident, is_fresh=False)
        while job.facts is None:
            job.rehearse()
