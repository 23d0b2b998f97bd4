"""What a seed draws: who works well, what goes wrong, when. The same seed draws the same plan."""

from random import Random
from typing import NamedTuple

from captures.faults.clients import FRANZ, JAVA, KAFKA_PYTHON, LIBRDKAFKA

LIBRARIES = (JAVA, LIBRDKAFKA, KAFKA_PYTHON, FRANZ)
_ASIDE_OF = 3  # one of so many seeds is kept aside
_HEALTHY_SHARE = 0.25
_MOST_FAULTS = (0.5, 0.35, 0.15)  # how often one, two and three at once
_NAMES = (
    ("shop", "mailer"), ("till", "ledger"), ("meter", "billing"), ("door", "watch"), ("cart", "stock"),
    ("sensor", "charts"), ("signup", "greeter"), ("invoice", "archive"),
)  # fmt: skip


class Pair(NamedTuple):
    """A producer and a group with one member that work well. `pace_ms` is from burst to burst."""

    writer: str
    reader: str
    writes_with: str
    reads_with: str
    burst: int
    pace_ms: int
    size: int


class Drawn(NamedTuple):
    """One thing that happens: its kind, the library of its clients, and seconds from the start."""

    kind: str
    library: str
    at_s: float


class Plan(NamedTuple):
    """A run: its background, what happens, and how many seconds it lasts at least."""

    seed: int
    is_healthy: bool
    pairs: tuple[Pair, ...]
    happens: tuple[Drawn, ...]
    lasts_s: float

    def chance(self, number: int) -> Random:
        """The source of chance of one of the things that happen: whatever the others draw."""
        return Random(f"{self.seed} {number} {self.happens[number].kind}")


def is_aside(seed: int) -> bool:
    """Whether a run is kept aside: nobody looks into it while causes are changed."""
    return Random(f"aside {seed}").randrange(_ASIDE_OF) == 0


def draw(seed: int, faults: dict[str, frozenset[str]], days: dict[str, frozenset[str]]) -> Plan:
    """Draw a run from the names of faults and of healthy events.

    Each name has what it needs for itself: two that need the same thing do not happen in one run.
    """
    chance = Random(f"plan {seed}")
    is_healthy = chance.random() < _HEALTHY_SHARE
    kinds, wanted = (days, chance.randint(1, 3)) if is_healthy else (faults, _how_many(chance))
    pairs = tuple(_pair(chance, names) for names in chance.sample(_NAMES, chance.randint(1, 3)))
    happens: list[Drawn] = []
    taken: set[str] = set()
    for kind in chance.sample(sorted(kinds), len(kinds)):
        if len(happens) < wanted and not taken & kinds[kind]:
            taken |= kinds[kind]
            happens.append(Drawn(kind, chance.choice(LIBRARIES[:3]), round(chance.uniform(2, 7), 1)))
    return Plan(seed, is_healthy, pairs, tuple(happens), round(chance.uniform(14, 22), 1))


def _how_many(chance: Random) -> int:
    return chance.choices(range(1, len(_MOST_FAULTS) + 1), _MOST_FAULTS)[0]


def _pair(chance: Random, names: tuple[str, str]) -> Pair:
    return Pair(
        *names,
        chance.choice(LIBRARIES),
        chance.choice(LIBRARIES),
        burst=chance.randint(3, 12),
        pace_ms=chance.randint(900, 2500),
        size=chance.randint(40, 400),
    )
