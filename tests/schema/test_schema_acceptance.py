"""What releases take, against the versions that the releases themselves name."""

import json
from pathlib import Path

import pytest

from kdissect.schema.acceptance import Fate, label, number, resolve, taken_range, verdict
from kdissect.schema.protocol_messages import api_keys

CONTROLLED_SHUTDOWN = 7  # brokers before 1.0 took version 0 without naming it (releases.table)


def test_every_release_takes_what_it_names(reference: Path) -> None:
    known = json.loads((reference / "protocol" / "releases.json").read_text())
    for name, row in known.items():
        release = name.removesuffix("-rc3").removesuffix("-trunk")
        if release == "4.5":  # brought no version
            release = "4.4"
        named = {int(key): (held[0], held[1]) for key, held in row["versions"].items()}
        found = {key: taken_range(key, resolve(release)) for key in api_keys()}
        differ = {key for key in api_keys() if found[key] != named.get(key)}
        assert differ <= ({CONTROLLED_SHUTDOWN} if number(release) < (1, 0, 0) else set()), name


@pytest.mark.parametrize(
    ("text", "name"),
    [("4.0", "4.0"), ("4.0.2", "4.0"), ("v3.9", "3.9"), ("3.9.1", "3.9"), ("2.8.2", "2.8"), ("2.8", "2.8"),
     ("0.10.2.1", "0.10.2"), ("0.9.0.1", "0.9"), ("0.8.2", "0.8.2"), ("4", "4.0")],
)  # fmt: skip
def test_releases_resolve(text: str, name: str) -> None:
    assert label(resolve(text)) == name


@pytest.mark.parametrize("text", ["", "9.9", "four", "4.0-rc1", "1.2.3.4.5", "0.12"])
def test_others_do_not(text: str) -> None:
    with pytest.raises(ValueError, match="release"):
        resolve(text)


@pytest.mark.parametrize(
    ("key", "version", "release", "fate"),
    [(0, 2, "4.0", Fate.GONE), (0, 2, "3.9", Fate.DEPRECATED), (0, 3, "4.0", Fate.TAKEN),
     (1, 3, "4.1", Fate.GONE), (4, 7, "4.0", Fate.GONE), (68, 0, "2.8", Fate.TOO_NEW),
     (0, 99, "4.0", Fate.UNKNOWN), (999, 0, "4.0", Fate.UNKNOWN), (78, 0, "4.0", Fate.DEPRECATED)],
)  # fmt: skip
def test_fates(key: int, version: int, release: str, fate: Fate) -> None:
    assert verdict(key, version, resolve(release)).fate is fate
