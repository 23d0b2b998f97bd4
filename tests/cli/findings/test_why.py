"""The options of `kdissect why`."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.diagnostics import UNREADABLE, USAGE
from tests.causes.diagnosing import capture
from tests.support.console import CHECKOUT, TXN

ERRORS = capture("kafka44_java_errors")


def page(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["why", *arguments, "--format", "json", "--all"]) == 0
    return json.loads(capfd.readouterr().out)


def test_a_filter_that_takes_all_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert page(capfd, ERRORS, "-Y", "number > 0")["causes"] == page(capfd, ERRORS)["causes"]


def test_a_filter_leaves_what_its_exchanges_show(capfd: pytest.CaptureFixture[str]) -> None:
    found = page(capfd, ERRORS, "-Y", "error == MESSAGE_TOO_LARGE")["causes"]
    assert [cause["id"] for cause in found] == ["message-too-large"]


def test_only_what_concerns_them(capfd: pytest.CaptureFixture[str]) -> None:
    found = page(capfd, ERRORS, "--client", "mallory-*", "--topic", "plain")["causes"]
    assert {cause["id"] for cause in found} == {"topic-denied", "cluster-denied"} & {
        cause["id"] for cause in found
    }
    assert found
    assert page(capfd, ERRORS, "--group", "nobody")["causes"] == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_formats_have_the_same_causes(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    causes = page(capfd, ERRORS)["causes"]
    assert main(["why", ERRORS, "--format", form, "--all"]) == 0
    out = capfd.readouterr().out
    assert all(cause["id"] in out and cause["title"] in unescape(out) for cause in causes)


def test_a_dozen_unless_all_are_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    everything = page(capfd, ERRORS)["causes"]
    assert main(["why", ERRORS, "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["causes"] == everything[:12]
    assert shown["causes_left_out"] == len(everything) - len(shown["causes"])


def test_of_a_file_that_ends_early_nothing_is_called_right(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(Path(capture("kafka44_java_produce")).read_bytes()[:-30_000])
    assert main(["why", str(cut)]) == UNREADABLE
    out, err = capfd.readouterr()
    assert out.startswith(f"no cause of trouble in what could be read: {cut} could not be read to the end")
    assert "ends inside a block" in err
    cut.write_bytes(Path(capture("kafka44_java_refused")).read_bytes()[:-3_000])
    assert main(["why", str(cut)]) == UNREADABLE
    assert capfd.readouterr().out.startswith(f"1 cause of trouble in what could be read of {cut}, the worst")


def test_nothing_wrong_says_what_was_looked_at(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", capture("kafka44_rdkafka_groups")]) == 0
    out = capfd.readouterr().out
    assert out.startswith("nothing wrong was found")
    assert "looked at" in out
    assert main(["why", TXN, "--json"]) == 0


def test_explain_lists_what_is_for_and_against_a_cause(capfd: pytest.CaptureFixture[str]) -> None:
    cases = CHECKOUT / "tests" / "causes" / "cases"
    assert main(["why", "--explain", "slow-network", str(cases / "no_bare_acks.pcap.gz")]) == 0
    page = capfd.readouterr().out
    assert "not printed" in page
    assert "no handshake in the capture shows a round trip" in page
    assert main(["why", "--explain", "requests-fail", str(cases / "e_rf.pcapng.gz")]) == 0
    page = capfd.readouterr().out
    assert "printed 1 time" in page
    assert "266 of 266 CreateTopics" in page


def test_explain_refuses_what_is_no_cause(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--explain", "no-such-cause", capture("kafka44_java_refused")]) == USAGE
    assert "there is no cause 'no-such-cause'" in capfd.readouterr().err
