"""What real software did with faults stands in the pages of the rules it is about."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from captures.replay import faults_of_brokers, faults_of_clients
from captures.replay.tape import BROKER, CLIENT, Tape, reported
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.rules.pages import rule_markdown, rule_text
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.replays import TABLE, read_replays, replays_text
from tests.support.console import CHECKOUT

FAULTS = [(fault.code, fault.says) for fault in (*faults_of_clients.FAULTS, *faults_of_brokers.FAULTS)]


def test_each_is_a_fault_that_can_be_played_again() -> None:
    assert {(replay.code, replay.fault) for replay in read_replays()} <= set(FAULTS)
    assert len(set(FAULTS)) == len(FAULTS)


def test_each_stands_in_the_page_of_its_rule() -> None:
    rules = {rule.code: rule for rule in ALL_RULES}
    for replay in read_replays():
        told = rule_markdown(rules[replay.code])
        assert f"| {replay.fault} | {replay.software} | {replay.did} |" in told
        assert f"{replay.fault}; {replay.software}: {replay.did}" in rule_text(rules[replay.code])


def test_the_table_is_as_it_is_written() -> None:
    assert TABLE.read_text() == replays_text(read_replays())


def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "captures.replay"]
    surroundings = {"PATH": str(tmp_path), "KDISSECT_RECORD_HOME": str(tmp_path)}
    ran = subprocess.run(command, cwd=CHECKOUT, env=surroundings, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert " is not installed: needed to " in ran.stderr


@pytest.mark.parametrize("epoch", [-5, 0])
def test_the_tape_shows_what_check_reports(epoch: int) -> None:
    tape = Tape()
    wires = [tape.connection(), tape.connection()]
    for number, wire in enumerate(wires):
        wire.say(CLIENT, encode_request(12, 4, 1, "replay", {"generation_id": epoch if number else 0}))
        wire.say(BROKER, encode_response(12, 4, 1, {"error_code": 25}))
        wire.end(CLIENT)
    packets = tape.packets()
    assert ("BDY029" in reported(packets)) is (epoch < 0)
    assert [packet.time_ns for packet in packets] == sorted(packet.time_ns for packet in packets)


def test_a_field_is_set_wherever_its_path_leads_but_beside_an_error() -> None:
    rows = [SimpleNamespace(error_code=code, leader_epoch=3) for code in (0, 6, 0)]
    answer = SimpleNamespace(topics=[SimpleNamespace(partitions=rows), SimpleNamespace(partitions=None)])
    assert faults_of_brokers.sets("topics.partitions.leader_epoch", -7)(answer, None)
    assert [row.leader_epoch for row in rows] == [-7, 3, -7]
    assert not faults_of_brokers.sets("topics.partitions.no_such", -7)(answer, None)
    assert not faults_of_brokers.sets("topics.none.leader_epoch", -7)(answer, None)
