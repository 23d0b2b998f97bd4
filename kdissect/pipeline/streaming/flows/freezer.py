"""Pickles of state that goes on in another process, without what every process has anyway.

Rules, the caches that are made from them, names of files and secrets are referred to by name. What the state
holds is put back together with those of whoever thaws it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Rule
from kdissect.rules.subjects import Subjects

_RULES = {rule.code: rule for rule in ALL_RULES}
_ALL_RULES, _SUBJECTS = "all rules", "subjects"


class Freezer:
    """`shared` are objects by name, which stay out of pickles."""

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self._shared = {**shared, _ALL_RULES: ALL_RULES, _SUBJECTS: Subjects(ALL_RULES)}
        self._names = {id(held): name for name, held in self._shared.items()}

    def freeze(self, state: object) -> bytes:
        """A state as bytes."""
        stream = BytesIO()
        _Pickler(stream, self._names).dump(state)
        return stream.getvalue()

    def thaw(self, data: bytes) -> Any:
        """A state that goes on. The bytes are ours: they come out of the checkpoint."""
        return _Unpickler(BytesIO(data), self._shared).load()


class _Pickler(pickle.Pickler):
    def __init__(self, stream: BytesIO, names: Mapping[int, str]) -> None:
        super().__init__(stream, protocol=5)
        self._names = names

    def persistent_id(self, obj: Any) -> Any:
        name = self._names.get(id(obj))
        if name is not None:
            return name
        if isinstance(obj, Rule):
            return (obj.code,)
        return _SUBJECTS if type(obj) is Subjects else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: BytesIO, shared: Mapping[str, Any]) -> None:
        super().__init__(stream)
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return _RULES[pid[0]] if isinstance(pid, tuple) else self._shared[pid]
