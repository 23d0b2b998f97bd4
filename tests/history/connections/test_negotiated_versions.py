"""ApiVersions offered against versions used."""

import pytest

from kdissect.history.connections.negotiated_versions import NegotiatedVersions, VersionFact
from tests.history.talk import Talk, brief, feed, kinds
from tests.support.messages.frames import with_data

API_VERSIONS, METADATA, PRODUCE = 18, 3, 0
SOFTWARE = {"client_software_name": "test", "client_software_version": "1.0"}


def offer(**ranges: tuple[int, int]) -> dict[str, object]:
    rows = [
        {"api_key": int(key[1:]), "min_version": low, "max_version": high}
        for key, (low, high) in ranges.items()
    ]
    return {"error_code": 0, "api_keys": rows}


def test_use_within_and_outside_the_offer() -> None:
    talk, machine = Talk(), NegotiatedVersions()
    facts = feed(
        machine,
        talk.ask(API_VERSIONS, 3, SOFTWARE, offer(k18=(0, 4), k3=(4, 13))),
        talk.ask(METADATA, 13, {"topics": []}, {}),
        talk.ask(METADATA, 1, {"topics": []}, {}),
        talk.ask(10, 0, {"key": "g"}, {}),
    )
    assert kinds(facts) == ["offered", "outside", "not_offered"]
    assert (facts[1].expected, facts[1].seen, facts[1].evidence.ordinal) == ((4, 13), 1, 2)
    assert facts[1].earlier is not None and facts[1].earlier.ordinal == 0
    assert facts[2].seen == 10
    (known,) = machine.connections
    assert known.software == ("test", "1.0")
    assert known.allows(METADATA, 13)


def test_fallback_offers_nothing_but_what_to_ask_in() -> None:
    talk, machine = Talk(), NegotiatedVersions()
    refusal = {"error_code": 35, "api_keys": [{"api_key": 18, "min_version": 0, "max_version": 4}]}
    facts = feed(
        machine,
        talk.ask(API_VERSIONS, 5, SOFTWARE, refusal, answer_version=0),
        talk.ask(API_VERSIONS, 4, SOFTWARE, offer(k18=(0, 4))),
        talk.ask(METADATA, 4, {}, {}),
    )
    assert kinds(facts) == ["fallback", "retried", "offered", "not_offered"]
    assert (facts[1].expected, facts[1].seen) == ((0, 4), 4)


def test_requests_before_an_offer_are_not_compared() -> None:
    talk, machine = Talk(), NegotiatedVersions()
    facts = feed(machine, talk.ask(METADATA, 13, {"topics": []}, {}), talk.ask(METADATA, 1, {}, {}))
    assert kinds(facts) == [VersionFact.NOT_ASKED]


def test_a_middle_start_says_nothing_of_the_first_request() -> None:
    talk = Talk()
    talk.info.middle_start = True
    assert not feed(NegotiatedVersions(), talk.ask(METADATA, 13, {"topics": []}, {}))


@pytest.mark.parametrize(("top", "low"), [(11, 0), (12, 3)])
def test_the_sham_minimum_of_produce(top: int, low: int) -> None:
    talk, machine = Talk(), NegotiatedVersions()
    facts = feed(
        machine,
        talk.ask(API_VERSIONS, 0, {}, offer(k18=(0, 4), k0=(0, top))),
        talk.ask(PRODUCE, 2, {"acks": 1}, {}),
    )
    assert brief(facts[1:]) == ([] if low == 0 else [("outside", (3, 12), 2)])


def test_an_answer_that_does_not_fit_offers_nothing() -> None:
    talk, machine = Talk(), NegotiatedVersions()
    broken = talk.ask(API_VERSIONS, 3, SOFTWARE, offer(k18=(0, 4)))
    assert broken.response is not None
    data = broken.response.data + b"\0\0"
    broken.response = with_data(broken.response, data, len(data))
    assert not feed(machine, broken)
    assert not feed(machine, talk.ask(METADATA, 13, {"topics": []}, {}))
