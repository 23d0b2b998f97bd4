"""What `live` and `-i` refuse, and packets from standard input: no network, no privilege."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.capture.live import libpcap
from kdissect.capture.live.libpcap import library
from kdissect.capture.live.live_settings import MissingError, Ring
from kdissect.capture.live.scapy_handle import ScapyHandle
from kdissect.cli import main
from kdissect.cli.options.command_parser import ParserShownError
from kdissect.cli.options.live.live_options import settings_of
from kdissect.model.extras import how_to_install
from tests.support.console import CAPTURES, TXN, command, run

GROUPS = CAPTURES / "kafka44_java_groups.pcapng"
TLS = CAPTURES / "kafka44_java_tls13.pcapng"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("live", "x.pcap"), "inspect reads files"),
        (("live", "-", "-i", "lo"), "not from both"),
        (("live", "-", "-f", "tcp"), "whoever writes standard input"),
        (("live", "--rotate-size", "1MB"), "need -w FILE"),
        (("live", "-w", "x", "--keep", "3"), "--keep needs"),
        (("live", "-w", "-"), "not a regular file"),
        (("live", "-w", "/dev/stdout"), "not a regular file"),
        (("live", "--rotate-size", "1 parsec"), "is no size"),
        (("live", "--duration", "soon"), "is no time"),
        (("live", "--duration", "0"), "is no time"),
        (("live", "--snaplen", "0"), "no number above 0"),
        (("live", "--buffer-size", "4096"), "at most 2047 MiB"),
        (("live", "--format", "table", "--bodies"), "no room for bodies"),
        (("stats",), "PATH, or -i INTERFACE"),
        (("stats", TXN, "-i", "lo"), "does not go with files"),
        (("check", TXN, "-w", "x"), "-w needs -i"),
        (("topics", TXN, "-f", "tcp"), "-f needs -i"),
        (("stats", "-i", "lo", "-Y", "has finding"), "reads its inputs twice"),
    ],
)
def test_what_makes_no_sense(
    arguments: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capfd.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_filter_that_libpcap_does_not_understand(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        library()
    except MissingError as error:
        pytest.skip(str(error))
    assert main(["live", "-i", "lo", "-f", "tcp prt 9092"]) == 2
    captured = capfd.readouterr()
    assert captured.err.startswith("kdissect: capture filter 'tcp prt 9092': ")
    assert "syntax error" in captured.err
    assert captured.out == ""


@pytest.fixture
def _no_libpcap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(libpcap, "_NAMES", {sys.platform: ("no-such-library",)})
    library.cache_clear()
    yield
    library.cache_clear()


@pytest.mark.usefixtures("_no_libpcap")
def test_without_libpcap(capfd: pytest.CaptureFixture[str]) -> None:
    """What needs it says so; scapy's sockets need it for a filter alone."""
    assert main(["live", "-D"]) == 3
    assert capfd.readouterr().err == "kdissect: libpcap is not installed\n"
    wishes = {"promiscuous": False, "snaplen": 96, "buffer_mib": 1}
    with pytest.raises(MissingError, match=r"needs libpcap for a capture filter \(-f\): libpcap is not"):
        ScapyHandle("lo", "tcp", **wishes)


def test_without_scapy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scapy.arch.linux", None)
    with pytest.raises(MissingError) as caught:
        ScapyHandle("lo", "", promiscuous=False, snaplen=96, buffer_mib=1)
    assert str(caught.value) == f"scapy is not installed: {how_to_install('live-scapy')}"


def test_options_become_settings() -> None:
    with pytest.raises(ParserShownError) as shown:
        main(["live", "--show-parser"])
    words = (
        "-i lo -i eth0 -f tcp -w x.pcapng --rotate-size 1.5MiB --rotate-time 10m --keep 4 --duration 1h "
        "--source tcpdump --promiscuous --snaplen 96 --buffer-size 8"
    )
    settings = settings_of(None, shown.value.parser.parse_args(words.split()))
    assert settings[:6] == (("lo", "eth0"), "tcp", "tcpdump", True, 96, 8)
    assert settings.ring == Ring(3 << 19, 600.0, 4)
    assert (settings.path, settings.duration) == ("x.pcapng", 3600.0)
    assert "interfaces: lo, eth0; capture filter: tcp; source: x" in settings.comment("x")


@pytest.mark.parametrize("capture", [GROUPS, Path(TXN)], ids=["pcapng", "pcap"])
def test_standard_input(capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "f.pcapng"
    ran = run("live", "-", "-w", path, "--format", "jsonl", stdin=capture.read_bytes())
    assert ran.code == 0
    assert ran.out == run("inspect", path, "--format", "jsonl").out
    assert len(ran.out.splitlines()) == len(run("inspect", capture, "--format", "jsonl").out.splitlines())
    assert "capturing on standard input" in ran.err


def test_standard_input_without_a_file() -> None:
    ran = run("live", "-", stdin=GROUPS.read_bytes())
    assert (ran.code, ran.out) == (0, run("inspect", GROUPS).out)


@pytest.mark.skipif(sys.platform == "win32", reason="select knows no pipes there")
def test_lines_come_while_standard_input_is_open() -> None:
    with subprocess.Popen(
        command("live", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(GROUPS.read_bytes())
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(50)][-1].count(b"\t") > 5
        process.send_signal(2)
        assert process.wait() == 0  # although nobody closed it


def test_no_capture_on_standard_input() -> None:
    ran = run("live", "-", stdin=b"ssh: Could not resolve hostname\n")
    assert ran.code == 3
    assert "-: not a capture, but text" in ran.err


def test_drops_are_told(tmp_path: Path) -> None:
    from kdissect.capture.formats.capture_writer import PcapngWriter

    path = tmp_path / "in.pcapng"
    with path.open("wb") as out:
        writer = PcapngWriter(out)
        writer.interface()
        writer.write(1, bytes(60))
        writer.statistics(0, 12)
    ran = run("live", "-", stdin=path.read_bytes())
    assert ran.code == 0
    assert "1 packet captured (60 bytes), 12 dropped" in ran.err
    assert "warning: -: 12 packets were dropped while capturing" in ran.err
    assert "--buffer-size" in ran.err


def test_keys_that_come_while_it_runs(tmp_path: Path) -> None:
    data, keys = TLS.read_bytes(), TLS.with_suffix(".keys").read_bytes()
    log = tmp_path / "keys"
    log.touch()
    arguments = ("live", "-", "--keylog", log, "-w", tmp_path / "f.pcapng", "--format", "jsonl")
    with subprocess.Popen(
        command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(data[:3000])  # not all of the first handshake
        process.stdin.flush()
        log.write_bytes(keys)
        out, _ = process.communicate(data[3000:])
    later = run("inspect", tmp_path / "f.pcapng", "--keylog", log, "--format", "jsonl")
    assert out.decode() == later.out
    assert len(out.splitlines()) > 10
