"""The laboratory of faults: what it recorded is whole, and `why` finds what was injected."""

import json
import re
import socket

import pytest

from captures.faults.fault import ASIDE, VARIANTS, catalogue
from captures.faults.recording import RECORDED, Row
from captures.faults.score import outcomes, placed, table
from kdissect.cli import COMMANDS
from kdissect.model.native import is_compiled

ASIDE_FOLDER = RECORDED.with_name("aside")
TRUTHS = sorted(path for folder in (RECORDED, ASIDE_FOLDER) for path in folder.glob("*.fault.json"))
BYTES_IN_ALL = 12_000_000
_PLACES = re.compile(r"/(?:root|home|Users|tmp|work|mnt)/[\w.-]+")
_SAMPLE = ("member-crashed-1", "throttled-requests-2", "topic-denied-1", "tiny-batches+unknown-topic-1")
needs_why = pytest.mark.skipif("why" not in COMMANDS, reason="this kdissect has no command `why`")


def test_every_fault_is_recorded_in_every_variant() -> None:
    for folder, variants in ((RECORDED, [one for one in VARIANTS if one != ASIDE]), (ASIDE_FOLDER, [ASIDE])):
        there = {path.name.removesuffix(".fault.json") for path in folder.glob("*.fault.json")}
        assert there == {f"{name}-{variant}" for name in catalogue() for variant in variants}
    singles = [fault for fault in catalogue().values() if len(fault.causes) == 1]
    assert len(singles) >= 36
    assert len(catalogue()) - len(singles) >= 6


def test_a_truth_tells_what_was_done_to_whom_and_since_when() -> None:
    for path in TRUTHS:
        text = path.read_text()
        truth = json.loads(text)
        assert path.with_name(path.name.replace(".fault.json", ".pcapng.gz")).stat().st_size < 200_000, path
        assert truth["beside"] == ["shop", "mailer"]
        assert all(each["what"] and each["since"].endswith("Z") for each in truth["injected"]), path
        assert len(truth["injected"]) >= len(truth["causes"]), path
        assert not _PLACES.search(text), path
        host = socket.gethostname()
        assert len(host) < 6 or host not in text, path


def test_recorded_faults_are_small() -> None:
    files = [path for folder in (RECORDED, ASIDE_FOLDER) for path in folder.glob("*")]
    assert sum(path.stat().st_size for path in files) < BYTES_IN_ALL


def said(*ids: str, who: str = "") -> list[Row]:
    return [{"id": each, "who": who, "parties": []} for each in ids]


def test_places_of_causes() -> None:
    whom = [{"who": {"client_id": "pack-2", "broker": 1}}]
    truth = {"fault": "both", "variant": 1, "causes": ["b", "d"], "also": ["a"], "injected": whom}
    assert placed(truth, said("a", "c", "d", "x", "b")).ranks == (4, 2)
    found = placed(truth, said("a", "c", "d"))
    assert (found.ranks, found.is_named, found.is_first, found.is_among) == ((0, 2), False, False, False)
    single = truth | {"fault": "one", "causes": ["c"]}
    one = placed(single, said("a", "c", who="client 'pack-2'"))
    assert (one.ranks, one.is_first, one.is_among, one.names_who) == ((1,), True, True, True)
    assert placed(single, said("c", who="client 'shop'")).names_who is False
    assert placed(single | {"injected": []}, said("c")).names_who is None
    lines = table([found, one, placed(single | {"variant": 2}, said("x"))])
    assert any(re.fullmatch(r"one +1: 1, 2: - +x", line) for line in lines.splitlines())
    assert re.search(r"among the first 3 +1 of +2  50 %", lines)
    assert re.search(r"with whom, where named +1 of +1  100 %", lines)
    assert re.search(r"both named +0 of +1  0 %", lines)


@needs_why
def test_why_names_what_was_injected() -> None:
    found = outcomes(RECORDED, _SAMPLE)
    assert len(found) == len(_SAMPLE)
    assert all(one.is_among for one in found), table(found)


@needs_why
@pytest.mark.exhaustive
@pytest.mark.skipif(
    not is_compiled, reason="the score of 62 captures takes minutes without the compiled part"
)
def test_the_score_of_those_kept_aside() -> None:
    found = outcomes(ASIDE_FOLDER)
    singles = [one for one in found if len(one.causes) == 1]
    assert _share([one.is_among for one in singles]) >= 0.9, table(found)
    assert _share([one.is_first for one in singles]) >= 0.75, table(found)
    pairs = [one for one in found if len(one.causes) > 1]
    assert _share([one.is_named for one in pairs]) >= 0.8, table(found)


def _share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)
