"""`kdissect record` on finished captures: time is that of the packets."""

import gzip
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from captures.faults.recording import RECORDED, page_of
from kdissect.capture.files import open_captures
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.cli import main
from kdissect.model.packets.packet import Packet
from kdissect.recorder import flight_recorder
from kdissect.recorder.flight_recorder import FlightRecorder
from kdissect.recorder.folder import Folder
from kdissect.recorder.watch import Watch
from tests.support.console import CAPTURES, run
from tests.support.messages.planted import PLANTED, needles, planted

REFUSED = RECORDED / "login-refused-1.pcapng.gz"
HEALTHY = CAPTURES / "kafka44_rdkafka_groups.pcapng"
FILES = {"capture.pcapng", "why.json", "why.md", "why.html", "check.json", "check.md", "incident.json"}


def recorded(folder: Path, *arguments: object) -> int:
    return main(["record", *map(str, arguments), "-d", str(folder)])


def incidents(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    found = sorted(folder.glob("incidents/*/incident.json"))
    assert len(found) == len(list((folder / "incidents").iterdir()))
    return [(path.parent, json.loads(path.read_text())) for path in found]


def page_bytes(capture: Path) -> bytes:
    return json.dumps(page_of(capture)).encode()


def test_the_incident_file_alone_names_the_cause(tmp_path: Path) -> None:
    assert recorded(tmp_path, REFUSED) == 0
    ((path, row),) = incidents(tmp_path)
    assert {one.name for one in path.iterdir()} == FILES
    assert page_of(path / "capture.pcapng")["causes"][0]["id"] == "login-refused"
    assert json.loads((path / "why.json").read_text())["causes"][0]["id"] == "login-refused"
    assert (row["causes"], row["packets"] > 0, row["problems"][0]["name"]) == (
        ["login-refused"], True, "login-refused",
    )  # fmt: skip
    for one in (tmp_path, *tmp_path.rglob("*")):
        assert stat.S_IMODE(one.stat().st_mode) == (0o700 if one.is_dir() else 0o600) or one == tmp_path


def test_the_modes_of_other_files_of_the_process_stay(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        recorded(tmp_path / "kept", HEALTHY)
        (tmp_path / "after").touch()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "after").stat().st_mode) == 0o644


def test_healthy_traffic_has_no_incident(tmp_path: Path) -> None:
    assert recorded(tmp_path, HEALTHY) == 0
    assert incidents(tmp_path) == []


def test_only_packets_before_and_after(tmp_path: Path) -> None:
    recorded(
        tmp_path, REFUSED, "--when", "api == SaslAuthenticate and errors", "--before", "2s", "--after", "1s"
    )
    found = incidents(tmp_path)
    assert found
    for path, row in found:
        (begin, end), *_ = row["spans"]
        assert begin <= row["first_packet"] <= row["last_packet"] <= end
        assert row["problems"][0]["kind"] == "filter"
        assert "login-refused" in [one["id"] for one in page_of(path / "capture.pcapng")["causes"]]


def test_a_rule_is_a_condition(tmp_path: Path) -> None:
    capture = next(CAPTURES.glob("kafka44_segmentio_groups.pcapng*"))
    assert main(["check", str(capture), "--format", "json", "-o", str(tmp_path / "check.json")]) in (0, 1)
    code = json.loads((tmp_path / "check.json").read_text())["findings"][0]["code"]
    recorded(tmp_path / "r", capture, "--when", code)
    ((path, row),) = incidents(tmp_path / "r")
    assert {one["name"] for one in row["problems"]} == {code}
    assert code in {one["code"] for one in json.loads((path / "check.json").read_text())["findings"]}


def test_secrets_of_tls_come_along(tmp_path: Path) -> None:
    capture = CAPTURES / "kafka44_java_tls13.pcapng"
    keys = capture.with_suffix(".keys")
    recorded(tmp_path, capture, "--keylog", keys, "--when", "api == Produce")
    ((path, _),) = incidents(tmp_path)
    main(
        ["inspect", str(path / "capture.pcapng"), "-Y", "api == Produce", "-o", str(tmp_path / "of_incident")]
    )
    assert (tmp_path / "of_incident").stat().st_size
    own = (path / "capture.pcapng").read_bytes()
    assert any(line.split()[2].encode() in own for line in keys.read_text().splitlines())


def test_redacted_incidents_have_no_names(tmp_path: Path) -> None:
    assert b"vault" in page_bytes(REFUSED)
    recorded(tmp_path, REFUSED, "--redact=names", "--when", "cause", "--when", "client_id == vault")
    ((path, row),) = incidents(tmp_path)
    assert row["redacted"] == "names"
    assert {one.name for one in path.iterdir()} == FILES
    assert b"vault" not in b"".join(one.read_bytes() for one in path.iterdir())
    assert {problem["kind"] for problem in row["problems"]} == {"cause", "filter"}


def test_no_file_has_a_secret_but_the_packets(tmp_path: Path) -> None:
    capture = planted(tmp_path / "secrets.pcap")
    for folder, level in ((tmp_path / "whole", ()), (tmp_path / "redacted", ("--redact",))):
        recorded(folder, capture, "--when", "api == SaslAuthenticate", *level)
        ((path, _),) = incidents(folder)
        for one in path.iterdir():
            if level or one.name != "capture.pcapng":
                data = one.read_bytes()
                assert not any(needle in data for secret in PLANTED for needle in needles(secret)), one


def test_an_analysis_that_begins_again_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Watch] = []
    real = Watch.run
    monkeypatch.setattr(Watch, "run", lambda self: (made.append(self), real(self))[1])
    monkeypatch.setattr(flight_recorder, "_ANALYSIS_S", 0.0)
    monkeypatch.setattr(flight_recorder, "_ANALYSIS_PARTS", 1)
    recorded(tmp_path, REFUSED, "--keep", "40s", "--before", "4s", "--after", "4s")
    assert len(made) > 1
    found = incidents(tmp_path)
    assert {problem["name"] for _, row in found for problem in row["problems"]} == {"login-refused"}


def test_an_incident_of_a_killed_recorder_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_self: FlightRecorder) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FlightRecorder, "_finish", die)
        assert recorded(tmp_path, REFUSED) == 130
    assert incidents(tmp_path) == []
    (tmp_path / "incidents" / "old.4194305.part").mkdir()  # what a killed process was writing
    assert recorded(tmp_path, HEALTHY) == 0
    ((_, row),) = incidents(tmp_path)
    assert (row["causes"], row["problems"][0]["name"]) == (["login-refused"], "login-refused")


def test_standard_input_has_the_clock_of_its_packets(tmp_path: Path) -> None:
    ran = run("record", "-", "-d", tmp_path, stdin=gzip.decompress(REFUSED.read_bytes()))
    assert (ran.code, "clock was set" in ran.err) == (0, False)
    ((_, row),) = incidents(tmp_path)
    assert (row["causes"], row["opened"][:13]) == (["login-refused"], "2026-11-24T13")


@pytest.mark.parametrize("is_stream", [False, True], ids=["file", "standard input"])
def test_a_clock_of_packets_that_is_set_back_is_the_clock(tmp_path: Path, is_stream: bool) -> None:
    """The last refused logins come an hour before the first ones."""
    moved = tmp_path / "moved.pcapng"
    captures = open_captures([REFUSED])
    packets = [Packet._make(packet) for batch in captures.batches() for packet in batch]
    with PacketFile(str(moved)) as file:
        for number, packet in enumerate(packets):
            set_by_ns = 3_600_000_000_000 if number >= 200 else 0
            file.write(packet._replace(time_ns=packet.time_ns - set_by_ns))
    source, data = ("-", moved.read_bytes()) if is_stream else (str(moved), None)
    ran = run("record", source, "-d", tmp_path / "r", "--before", "20s", "--after", "5s", stdin=data)
    ((path, row),) = incidents(tmp_path / "r")
    assert "the clock was set by -3" in ran.err or is_stream  # all may come at once
    assert row["problems"][0]["name"] == "login-refused"
    assert page_of(path / "capture.pcapng")["causes"][0]["id"] == "login-refused"


def test_a_mark_makes_an_incident(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    folder.mark("deployment of v2")
    recorded(tmp_path, HEALTHY)
    ((path, row),) = incidents(tmp_path)
    assert (row["problems"][0]["kind"], row["problems"][0]["sentence"]) == ("mark", "deployment of v2")
    assert row["packets"]
    assert (path / "why.md").read_text()


def test_the_list_is_markdown_or_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, REFUSED)
    capfd.readouterr()
    assert main(["record", "list", str(tmp_path)]) == 0
    ((_, row),) = incidents(tmp_path)
    text = capfd.readouterr().out
    assert f"| {row['id']} | The broker refuses the login |" in text
    assert text.endswith("\n1 incident.\n")
    assert main(["record", "list", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["incidents"] == [row]
    assert main(["record", "list", str(tmp_path / "none")]) == 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-d", "DIR"], "name one source"),
        (["f.pcap", "-"], "required: -d"),
        (["-i", "lo", "f.pcap", "-d", "DIR"], "name one source"),
        (["f.pcap", "-d", "DIR", "--keep", "1m", "--before", "50s", "--after", "20s"], "is shorter than"),
        (["f.pcap", "-d", "DIR", "--keep", "1MB"], "at least 8MiB"),
        (["f.pcap", "-d", "DIR", "--when", "slow-brokr"], "is no condition"),
    ],
)
def test_wrong_usage_has_a_reason(
    tmp_path: Path, arguments: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", *(word.replace("DIR", str(tmp_path)) for word in arguments)]) == 2
    assert why in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_two_recorders_do_not_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kdissect.recorder.folder._LOCK_S", 0.0)
    folder = Folder(str(tmp_path))
    folder.open()
    assert recorded(tmp_path, HEALTHY) == 3
    assert "another recorder uses this folder" in capfd.readouterr().err


def test_a_mark_needs_a_recorder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "mark", str(tmp_path), "now"]) == 3
    assert "no recorder runs here" in capfd.readouterr().err
