"""Decides which guards mark the bodies of an exchange: one predicate for each API and version, built from the
guards of all chosen rules.

It consists of rows: tests of fields, tests of values stored on the way, and which of these conditions each
guard needs. The native engine takes the rows and reads the bytes (native/src/bodies/guards.rs);
`reference_marks` does the same with decoded values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any, NamedTuple

from kdissect.decoders.decoded import Decoded
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.generated.values import Value, items
from kdissect.model.native import is_compiled, native
from kdissect.rules.answer_keys import key_fields
from kdissect.rules.guards import (
    Above,
    All,
    Among,
    Below,
    Condition,
    Exceeds,
    Fact,
    Guard,
    InMessage,
    InRequest,
    LaterThan,
    LessThanAsked,
    Longer,
    Needs,
    Not,
    Other,
    OutOfDomain,
    SoonerThanHalf,
    TopicId,
)  # fmt: skip
from kdissect.schema.domains import domain
from kdissect.schema.enums import enumeration
from kdissect.schema.error_codes import all_codes
from kdissect.schema.types import Array, Field, Message, Primitive, Struct
from kdissect.session.exchange import Exchange

EVERY = (1 << 64) - 1
"""Marks of every guard."""
_LAST_GUARD = 63  # of a 64-bit number. Further guards share it, which marks too much and never too little
_MOST_CONDITIONS = 128  # a guard with a condition beyond them marks everything
_MOST_SLOTS = 16
_SIZED = frozenset({Primitive.STRING, Primitive.BYTES, Primitive.RECORDS})
_NUMBERS = frozenset(Primitive) - _SIZED - {Primitive.BOOL, Primitive.FLOAT64, Primitive.UUID}
_KEYS = _NUMBERS | {Primitive.STRING, Primitive.UUID}
# Sets of a body's keys that are compared with the other body's, and sets of keys that a list may contain
# once.
_COMPARED, _ONCE = 0, 1
_NS_PER_MS = 1_000_000
_MOST_NS = (1 << 63) - 1  # 292 years, more than any number of milliseconds in a body
_ALWAYS, _NEVER = -1, -2  # in place of a condition's number
_COMPARISONS = {Exceeds: ("over", "under"), Needs: ("lacks", "demands")}
"""Tests of a field by the number of an earlier field: of the condition's own field, and of the other one."""


class FieldRow(NamedTuple):
    """Test of a field's values: numbers of its struct and of the field in it, its condition."""

    structure: int
    number: int
    what: str
    numbers: list[int]
    ids: list[bytes]
    condition: int


NativeRow = tuple[int, int, str, list[int], list[bytes], int]
LateRow = tuple[str, list[int], int]
"""Questions once both bodies are known, with numbers, and the condition that needs them."""
TermRow = tuple[int, int, int, bool, bool]
"""The number of a guard, the conditions it needs (bits), the conditions that must not hold, whether it is
about the response, and asks something of the request.
"""


class _FieldAt(NamedTuple):
    structure: int
    number: int
    path: str
    field: Field


class _Side:
    """A body: its fields, in the numbers of `native_plan.layout_rows`, and the tests of their values."""

    def __init__(self, message: Message, version: int) -> None:
        self.message = message
        self.version = version
        self.fields = tuple(_fields(Layout(message, version)))
        self.tests: list[FieldRow] = []

    def copied(self) -> _Side:
        """Return a copy to which tests can be added."""
        made = copy(self)
        made.tests = self.tests.copy()
        return made

    def named(self, names: Iterable[str]) -> list[_FieldAt]:
        """Return the fields with one of these names, or paths from the root, which begin with a dot."""
        wanted = frozenset(names)
        return [at for at in self.fields if at.field.name in wanted or at.path in wanted]

    def lists_of_numbers(self, keys: list[_FieldAt]) -> list[_FieldAt]:
        """Return the lists whose entries have these keys, if the keys are numbers that are only compared
        within their list: not inside an entry that has a number as its own key.
        """
        lists = [at for key in keys if _element(key.field) in _NUMBERS for at in self._list_of(key)]
        return [one for one in lists if not any(one.path.startswith(f"{at.path}.") for at in lists)]

    def _list_of(self, key: _FieldAt) -> list[_FieldAt]:
        """Return the list whose entries have a key, or are it."""
        found = [key] if isinstance(key.field.type, Array) else self.named([key.path.rpartition(".")[0]])
        return [at for at in found if isinstance(at.field.type, Array)]

    def test(self, at: _FieldAt, what: str, condition: int, numbers: Sequence[int] = ()) -> None:
        """Add a test to a field, if its type supports the test."""
        kind = _element(at.field)
        is_asked = {
            "longer": kind in _SIZED or isinstance(at.field.type, Array),
            "empty": kind in _SIZED or isinstance(at.field.type, Array),
            "sum": kind in _SIZED,
            "key": kind in _KEYS,
            "list": isinstance(at.field.type, Array),
        }
        if not is_asked.get(what, kind in _NUMBERS):
            return
        self.tests.append(FieldRow(at.structure, at.number, what, list(numbers), [], condition))


def _fields(layout: Layout) -> Iterator[_FieldAt]:
    """Yield the fields, with structs numbered in the order of discovery and tagged fields last in their
    struct.
    """
    structs: list[tuple[Struct, str]] = [(layout.message.root, "")]
    for number, (of, path) in enumerate(structs):  # which grows
        tagged = layout.tagged_fields(of) if layout.flexible else []
        for index, field in enumerate([*layout.plain_fields(of), *tagged]):
            here = f"{path}.{field.name}"
            kind = _element(field)
            if isinstance(kind, Struct):
                structs.append((kind, here))
            yield _FieldAt(number, index, here, field)


def _element(field: Field) -> Primitive | Struct | Array:
    return field.type.element if isinstance(field.type, Array) else field.type


class BodyGuards:
    """The predicate for the bodies of one API in one version.

    `numbers` has the bit of each guard, by side (False: the request) and guard.
    """

    def __init__(self, request: tuple[Message, int], response: tuple[Message, int]) -> None:
        self.numbers: dict[tuple[bool, Guard], int] = {}
        self._sides = _Side(*request), _Side(*response)
        self._conditions: dict[tuple[bool, Condition], int] = {}
        self._slots: dict[tuple[bool, str, str], int] = {}
        self._late: list[LateRow] = []
        self._terms: list[TermRow] = []
        self.bits = [0, 0]
        """Those of the guards about the request, and about the response."""
        self.loose = self.shared_bits
        """Those that mark more than their guards say."""
        self._marks: Callable[..., int] | None = None

    shared_bits = 1 << _LAST_GUARD
    """Those that several guards may have."""

    def add(self, guard: Guard, is_response: bool) -> int:
        """Add the guard of a rule about one side, and return its bit."""
        known = self.numbers.get((is_response, guard))
        if known is not None:
            return known
        number = min(len(self.numbers), _LAST_GUARD)
        self.numbers[is_response, guard] = 1 << number
        self.bits[is_response] |= 1 << number
        for part in guard:
            needed = barred = 0
            is_possible = part is not Fact.NOT_CANONICAL
            conditions = part.conditions if isinstance(part, All) else (part,)
            for condition in conditions:
                found, is_barred = self._of(condition, is_response)
                self.loose |= 1 << number if found == _ALWAYS else 0
                is_possible &= found != (_ALWAYS if is_barred else _NEVER)
                bit = 1 << found if found >= 0 else 0
                needed, barred = (needed, barred | bit) if is_barred else (needed | bit, barred)
            if is_possible:
                asks = is_response and any(map(_asks_request, conditions))
                self._terms.append((number, needed, barred, is_response, asks))
        self._marks = None
        return 1 << number

    def marks(self, exchange: Exchange) -> int:
        """Return the bits of the guards that mark an exchange, all of those about a body that is not
        canonical.
        """
        asked, answered = exchange.bodies_cache or exchange.bodies()
        marks, is_known = 0, (_is_canonical(asked), _is_canonical(answered))
        if asked is not None and not is_known[0]:
            marks |= self.bits[0]
        if answered is not None and not is_known[1]:
            marks |= self.bits[1]
        latency = max(-_MOST_NS, min(exchange.latency_ns or 0, _MOST_NS))
        if not is_compiled:
            return marks | self.reference_marks(
                asked if is_known[0] else None, answered if is_known[1] else None, latency
            )
        request, response = exchange.request, exchange.response
        return marks | (self._marks or self._compile())(
            request.data if request is not None and is_known[0] else None,
            exchange.request_body_offset,
            response.data if response is not None and is_known[1] else None,
            exchange.response_body_offset,
            latency,
        )

    def with_others(self, others: Iterable[Guard]) -> tuple[native.Guards, list[int]]:
        """Return these guards with additional ones about the response, for bodies that are not decoded, and
        the bit of each additional one.

        Compiled only.
        """
        return copy(self).adding(others)

    def adding(self, others: Iterable[Guard]) -> tuple[native.Guards, list[int]]:
        """Return the guards of a copy, whose parts are its own from then on, and the bits of those added."""
        self.numbers, self.bits = self.numbers.copy(), self.bits.copy()
        self._conditions, self._slots = self._conditions.copy(), self._slots.copy()
        self._late, self._terms = self._late.copy(), self._terms.copy()
        self._sides = self._sides[0].copied(), self._sides[1].copied()
        bits = [self.add(guard, True) for guard in others]
        return self._native(), bits

    def _compile(self) -> Callable[..., int]:
        self._marks = self._native().marks
        return self._marks

    def _native(self) -> native.Guards:
        from kdissect.decoders.generated.native_plan import native_layout  # compiled only

        (request, asked), (response, answered) = (
            (native_layout(side.message, side.version)[0], list[NativeRow](side.tests))
            for side in self._sides
        )
        bits = self.bits[0], self.bits[1]
        return native.Guards((request, asked), (response, answered), self._late, self._terms, bits)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the native predicate, which another process builds again."""
        return self.__dict__ | {"_marks": None}

    # the rows

    def _of(self, condition: Condition, is_response: bool) -> tuple[int, bool]:
        """Return the number of a condition, and whether it must not hold."""
        is_barred = False
        while isinstance(condition, Not | InRequest | InMessage):
            if (
                isinstance(condition, InMessage)
                and condition.message != self._sides[is_response].message.name
            ):
                return _NEVER, is_barred
            is_barred ^= isinstance(condition, Not)
            is_response &= not isinstance(condition, InRequest)
            condition = condition.condition
        key = is_response, condition
        if key not in self._conditions:
            self._conditions[key] = self._row(condition, is_response, self._next())
        return self._conditions[key], is_barred

    def _next(self) -> int:
        number = sum(found >= 0 for found in self._conditions.values())
        return number if number < _MOST_CONDITIONS else _ALWAYS

    def _row(self, condition: Condition, is_response: bool, number: int) -> int:
        """Add the rows of a condition, and return its number, or its constant result."""
        if number == _ALWAYS or condition is Fact.NOT_CANONICAL:
            return number
        side = self._sides[is_response]
        if condition in (Fact.REPEATS, Fact.OTHER_RESULTS, Fact.TWICE):
            return self._keyed(condition, number)
        if isinstance(condition, LaterThan | SoonerThanHalf | LessThanAsked):
            return self._timing(condition, number)
        if isinstance(condition, Exceeds | Needs):
            return self._compared(condition, side, number)
        before = len(side.tests)
        _add_tests(side, condition, number)
        return number if len(side.tests) > before else _NEVER

    def _slot(self, is_response: bool, name: str, what: str) -> int | None:
        """Return the slot for a value or a sum; None if no field has it, or no slot is left."""
        key = is_response, name, what
        if key not in self._slots:
            found = self._sides[is_response].named([name])
            if not found or len(self._slots) >= _MOST_SLOTS:
                return None
            self._slots[key] = len(self._slots)
            for at in found:
                self._sides[is_response].test(at, what, 0, [self._slots[key]])
        return self._slots[key]

    def _timing(self, condition: LaterThan | SoonerThanHalf | LessThanAsked, number: int) -> int:
        extra: list[int] = []
        if isinstance(condition, LessThanAsked):
            given, asked = (
                self._slot(True, condition.field, "sum"),
                self._slot(False, condition.asked, "keep"),
            )
            slots, what = [given, asked], "fewer"
        elif isinstance(condition, LaterThan):
            slots, extra, what = [self._slot(False, condition.field, "keep")], [condition.slack_ns], "later"
        else:
            slots, what = [self._slot(False, condition.field, "keep")], "sooner"
        known = [slot for slot in slots if slot is not None]
        if len(known) < len(slots):
            return _ALWAYS
        self._late.append((what, [*known, *extra], number))
        return number

    def _compared(self, condition: Exceeds | Needs, side: _Side, number: int) -> int:
        """Add the comparison of the later one of the two fields with the earlier one, in each struct that has
        both.
        """
        one, other = side.named([condition.field]), side.named([condition.other])
        pairs = [(first, second) for first in one for second in other if first.structure == second.structure]
        for pair in pairs:
            first, second = sorted(pair)
            slot = self._slot(side is self._sides[True], first.path, "keep")
            if slot is None:
                return _ALWAYS
            side.test(second, _COMPARISONS[type(condition)][second == pair[1]], number, [slot])
        return number if pairs else _NEVER

    def _keyed(self, fact: Condition, number: int) -> int:
        kind = _ONCE if fact is Fact.TWICE else _COMPARED
        for is_response in (False, True) if fact is Fact.OTHER_RESULTS else (fact is Fact.TWICE,):
            side = self._sides[is_response]
            fields = key_fields(side.message, side.version, is_once=kind == _ONCE)
            if not fields and fact is not Fact.OTHER_RESULTS:
                return _NEVER
            found = [side.named([field.path]) for field in fields]
            if not found or not all(found):
                return _ALWAYS
            keys = [at for (at,) in found]
            for at, field in zip(keys, fields, strict=True):
                if field.has_other:  # which is not looked at: to need it is odd enough
                    side.test(at, "empty", number)
            lists = side.lists_of_numbers(keys) if kind == _ONCE else []
            for what, asked in (("list", lists), ("key", keys)):
                for at in asked:
                    if not any(row[:4] == (at.structure, at.number, what, [kind]) for row in side.tests):
                        side.test(at, what, 0, [kind])
        what = "repeats" if fact is Fact.REPEATS else "twice" if fact is Fact.TWICE else "differs"
        self._late.append((what, [], number))
        return number

    # the reference

    def reference_marks(self, asked: Decoded | None, answered: Decoded | None, latency_ns: int) -> int:
        """Return `marks` by decoded bodies that are canonical; None: there is no such body."""
        look = _Look(self._sides, len(self._slots))
        bodies = asked, answered
        is_known = [body is not None for body in bodies]
        for side, body in enumerate(bodies):
            if body is not None:
                look.body(side, body.value)
        marks = 0
        for what, numbers, condition in self._late if is_known[0] else ():
            if look.is_late(what, numbers, is_known[1], latency_ns):
                look.holds |= 1 << condition
        for guard, needed, barred, is_response, asks in self._terms:
            holds = look.holds & needed == needed and not look.holds & barred
            if is_known[is_response] and (holds or (asks and not is_known[0])):
                marks |= 1 << guard
        return marks


def _is_canonical(body: Decoded | None) -> bool:
    return body is not None and body.is_canonical and body.fits


def _asks_request(condition: Condition) -> bool:
    """Return whether a condition of a guard about responses is one about the request too."""
    if isinstance(condition, Not | InMessage):
        return _asks_request(condition.condition)
    return condition in (Fact.OTHER_RESULTS, Fact.TWICE) or isinstance(
        condition, InRequest | LaterThan | SoonerThanHalf | LessThanAsked
    )


def _add_tests(side: _Side, condition: Condition, number: int) -> None:
    """Add the tests of a condition about the values of single fields."""
    if isinstance(condition, TopicId):
        for at in side.fields:
            if _holds_topic_id(at.field):
                side.tests.append(FieldRow(at.structure, at.number, "ids", [], sorted(condition.ids), number))
    elif isinstance(condition, OutOfDomain):
        _add_domains(side, condition.meanings, number)
    elif isinstance(condition, Fact):
        for at in side.fields:
            known = _known_numbers(at.field, is_error=condition is Fact.UNKNOWN_ERROR)
            if known is not None:
                side.test(at, "other", number, sorted(known))
    else:
        what, numbers = _asked_of(condition)
        for at in side.named(condition.fields):  # type: ignore[union-attr]  # `_row` took the others
            side.test(at, what, number, numbers)


def _add_domains(side: _Side, meanings: frozenset[str], number: int) -> None:
    """Add the tests of numbers that have one of these meanings, against their domains."""
    for at in side.fields:
        found = domain(side.message.name, at.field)
        if found is None or found.meaning not in meanings:
            continue
        if found.least is not None:
            side.test(at, "below", number, [found.least])
        if found.most is not None:
            side.test(at, "above", number, [found.most])


def _asked_of(condition: Condition) -> tuple[str, list[int]]:
    match condition:
        case Below(least=bound):
            return "below", [bound]
        case Above(most=bound):
            return "above", [bound]
        case Among(values=values):
            return "among", sorted(values)
        case Other(values=values):
            return "other", sorted(values)
        case Longer(most=most):
            return "longer", [most]
    return "empty", []


def _holds_topic_id(field: Field) -> bool:
    return _element(field) is Primitive.UUID and (isinstance(field.type, Array) or field.entity == "topicId")


def _known_numbers(field: Field, *, is_error: bool) -> frozenset[int] | None:
    """Return the numbers the schema knows for an error code, or for a field of a closed enumeration."""
    if field.is_error or is_error:
        return all_codes() if field.is_error and is_error else None
    if field.enum is None or _element(field) is Primitive.BOOL:
        return None
    return _closed_numbers(field.enum)


@cache
def _closed_numbers(name: str) -> frozenset[int] | None:
    known = enumeration(name)
    if known is None or known.is_open:
        return None
    return frozenset(value for value in known.values if isinstance(value, int)) or None


_Key = bytes | int | str | None
_LIST = "list"
"""Among keys: a list begins whose entries have numbers."""
_Keys = tuple[list[_Key], list[_Key]]
"""The keys that a body names, in the order of the wire: keys that are compared, and keys that occur once."""


def _has_repeats(keys: list[_Key]) -> bool:
    """Return whether a name stands twice, or a number among those behind one name or in one list."""
    names = [key for key in keys if isinstance(key, bytes | None)]
    if len(set(names)) < len(names):
        return True
    numbers: set[int] = set()
    for key in keys:
        if not isinstance(key, int):
            numbers.clear()
        elif key in numbers:
            return True
        else:
            numbers.add(key)
    return False


class _Look:
    """Results of the rows for the bodies of one exchange."""

    def __init__(self, sides: tuple[_Side, _Side], slots: int) -> None:
        self.holds = 0
        self._slots = [0] * slots
        self._keys: tuple[_Keys, _Keys] = ([], []), ([], [])
        self._tests: list[dict[str, list[FieldRow]]] = []
        for side in sides:
            paths = {at[:2]: at.path for at in side.fields}
            tests: dict[str, list[FieldRow]] = {}
            for row in side.tests:
                tests.setdefault(paths[row[:2]], []).append(row)
            self._tests.append(tests)
        self._now, self._named = self._tests[0], self._keys[0]

    def body(self, side: int, value: Value) -> None:
        """Look at the body of a side."""
        self._now, self._named = self._tests[side], self._keys[side]
        self._of(value, "")

    def is_late(self, what: str, numbers: list[int], is_answered: bool, latency_ns: int) -> bool:
        asked, answered = self._keys
        if what == "repeats":
            return _has_repeats(asked[_COMPARED])
        if not is_answered:
            return False
        if what in ("differs", "twice"):
            return (
                _has_repeats(answered[_ONCE]) if what == "twice" else asked[_COMPARED] != answered[_COMPARED]
            )
        first = self._slots[numbers[0]]
        if what == "later":
            return latency_ns > first * _NS_PER_MS + numbers[1]
        if what == "sooner":
            return 0 < latency_ns * 2 < first * _NS_PER_MS
        return first < self._slots[numbers[1]]

    def _of(self, value: Value, path: str) -> None:
        for name, item in items(value):
            here = f"{path}.{name}"
            for row in self._now.get(here, ()):
                if isinstance(item, list) or item is None:
                    self._array(row, item)
                else:
                    self._scalar(row, item)
            for element in item if isinstance(item, list) else [item]:
                if isinstance(element, Value):
                    self._of(element, here)
                elif isinstance(item, list):
                    for row in self._now.get(here, ()):
                        self._scalar(row, element)

    def _array(self, row: FieldRow, found: list[Any] | None) -> None:
        if found is None and row.what == "key":
            self._named[row.numbers[0]].append(None)
        elif found is not None and row.what == "list":
            self._named[row.numbers[0]].append(_LIST)
        if (row.what == "empty" and not found) or (
            row.what == "longer" and len(found or ()) > row.numbers[0]
        ):
            self.holds |= 1 << row.condition

    def _scalar(self, row: FieldRow, value: Any) -> None:
        if isinstance(value, int):
            self._number(row, value)
            return
        content = value.encode() if isinstance(value, str) else bytes(value)
        match row.what:
            case "key":
                self._named[row.numbers[0]].append(content)
            case "sum":
                self._slots[row.numbers[0]] += len(content)
            case "ids" if content in row.ids:
                self.holds |= 1 << row.condition
            case "empty" if not content:
                self.holds |= 1 << row.condition
            case "longer" if len(content) > row.numbers[0]:
                self.holds |= 1 << row.condition

    def _number(self, row: FieldRow, value: int) -> None:
        if row.what == "key":
            self._named[row.numbers[0]].append(value)
        elif row.what == "keep":
            self._slots[row.numbers[0]] = value
        elif _holds(row.what, value, row.numbers, self._slots):
            self.holds |= 1 << row.condition


def _holds(what: str, value: int, numbers: list[int], slots: list[int]) -> bool:
    match what:
        case "below":
            return value < numbers[0]
        case "above":
            return value > numbers[0]
        case "among":
            return value in numbers
        case "other":
            return value not in numbers
        case "over":
            return value > slots[numbers[0]]
        case "lacks":
            return value < 0 <= slots[numbers[0]]
        case "demands":
            return slots[numbers[0]] < 0 <= value
    return what == "under" and value < slots[numbers[0]]
