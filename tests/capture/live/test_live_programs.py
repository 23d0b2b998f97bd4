"""Which program captures, how it is told to, and what its words mean."""

import json
import shutil

import pytest

from kdissect.capture.live import programs as choose
from kdissect.capture.live.live_settings import (
    BadFilterError,
    LiveError,
    LiveSettings,
    MissingError,
    NotPermittedError,
    Ring,
)
from kdissect.capture.live.programs import PROGRAMS, Program, error_of, first_that_works, lost_packets

SETTINGS = LiveSettings(("lo", "eth1"), "tcp port 9092")


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}")


def command(name: str, settings: LiveSettings) -> str:
    return " ".join(PROGRAMS[name].command(settings))


def test_dumpcap() -> None:
    assert command("dumpcap", SETTINGS) == (
        "/usr/bin/dumpcap -q -n -w - -s 262144 -B 64 -C 67108864 -p -f tcp port 9092 -i lo -i eth1"
    )
    kept = command("dumpcap", SETTINGS._replace(path="/x/f.pcapng", promiscuous=True))
    assert "-w /x/f.pcapng --capture-comment kdissect live; interfaces: lo, eth1; capture filter: tcp" in kept
    assert " -p " not in kept


def test_tcpdump() -> None:
    assert command("tcpdump", SETTINGS._replace(interfaces=("any",), snaplen=96)) == (
        "/usr/bin/tcpdump -n -U -w - --time-stamp-precision=nano -s 96 -B 65536 -p -i any -- tcp port 9092"
    )
    with pytest.raises(LiveError, match="one interface at a time"):
        command("tcpdump", SETTINGS)


def test_our_child_has_all_settings() -> None:
    settings = SETTINGS._replace(ring=Ring(5, 6, 7), path="f", source="libpcap")
    told = json.loads(PROGRAMS["libpcap"].command(settings)[-1])
    assert LiveSettings(**told)._replace(interfaces=settings.interfaces, ring=Ring(*told["ring"])) == settings


def test_a_program_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingError, match="dumpcap is not installed"):
        command("dumpcap", SETTINGS)


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (
            ["Capturing on 'lo'", 'dumpcap: You do not have permission to capture on device "lo".'],
            NotPermittedError,
            "You do not have permission",
        ),
        (["dumpcap: Invalid capture filter \"x y\" for interface 'lo'."], BadFilterError, "Invalid capture"),
        (["Capturing on 'nope'", 'dumpcap: There is no device named "nope".'], LiveError, "There is no"),
        (["tcpdump: lo: You don't have permission to perform this"], NotPermittedError, "lo: You"),
        (["tcpdump: can't parse filter expression: syntax error"], BadFilterError, "can't parse"),
        (["NotPermittedError: lo: Operation not permitted"], NotPermittedError, "lo: Operation"),
        (["Packets captured: 3"], LiveError, "ended without a word"),
        ([], LiveError, "ended without a word"),
    ],
)
def test_last_words(words: list[str], kind: type[LiveError], said: str) -> None:
    error = error_of("any", words)
    assert type(error) is kind
    assert str(error).startswith(said)


def test_what_tcpdump_lost() -> None:
    words = ["10 packets captured", "12 packets received by filter", "3 packets dropped by kernel",
             "1 packet dropped by interface"]  # fmt: skip
    assert lost_packets(words) == 4


def tried(settings: LiveSettings, errors: dict[str, LiveError]) -> tuple[list[str], str]:
    names: list[str] = []

    def start(program: Program) -> str:
        names.append(program.name)
        if program.name in errors:
            raise errors[program.name]
        return program.name

    return names, first_that_works(settings, start)


def test_what_is_written_is_written_by_dumpcap() -> None:
    assert tried(SETTINGS._replace(path="f"), {}) == (["dumpcap"], "dumpcap")
    assert tried(SETTINGS, {}) == (["libpcap"], "libpcap")
    assert tried(SETTINGS._replace(path="f", ring=Ring(bytes=1)), {})[1] == "libpcap"
    assert tried(SETTINGS._replace(source="tcpdump"), {})[1] == "tcpdump"


def test_the_next_one_is_tried() -> None:
    errors = {"libpcap": NotPermittedError("no"), "dumpcap": MissingError("none")}
    assert tried(SETTINGS, errors)[1] == "tcpdump"


def test_the_reason_that_can_be_mended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose.sys, "platform", "linux")
    errors: dict[str, LiveError] = {
        "libpcap": MissingError("libpcap"), "dumpcap": NotPermittedError("x"), "tcpdump": MissingError("t"),
        "scapy": MissingError("s"),
    }  # fmt: skip
    with pytest.raises(NotPermittedError, match=r"CAP_NET_RAW is missing: sudo setcap .*tcpdump -i lo"):
        tried(SETTINGS, errors)
    errors["dumpcap"] = LiveError("no such interface")
    with pytest.raises(LiveError, match="no such interface"):
        tried(SETTINGS, errors)


def test_a_bad_filter_is_bad_for_all() -> None:
    with pytest.raises(BadFilterError):
        tried(SETTINGS, {"libpcap": BadFilterError("syntax error")})
