"""What a mutator is: one way to break one statement of the protocol in real exchanges.

Its author says which rule owns the change (`owner`, a code) from the statement alone; mutators import no
rule.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.mutation.corpus import Scene, Side, codes_before, side_of, sides, sides_of
from tests.mutation.talk import Talk
from tests.support.messages.traffic import BROKER, CLIENT

# Mutants of one mutator, unless it says otherwise: enough to meet many APIs, versions and clients.
MANY = 32
SOME = 16


class Mutant(NamedTuple):
    """A scene with one thing changed; `exchange` and `side` say where the owner finds it (None: anywhere)."""

    scene: Scene
    talk: Talk
    exchange: int | None = None
    side: int | None = None
    note: str = ""

    def __str__(self) -> str:
        exchange = self.scene.exchange
        kind = f"{exchange.api_key} v{exchange.api_version}"
        return f"{self.scene.capture} {exchange.connection.id}/{exchange.ordinal} {kind} {self.note}"


Maker = Callable[[random.Random], Iterable[Mutant]]


class Mutator(NamedTuple):
    """`says` is the statement that its mutants break."""

    name: str
    owner: str
    says: str
    make: Maker
    limit: int

    def mutants(self) -> Iterator[Mutant]:
        """At most `limit` mutants, the same ones in every run.

        Scenes of which the owner speaks before anything is changed show nothing, and are left out.
        """
        count = 0
        for mutant in self.make(random.Random(self.name)):
            if count >= self.limit:
                return
            if self.owner not in codes_before(mutant.scene):
                count += 1
                yield mutant


MUTATORS: list[Mutator] = []


def mutator(name: str, owner: str, says: str, limit: int = SOME) -> Callable[[Maker], Maker]:
    """Register a function that makes mutants."""

    def register(make: Maker) -> Maker:
        MUTATORS.append(Mutator(name, owner, says, make, limit))
        return make

    return register


def spread(bodies: Sequence[Side], rng: random.Random) -> list[Side]:
    """Bodies in an order in which APIs take turns, so that any number of them meets many."""
    by_api: dict[tuple[int, int], list[Side]] = defaultdict(list)
    for body in rng.sample(bodies, len(bodies)):
        by_api[body.api.key, body.side].append(body)
    keys = rng.sample(sorted(by_api), len(by_api))
    longest = max(map(len, by_api.values()), default=0)
    return [by_api[key][turn] for turn in range(longest) for key in keys if turn < len(by_api[key])]


def changed(body: Side, content: bytes, note: str = "") -> Mutant:
    """Return a mutant with another body, to be found there."""
    return Mutant(body.scene, body.talk(content), body.scene.target, body.side, note)


Splice = Callable[[Side, random.Random], bytes | None]


def splices(
    name: str, owner: str, says: str, side: int | None = None, limit: int = MANY
) -> Callable[[Splice], Splice]:
    """Register a function that gives a body's frame with other bytes, None where nothing is to change."""

    def register(splice: Splice) -> Splice:
        def make(rng: random.Random) -> Iterator[Mutant]:
            for body in spread([b for b in sides() if side in (None, b.side)], rng):
                content = splice(body, rng)
                if content is not None and content != body.data:
                    yield changed(body, content)

        MUTATORS.append(Mutator(name, owner, says, make, limit))
        return splice

    return register


Edit = Callable[[Any, Any], bool | None]


def edits(
    name: str, owner: str, says: str, apis: Iterable[str], side: int = CLIENT,
    versions: Iterable[int] | None = None, limit: int = SOME, found_at: int | None = None,
) -> Callable[[Edit], Edit]:  # fmt: skip
    """Register a function that changes the values of a body in place.

    It is given the value to change and that of the other side, and gives False where nothing is to change.
    `found_at` is the side where the owner finds it, if that is another.
    """
    wanted = None if versions is None else frozenset(versions)

    def register(edit: Edit) -> Edit:
        def make(rng: random.Random) -> Iterator[Mutant]:
            pool = [b for api in apis for b in sides_of(api, side) if wanted is None or b.version in wanted]
            for body in spread(pool, rng):
                value = body.value()
                if edit(value, other_value(body)) is not False:
                    content = body.encoded(value)
                    if content != body.data:
                        where = side if found_at is None else found_at
                        yield Mutant(body.scene, body.talk(content), body.scene.target, where)

        MUTATORS.append(Mutator(name, owner, says, make, limit))
        return edit

    return register


def other_value(body: Side) -> Any:
    """Return the decoded other side of the exchange, or None if it is missing or does not fit."""
    found = side_of(body.scene, BROKER if body.side == CLIENT else CLIENT)
    return None if found is None else found.value()
