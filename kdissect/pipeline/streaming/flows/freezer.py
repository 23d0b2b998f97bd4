"""Pickles of state that goes on in another process, without what every process has anyway.

Rules, the caches built from them, names of files and secrets are referred to by name or position. The process
that thaws the state inserts its own objects.

No function of ours is called for each object, because the calls would take longer than all other work: shared
objects are in the memo of pickler and unpickler from the start, in one order, and rules and caches are
recognized by their type.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from kdissect.rules.judging.rule_index import Subjects
from kdissect.rules.registry import ALL_RULES, EVERY_RULE
from kdissect.rules.rule import Rule

_RULES = {rule.code: rule for rule in EVERY_RULE}
_SUBJECTS = Subjects(ALL_RULES)  # rules about schemas have none


def _rule(code: str) -> Rule:
    return _RULES[code]


def _subjects() -> Subjects:
    return _SUBJECTS


_BY_TYPE = {
    **copyreg.dispatch_table,
    **{type(rule): lambda rule: (_rule, (rule.code,)) for rule in EVERY_RULE},
    Subjects: lambda _: (_subjects, ()),
}


Reduce = Callable[[Any], tuple[Any, ...]]
_NO_TYPES: Mapping[type, Reduce] = {}


class Freezer:
    """Pickler of states. `shared` are objects by name, which stay out of pickles."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self._shared = [ALL_RULES, *(shared[name] for name in sorted(shared))]
        self._memo = {id(held): (place, held) for place, held in enumerate(self._shared)}
        # An unpickler that reads this has the shared objects in its memo, at the places of `_memo`.
        memoized = (
            pickle.BININT1 + bytes([place]) + pickle.BINPERSID + pickle.MEMOIZE + pickle.POP
            for place in range(len(self._shared))
        )
        self._before = b"".join((pickle.PROTO, b"\5", *memoized, pickle.NONE, pickle.STOP))

    def freeze(self, state: object, by_type: Mapping[type, Reduce] = _NO_TYPES) -> bytes:
        """Freeze a state as bytes. `by_type` reduces further types."""
        stream = BytesIO()
        pickler = pickle.Pickler(stream, protocol=5)
        pickler.dispatch_table = {**_BY_TYPE, **by_type} if by_type else _BY_TYPE
        pickler.memo = self._memo  # both implementations of CPython have it
        pickler.dump(state)
        return stream.getvalue()

    def thaw(self, data: bytes) -> Any:
        """Thaw a state. The bytes are ours: they come from the checkpoint."""
        unpickler = _Unpickler(BytesIO(self._before + data), self._shared)
        unpickler.load()
        return unpickler.load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BytesIO, shared: list[Any]) -> None:
        super().__init__(stream)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared[pid]
