"""An answer held against its request, by the keys of `answer_keys`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import Value, items, sent
from kdissect.rules.answer_keys import ANSWERS, Answer, Level, Owed, Path, Unless, paths_in
from kdissect.rules.views.body_view import Body
from kdissect.schema import protocol_messages

Key = tuple[Any, ...]
_SHOWN = 3


class Entry(NamedTuple):
    """An entry of a list, by its key and the other key it may have.

    `is_last`: it is in the last list, not above an empty one. `is_open`: it is above a null list, which means
    all existing ones.
    """

    key: Key
    other: Key
    path: str
    is_last: bool = True
    is_open: bool = False


_ALL = Entry((), (), "", is_last=False, is_open=True)
"""A list that is null: all there are."""


class Held(NamedTuple):
    """Differences. `asked` and `answered` count entries, each once if it was requested twice."""

    missing: tuple[Key, ...]
    unasked: tuple[Entry, ...]
    twice: tuple[Entry, ...]
    field: str
    """The list of the answer."""
    asked: int
    distinct: int
    answered: int


class _Paths(NamedTuple):
    answer: Answer
    asked: tuple[Path, ...]
    answered: tuple[Path, ...]
    once: tuple[Path, ...]

    @property
    def field(self) -> str:
        """The list of the answer."""
        return self.answered[0][0].attributes[0]


@lru_cache(maxsize=1024)  # versions of the schema in use
def _paths(api_key: int, asked: int, answered: int) -> _Paths | None:
    api = protocol_messages.api(api_key)
    answer = None if api is None else ANSWERS.get(api.name)
    if api is None or answer is None:
        return None
    return _Paths(
        answer,
        paths_in(api.request, asked, answer.asked),
        paths_in(api.response, answered, answer.answered),
        paths_in(api.response, answered, answer.once),
    )


def held(body: Body) -> Held | None:
    """Return the differences between a response and its request; None if they have no entries in common."""
    asked, answered = body.other(), body.value
    version = body.exchange.api_version
    paths = None if asked is None or version is None else _paths(body.api.key, version, body.version)
    if paths is None or not paths.asked or not paths.answered or _is_in_session(paths.answer, asked):
        return None
    wanted = [entry for path in paths.asked for entry in _entries(asked, path)]
    found = (entry for path in paths.answered for entry in _entries(answered, path))
    given = [entry for entry in found if entry.key or not entry.is_open]
    if not wanted and version is not None and version <= paths.answer.empty_asks_all_until:
        wanted = [_ALL]
    if paths.answer.beside_error and sent(answered, "error_code", 0):
        return None
    owes = not _stands_for_all(paths.answer, body.version, asked, answered, given)
    if not any(level.key for path in paths.answered for level in path):  # they belong together by place
        count = len(given) if owes or len(given) > len(wanted) else len(wanted)
        return Held((), (), (), paths.field, len(wanted), len(wanted), count)
    return _compared(paths, wanted, given, owes, answered)


def _compared(paths: _Paths, wanted: list[Entry], given: list[Entry], owes: bool, answered: Any) -> Held:
    owed = paths.answer.owed
    known = Counter(entry.key for entry in wanted)
    named = [e._replace(key=e.other) if e.key not in known and e.other in known else e for e in given]
    missing: list[Key] = []
    if owes and owed is not Owed.ANY:
        excused = {key for path in paths.answered for key in _errors(answered, path)}
        there = _with_prefixes(entry.key for entry in named)
        due = dict.fromkeys(e.key for e in wanted if e.is_last or (e.is_open and e.key))
        missing = [key for key in due if key not in there and not _is_below(key, excused)]
        if owed is Owed.ONE and len(missing) < len(due):
            missing = []
    opened = {entry.key for entry in wanted if entry.is_open}
    meant = _with_prefixes(known)
    twice: list[Entry] = []
    seen: Counter[Key] = Counter()
    for entry in named if owed is not Owed.ANY else ():
        seen[entry.key] += 1
        is_meant = entry.key in known or _is_below(entry.key, opened)
        if is_meant and seen[entry.key] > max(1, known[entry.key]):
            twice.append(entry)
    unasked = [
        entry for entry in named
        if entry.key not in meant and not _is_below(entry.key, opened)
        and (entry.is_last or owed is not Owed.ANY)
    ]  # fmt: skip
    count = len(given) if owes or len(given) > len(wanted) else len(wanted)
    is_counted = owed is Owed.EACH and not opened
    return Held(
        tuple(missing), tuple(unasked), tuple(twice), paths.field, len(wanted), len(known),
        count if is_counted else len(wanted),
    )  # fmt: skip


def repeated(body: Body) -> Iterator[Entry]:
    """Return entries of a response that have the key of one before, in lists that have each once."""
    paths = _paths(body.api.key, body.version, body.version)
    return _repeated(body.value, () if paths is None else paths.once)


def asked_twice(body: Body) -> Iterator[Entry]:
    """Return entries of a request with a repeated key, if entries are answered one by one."""
    paths = _paths(body.api.key, body.version, body.version)
    return _repeated(body.value, () if paths is None else paths.asked)


def _repeated(value: Any, paths: tuple[Path, ...]) -> Iterator[Entry]:
    for path in paths:
        seen = set()
        for entry in _entries(value, path):
            if entry.is_last and entry.key in seen:
                yield entry
            seen.add(entry.key)


def shown(keys: Any) -> str:
    """Return the first of some keys, as text."""
    return ", ".join(sorted(map(text_of, keys))[:_SHOWN])


def text_of(key: Key) -> str:
    """`topic-0`."""
    return "-".join(map(_text, key))


def _text(part: Any) -> str:
    if isinstance(part, bytes):
        return part.hex()
    return "(" + ", ".join(map(_text, part)) + ")" if isinstance(part, tuple) else str(part)


def _is_in_session(answer: Answer, asked: Any) -> bool:
    return bool(answer.session) and sent(asked, answer.session, -1) not in answer.without_session


def _stands_for_all(answer: Answer, version: int, asked: Any, answered: Any, given: list[Entry]) -> bool:
    """Return whether the answer as a whole is an error, or lacks results legally."""
    if sent(answered, "error_code", 0):
        return True
    return any(_is_so(unless, version, asked, answered, given) for unless in answer.unless)


def _is_so(unless: Unless, version: int, asked: Any, answered: Any, given: list[Entry]) -> bool:
    if unless.asked:
        return bool(sent(asked, unless.asked))
    if unless.answered:
        return bool(sent(answered, unless.answered))
    return version <= unless.empty_until and not given


def _with_prefixes(keys: Iterable[Key]) -> set[Key]:
    return {key[:end] for key in keys for end in range(len(key) + 1)}


def _is_below(key: Key, prefixes: set[Key]) -> bool:
    return any(key[:end] in prefixes for end in range(len(key) + 1))


def _rows(value: Any, attributes: tuple[str, ...]) -> Any:
    for name in attributes:
        value = None if value is None else sent(value, name)
    return value


def _entries(value: Any, path: Path, key: Key = (), other: Key = (), at: str = "") -> Iterator[Entry]:
    """Yield the entries of the last level, or the entry above an empty or null list."""
    level, rest = path[0], path[1:]
    rows = _rows(value, level.attributes)
    if not rows:
        if rows is None or key:
            yield Entry(key, other, at, is_last=False, is_open=rows is None)
        return
    for index, row in enumerate(rows):
        one, two = _key(level, row, index)
        here = ".".join(filter(None, (at, *level.attributes))) + f"[{index}]"
        if rest:
            yield from _entries(row, rest, key + one, other + two, here)
        else:
            yield Entry(key + one, other + two, here)


def _errors(value: Any, path: Path, key: Key = ()) -> Iterator[Key]:
    """Yield keys of entries above the last level that are errors."""
    level, rest = path[0], path[1:]
    for index, row in enumerate(_rows(value, level.attributes) or () if rest else ()):
        here = key + _key(level, row, index)[0]
        if sent(row, "error_code", 0):
            yield here
        yield from _errors(row, rest, here)


def _key(level: Level, row: Any, index: int) -> tuple[Key, Key]:
    """Return the key of an entry, and the same by the other name where it has two."""
    if level.is_counted:
        return (index,), (index,)
    one: list[Any] = []
    two: list[Any] = []
    for column in level.key:
        if not column.names:
            one.append(_value(row))
            two.append(one[-1])
            continue
        parts = [_value(sent(row, name)) for name in column.names]
        if len(parts) > 1 and parts[0] is None:
            parts = parts[1:]
        one.append(parts[0])
        two.append(parts[-1])
    return tuple(one), tuple(two)


def _value(value: Any) -> Any:
    if isinstance(value, Value):
        return tuple(_value(item) for _, item in items(value))
    if isinstance(value, (list, tuple)):
        return tuple(sorted(map(_value, value), key=repr))
    return bytes(value) if isinstance(value, memoryview) else value
