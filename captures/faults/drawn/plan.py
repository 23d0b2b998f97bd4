"""What a seed draws: who works well, what goes wrong, when. The same seed draws the same plan."""

from random import Random
from typing import NamedTuple

from captures.faults.clients import FRANZ, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from captures.faults.drawn.clusters import FIRST, OLDER, ONE, THREE

_NEWEST = (JAVA, LIBRDKAFKA, KAFKA_PYTHON)
_RELEASES = (
    *_NEWEST, *_NEWEST, "java 2.8.2", "java 3.4.1", "java 3.9.1", "librdkafka 2.0.2", "librdkafka 2.5.3",
    "kafka-python 2.0.2", "kafka-python 2.2.15",
)  # fmt: skip
_ASIDE_OF = 3  # one of so many seeds is kept aside
_HEALTHY_SHARE = 0.25
_INSIDE_SHARE = 0.5  # of the captures of TLS, those with the secrets inside
_MOST_FAULTS = (0.5, 0.35, 0.15)  # how often one, two and three at once
_NAMES = (
    ("shop", "mailer"), ("till", "ledger"), ("meter", "billing"), ("door", "watch"), ("cart", "stock"),
    ("sensor", "charts"), ("signup", "greeter"), ("invoice", "archive"),
)  # fmt: skip


class Edition(NamedTuple):
    """What the seeds up to `last` choose from: a seed draws the same plan when there are more kinds.

    `background` are the libraries of who works well, `libraries` those of what happens; `encrypted` is the
    part of the runs whose clients speak TLS.
    """

    number: int
    last: int | None
    background: tuple[str, ...]
    libraries: tuple[str, ...]
    clusters: dict[str, float]
    encrypted: float


EDITIONS = (
    Edition(1, 88, (*_NEWEST, FRANZ), _NEWEST, {FIRST: 1}, 0),
    Edition(
        2,
        None,
        (*_RELEASES, FRANZ, FRANZ, "franz-go 1.18.1"),
        _RELEASES,
        {ONE: 0.45, THREE: 0.37, OLDER: 0.18},
        0.4,
    ),
)


class Setting(NamedTuple):
    """Where a run happens. `secrets_inside`: those of TLS are in the capture, else in a file next to it."""

    edition: Edition
    cluster: str
    is_encrypted: bool
    secrets_inside: bool


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
    setting: Setting
    is_healthy: bool
    pairs: tuple[Pair, ...]
    happens: tuple[Drawn, ...]
    lasts_s: float

    def chance(self, number: int) -> Random:
        """Return the source of chance of an event, independent of what other events draw."""
        return Random(f"{self.seed} {number} {self.happens[number].kind}")


def is_aside(seed: int) -> bool:
    """Whether a run is kept aside: nobody looks into it while causes are changed."""
    return Random(f"aside {seed}").randrange(_ASIDE_OF) == 0


def setting_of(seed: int) -> Setting:
    """Draw where the run of a seed happens."""
    chance = Random(f"setting {seed}")
    edition = next(one for one in EDITIONS if one.last is None or seed <= one.last)
    (cluster,) = chance.choices(list(edition.clusters), list(edition.clusters.values()))
    return Setting(edition, cluster, chance.random() < edition.encrypted, chance.random() < _INSIDE_SHARE)


def draw(
    seed: int, setting: Setting, faults: dict[str, frozenset[str]], days: dict[str, frozenset[str]]
) -> Plan:
    """Draw a run from the names of faults and of healthy events.

    Each name has what it needs for itself: two that need the same thing do not happen in one run.
    """
    chance = Random(f"plan {seed}")
    is_healthy = chance.random() < _HEALTHY_SHARE
    kinds, wanted = (days, chance.randint(1, 3)) if is_healthy else (faults, _how_many(chance))
    edition = setting.edition
    pairs = tuple(
        _pair(chance, edition.background, names) for names in chance.sample(_NAMES, chance.randint(1, 3))
    )
    happens: list[Drawn] = []
    taken: set[str] = set()
    for kind in chance.sample(sorted(kinds), len(kinds)):
        if len(happens) < wanted and not taken & kinds[kind]:
            taken |= kinds[kind]
            happens.append(Drawn(kind, chance.choice(edition.libraries), round(chance.uniform(2, 7), 1)))
    return Plan(seed, setting, is_healthy, pairs, tuple(happens), round(chance.uniform(14, 22), 1))


def _how_many(chance: Random) -> int:
    return chance.choices(range(1, len(_MOST_FAULTS) + 1), _MOST_FAULTS)[0]


def _pair(chance: Random, libraries: tuple[str, ...], names: tuple[str, str]) -> Pair:
    return Pair(
        *names,
        chance.choice(libraries),
        chance.choice(libraries),
        burst=chance.randint(3, 12),
        pace_ms=chance.randint(900, 2500),
        size=chance.randint(40, 400),
    )
