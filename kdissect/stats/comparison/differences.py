"""The differences between two captures, most significant first.

Rules:
- A field is compared if both captures have it, and an element of an array if it has a name: a field on
  the wire in one version alone follows from the version.
- Values differ if at least half of the exchanges have different ones, outcomes if a share of the exchanges
  has. Numbers differ by a factor, and by more than noise.
- First come outcomes that are worse, then properties of clients, the versions they use, their requests, the
  answers, then times, rates and sizes, clients that have no partner, and outcomes that are better. A
  difference in more exchanges comes before a difference in fewer exchanges of its kind.
- Equal differences of several clients are one difference, and so are the elements of one array.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kdissect.schema.error_codes import error_by_name
from kdissect.sketches.distribution import Distribution
from kdissect.stats.comparison.alignment import Pair
from kdissect.stats.comparison.sides import (
    BATCH_SIZE,
    BODY_SIZES,
    CLIENT_LEFT,
    CLOSED_BY,
    RESPONSE_TIME,
    Aspect,
    ClientSide,
    Example,
    Kind,
    Side,
    Step,
    Values,
)

_OTHERS = 0.5  # the part of exchanges that have other values
_OUTCOMES = 0.05  # of exchanges with a different outcome
_ORDINARY = frozenset(
    {
        "no error",
        "none asked for",
        CLIENT_LEFT,
        False,
        "client (fin)",
        "client (rst)",
        "MEMBER_ID_REQUIRED",
        "REBALANCE_IN_PROGRESS",
    }
)  # the last two are steps of joining a group (KIP-394)
_OTHER_WORK = 0.1  # of what a client does, by an API that it uses in one capture alone
_SHOWN = 4  # values, and elements of an array
_FEW = 5  # numbers that say nothing yet, and errors that pass: a client tries again

_ORDER = {
    kind: number
    for number, kind in enumerate(
        (Kind.OUTCOME, Kind.CLIENT, Kind.VERSION, Kind.ORDER, Kind.REQUEST, Kind.BATCH, Kind.RESPONSE,
         Kind.TIME, Kind.RATE, Kind.SIZE)
    )
}  # fmt: skip
_ALONE = len(_ORDER)
_BETTER = _ALONE + 1

_NOISE: dict[Aspect, tuple[float, int]] = {
    (Kind.TIME, RESPONSE_TIME): (2.0, 2_000_000),
    **{(Kind.SIZE, what): (2.0, 1_000) for what in BODY_SIZES},
    (Kind.BATCH, "records in a batch"): (2.0, 1),
    (Kind.BATCH, BATCH_SIZE): (2.0, 500),
}
"""The factor and the amount by which medians have to differ. Times are in nanoseconds."""
_RATE = 3.0
_ELEMENT = re.compile(r"(?P<array>[\w.\[\]]*\w)\[[^\]]+\].*", re.DOTALL)


CLIENTS_ALONE, API_ALONE = "clients of one capture alone", "an API of one capture alone"


class Shares(NamedTuple):
    """Values of a property, most frequent first, with the number of exchanges (connections, batches) of
    each.
    """

    total: int
    values: tuple[tuple[Any, int], ...]
    example: Example | None

    def facts(self) -> dict[str, Any]:
        """Return the parts by name, for JSON."""
        return {
            "count": self.total,
            "values": [{"value": value, "count": count} for value, count in self.values],
            "example": None if self.example is None else self.example._asdict(),
        }


class Numbers(NamedTuple):
    """Distribution of a number, and the number of its values."""

    total: int
    p50: int
    p99: int

    def facts(self) -> dict[str, Any]:
        """Return the parts by name, for JSON."""
        return {"count": self.total, "p50": self.p50, "p99": self.p99}


class Difference(NamedTuple):
    """One difference. `good` and `bad` are None if a capture has no value of the kind.

    `share` is the part of the exchanges (connections, batches) of the step in the worse capture that have it.
    `elements` are further elements of the same array that differ.
    """

    kind: Kind
    clients: tuple[str, ...]
    api: str | None
    what: str
    good: Shares | Numbers | None
    bad: Shares | Numbers | None
    share: float
    weight: int
    is_better: bool = False
    elements: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, bool, float, int]:
        """The sort key."""
        place = _BETTER if self.is_better else _ORDER[self.kind]
        if self.what == CLIENTS_ALONE:
            place = _ALONE
        is_other_work = self.what == API_ALONE and self.share >= _OTHER_WORK
        return place, not is_other_work, -self.share, -self.weight

    def facts(self) -> dict[str, Any]:
        """Return the parts by name, for JSON."""
        return {
            "kind": str(self.kind),
            "clients": list(self.clients),
            "api": self.api,
            "what": self.what,
            "good": None if self.good is None else self.good.facts(),
            "bad": None if self.bad is None else self.bad.facts(),
            "share": round(self.share, 4),
            "better": self.is_better,
            "elements": list(self.elements),
        }


def differences(good: Side, bad: Side, pairs: Iterable[Pair]) -> list[Difference]:
    """Return all differences, most significant first."""
    found: list[Difference] = []
    alone: tuple[list[ClientSide], list[ClientSide]] = [], []
    for one, other in pairs:
        if one is not None and other is not None:
            found += _of_client(one, other, good.duration_ns, bad.duration_ns)
        elif one is not None:
            alone[0].append(one)
        elif other is not None:
            alone[1].append(other)
    found += [_alone(clients, number == 0) for number, clients in enumerate(alone) if clients]
    return sorted(_alike(found), key=lambda difference: difference.rank)


def _alone(clients: list[ClientSide], is_good: bool) -> Difference:
    """Return clients that are in one of the captures, with the APIs they use."""
    apis: Counter[str] = Counter()
    for client in clients:
        apis.update({api: step.count for api, step in client.steps.items()})
    seen = Shares(apis.total(), tuple(apis.most_common(_SHOWN)), None)
    names = tuple(client.name for client in clients)
    good, bad = (seen, None) if is_good else (None, seen)
    return Difference(Kind.CLIENT, names, None, CLIENTS_ALONE, good, bad, 0.0, apis.total())


def _of_client(one: ClientSide, other: ClientSide, good_ns: int, bad_ns: int) -> Iterator[Difference]:
    name = one.name if one.name == other.name else f"{one.name} / {other.name}"
    yield from _of_step((name,), None, one.connecting, other.connecting)
    for api in dict.fromkeys((*one.steps, *other.steps)):
        here, there = one.steps.get(api), other.steps.get(api)
        if here is None or there is None:
            yield _of_api((name,), api, here, there, one, other)
            continue
        yield from _of_step((name,), api, here, there)
        yield from _rates((name,), api, (here.count, good_ns), (there.count, bad_ns))


def _of_api(
    clients: tuple[str, ...],
    api: str,
    here: Step | None,
    there: Step | None,
    one: ClientSide,
    other: ClientSide,
) -> Difference:
    """Return the difference for an API that a client uses in one capture alone."""
    step, side = (here, one) if here is not None else (there, other)
    assert step is not None  # one of the two has it
    count = sum(each.count for each in side.steps.values())
    seen = _shares(step.values.get((Kind.VERSION, "version"), Values()))
    return Difference(
        Kind.VERSION, clients, api, API_ALONE, seen if here is not None else None,
        None if here is not None else seen, step.count / max(1, count), step.count,
    )  # fmt: skip


def _of_step(clients: tuple[str, ...], api: str | None, here: Step, there: Step) -> Iterator[Difference]:
    versions = (Kind.VERSION, "version")
    is_same_version = (
        here.values.get(versions, Values()).counts.keys()
        == there.values.get(versions, Values()).counts.keys()
    )
    elements: dict[tuple[Kind, str], list[Difference]] = {}
    for aspect in dict.fromkeys((*here.values, *there.values)):
        kind, what = aspect
        good, bad = here.values.get(aspect, Values()), there.values.get(aspect, Values())
        element = _ELEMENT.fullmatch(what)
        is_in_both = bool(good.total and bad.total)
        if kind is Kind.OUTCOME:
            yield from _outcomes(clients, api, what, good, bad)
        elif (found := _values(clients, api, aspect, good, bad)) is None:
            continue
        elif element is None:
            if is_in_both:
                yield found
        else:
            elements.setdefault((kind, element["array"]), []).append(found)
    for (kind, array), each in elements.items():
        if is_same_version or kind is Kind.RESPONSE:
            yield _folded(array, each)
    for aspect, (factor, least) in _NOISE.items():
        yield from _numbers(clients, api, aspect, (factor, least), here, there)


def _outcomes(
    clients: tuple[str, ...], api: str | None, what: str, good: Values, bad: Values
) -> Iterator[Difference]:
    """Yield the worse outcomes and the better outcomes, by their kinds."""
    worse: list[tuple[float, Any]] = []
    better: list[tuple[float, Any]] = []
    for value in dict.fromkeys(
        (*good.counts, *bad.counts)
    ):  # in this order, so that the first of equal outcomes comes first
        if value in _ORDINARY:
            continue
        change = bad.share(value) - good.share(value)
        least = _OUTCOMES if what != CLOSED_BY else _OTHERS
        if abs(change) >= least and not (_passes(value, good) and _passes(value, bad)):
            (worse if change > 0 else better).append((abs(change), value))
    for found, is_better in ((worse, False), (better, True)):
        if found:
            share = max(change for change, _ in found)
            value = max(found, key=lambda one: one[0])[1]
            weight = (good if is_better else bad).counts[value]
            good_shares, bad_shares = _shares(good, value), _shares(bad, value)
            yield Difference(
                Kind.OUTCOME, clients, api, what, good_shares, bad_shares, share, weight, is_better
            )


def _passes(value: Any, values: Values) -> bool:
    """Return whether an outcome is an error that comes now and then, and is over when the client tries
    again.
    """
    if values.counts[value] >= _FEW or not values.counts["no error"]:
        return not values.counts[value]
    known = error_by_name(value) if isinstance(value, str) else None
    return known is not None and known.retriable


def _values(
    clients: tuple[str, ...], api: str | None, aspect: Aspect, good: Values, bad: Values
) -> Difference | None:
    """Return a field whose values differ, or None if they do not, or if it has too many values."""
    if good.varies or bad.varies:
        return None
    every = good.counts.keys() | bad.counts.keys()
    # In whole numbers: shares that differ in the last bit would change places in the list.
    here, there = max(good.total, 1), max(bad.total, 1)
    apart = sum(abs(good.counts[value] * there - bad.counts[value] * here) for value in every)
    other = apart / (here * there * (2 if good.total and bad.total else 1))
    # Of a few exchanges one more or one less is no other way of working.
    is_few = min(good.total, bad.total) < _FEW and bool(good.counts.keys() & bad.counts.keys())
    if other < _OTHERS or (is_few and good.total and bad.total):
        return None
    kind, what = aspect
    news = next((value for value in bad.counts if value not in good.counts), None)
    return Difference(
        kind, clients, api, what, _shares(good) if good.total else None,
        _shares(bad, news) if bad.total else None, other, max(good.total, bad.total),
    )  # fmt: skip


def _folded(array: str, each: list[Difference]) -> Difference:
    """Return elements of one array that differ, as one difference: the first one's, and the names of all."""
    first = max(each, key=lambda difference: difference.share)
    names = tuple(dict.fromkeys(difference.what for difference in each))
    return first._replace(what=first.what, elements=tuple(name for name in names if name != first.what))


def _numbers(
    clients: tuple[str, ...],
    api: str | None,
    aspect: Aspect,
    noise: tuple[float, int],
    here: Step,
    there: Step,
) -> Iterator[Difference]:
    good, bad = here.numbers.get(aspect), there.numbers.get(aspect)
    if good is None or bad is None:
        return
    fewer, more = sorted((good.count, bad.count))
    # Larger batches are fewer, so for batches the larger of both counts must be large enough.
    if (more if aspect[0] is Kind.BATCH else fewer) < _FEW:
        return
    factor, least = noise
    one, other = _number(good), _number(bad)
    low, high = sorted((one.p50, other.p50))
    if high < factor * low or high - low < least:
        return
    kind, what = aspect
    ratio = high / max(low, 1)
    yield Difference(kind, clients, api, what, one, other, 1 - 1 / ratio, bad.count)


def _rates(
    clients: tuple[str, ...], api: str, good: tuple[int, int], bad: tuple[int, int]
) -> Iterator[Difference]:
    """Yield the rates at which an API is used per second, if they differ by much."""
    (here, good_ns), (there, bad_ns) = good, bad
    if min(good_ns, bad_ns) <= 0 or max(here, there) < 4 * _FEW:
        return
    one, other = here / good_ns, there / bad_ns
    ratio = max(one, other) / min(one, other)
    if ratio < _RATE:
        return
    minute = 60_000_000_000
    before, now = round(one * minute), round(other * minute)
    yield Difference(
        Kind.RATE, clients, api, "requests a minute", Numbers(here, before, before),
        Numbers(there, now, now), 1 - 1 / ratio, there,
    )  # fmt: skip


def _shares(values: Values, of: Any = None) -> Shares:
    most = tuple(sorted(values.counts.items(), key=lambda item: -item[1])[:_SHOWN])
    example = values.examples.get(of if of in values.counts else most[0][0]) if most else None
    return Shares(values.total, most, example)


def _number(numbers: Distribution) -> Numbers:
    return Numbers(numbers.count, numbers.quantile(0.5) or 0, numbers.quantile(0.99) or 0)


def _alike(found: Iterable[Difference]) -> list[Difference]:
    """Join equal differences of several clients."""
    joined: dict[Any, Difference] = {}
    for difference in found:
        values = [
            None
            if side is None
            else side._replace(example=None, total=0, values=tuple(v for v, _ in side.values))
            if isinstance(side, Shares)
            else id(side)
            for side in (difference.good, difference.bad)
        ]
        key = repr((difference.kind, difference.api, difference.what, difference.is_better, values))
        known = joined.get(key)
        if known is None:
            joined[key] = difference
        else:
            joined[key] = known._replace(
                clients=(*known.clients, *difference.clients),
                weight=known.weight + difference.weight,
                share=max(known.share, difference.share),
            )
    return list(joined.values())
