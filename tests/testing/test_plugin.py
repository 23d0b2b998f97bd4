"""The pytest plugin, in a test run of its own: what passes, what fails, and what is said.

One run for all cases: pytester forgets every module behind a run, and the rules take a while to load.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kdissect.capture.live import programs as choose
from kdissect.capture.live.programs import PROGRAMS
from kdissect.cli import main
from tests.support.console import CAPTURES, CHECKOUT

pytest_plugins = ("pytester",)

ACKS = CAPTURES / "tansu_rdk216_acks.pcap"  # FRM006 by the client, PAI004 by the broker
CLEAN = CAPTURES / "tansu_kp3_groups.pcap"
HEAD = f"""
import pytest

ACKS = {str(ACKS)!r}
CLEAN = {str(CLEAN)!r}

def marked(**options):
    return pytest.mark.kafka_wire(**options)
"""


class Case(NamedTuple):
    """A test: its marker, its body, and the outcomes of setup, call and teardown."""

    body: str
    outcome: str
    marker: str = ""


PASSED, AT_THE_END, IN_THE_TEST, BEFORE = "ppp", "ppf", "pff", "f p"
CASES = {
    "clean": Case("kafka_wire.capture(CLEAN)", PASSED),
    "findings": Case("kafka_wire.capture(ACKS)", AT_THE_END),
    "now": Case("kafka_wire.capture(ACKS).check()", IN_THE_TEST),
    "ignored": Case("kafka_wire.capture(ACKS)", PASSED, "marked(ignore=['FRM', 'PAI'])"),
    "selected": Case("kafka_wire.capture(ACKS)", PASSED, "marked(select='GRP')"),
    "client": Case("kafka_wire.capture(ACKS)", PASSED, "marked(judge='client', ignore='FRM006')"),
    "broker": Case("kafka_wire.capture(ACKS)", AT_THE_END, "marked(judge='broker')"),
    "never": Case("kafka_wire.capture(ACKS)", PASSED, "marked(fail_on='never')"),
    "sometimes": Case("pass", BEFORE, "marked(fail_on='sometimes')"),
    "misspelled": Case("pass", BEFORE, "marked(prot=9092)"),
    "nameless": Case("pass", BEFORE, "pytest.mark.kafka_wire(9092)"),
    "looking": Case(
        "kafka_wire.capture(ACKS)\n"
        "    assert len(kafka_wire.exchanges()) == 51\n"
        "    codes = {finding.code for finding in kafka_wire.findings}\n"
        "    assert codes == {'FRM006', 'PAI004', 'PAI009', 'BDY012'}\n"
        "    assert 'rules had something to judge' in kafka_wire.report()",
        PASSED,
        "marked(fail_on='never')",
    ),
    "nothing": Case("pass", AT_THE_END),
    "missing": Case("kafka_wire.capture('missing.pcap')", AT_THE_END),
}


class Run(NamedTuple):
    """The outcomes of each test, and what it says."""

    outcomes: dict[str, str]
    texts: dict[str, str]


def ran(pytester: pytest.Pytester, cases: dict[str, Case], *arguments: str) -> Run:
    """Run tests with the plugin."""
    module = HEAD
    for name, case in cases.items():
        mark = f"@{case.marker}\n" if case.marker else ""
        module += f"\n{mark}def test_{name}(kafka_wire):\n    {case.body}\n"
    pytester.makepyfile(module)
    record = pytester.inline_run(
        "-p", "kdissect.testing", "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments
    )
    outcomes = {name: {"setup": " ", "call": " ", "teardown": " "} for name in cases}
    texts = dict.fromkeys(cases, "")
    for report in record.getreports("pytest_runtest_logreport"):
        name = report.nodeid.rpartition("::test_")[2]
        outcomes[name][str(report.when)] = report.outcome[0]
        texts[name] += report.longreprtext
    return Run({name: "".join(found.values()) for name, found in outcomes.items()}, texts)


def test_what_passes_and_what_fails(pytester: pytest.Pytester) -> None:
    run = ran(pytester, CASES)
    assert run.outcomes == {name: case.outcome for name, case in CASES.items()}
    assert run.texts["findings"].startswith(
        "kafka_wire: 2 findings in 51 exchanges\n\nFRM006 trailing-bytes  error, must, malformed\n"
    )
    assert "PAI004 acks0-response" in run.texts["findings"]
    assert "BDY012" not in run.texts["findings"]  # information fails nothing
    assert "fail_on is 'error' or 'warning' or 'never', not 'sometimes'" in run.texts["sometimes"]
    assert "unexpected keyword argument 'prot'" in run.texts["misspelled"]
    assert "the arguments of kafka_wire have names" in run.texts["nameless"]
    assert run.texts["nothing"].startswith("kafka_wire had no traffic to judge: mark the test with")
    assert run.texts["missing"] == "kafka_wire cannot read missing.pcap: No such file or directory"


def test_the_configuration_of_the_project_holds(pytester: pytest.Pytester) -> None:
    config = pytester.path / "kdissect.toml"
    config.write_text("ignore = ['PAI004']\n[[suppress]]\nrule = 'FRM006'\nreason = 'known'\n")
    plain, asked = Case("kafka_wire.capture(ACKS)", PASSED), "marked(select='PAI004')"
    cases = {"plain": plain, "asked": Case("kafka_wire.capture(ACKS)", AT_THE_END, asked)}
    assert ran(pytester, cases).outcomes == {"plain": PASSED, "asked": AT_THE_END}
    config.write_text("baseline = 'known.json'\n")
    known = pytester.path / "known.json"
    report = str(pytester.path / "report.txt")
    assert main(["check", str(ACKS), "--write-baseline", str(known), "-o", report]) == 0
    assert ran(pytester, {"plain": plain}).outcomes == {"plain": PASSED}
    known.unlink()
    assert "kdissect.toml:1: " in ran(pytester, {"plain": plain}).texts["plain"]
    config.write_text("strict = 'yes'\n")
    run = ran(pytester, {"plain": plain})
    assert run.outcomes == {"plain": BEFORE}
    assert "kdissect.toml:1: 'strict' is no bool" in run.texts["plain"]


def test_where_nothing_can_record_the_test_is_skipped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the marker or the test asks for it: once, with the reason, and without a word at the end."""
    why = "echo 'dumpcap: permission denied' >&2; echo 'and then restarting Wireshark.' >&2; exit 1"
    refusing = {
        name: program._replace(command=lambda _: ["sh", "-c", why]) for name, program in PROGRAMS.items()
    }
    monkeypatch.setattr(choose, "PROGRAMS", refusing)
    reason = f"kafka_wire cannot record: no permission to capture: {choose.how_to_grant()}"
    cases = {
        "live": Case("pass", "s p", "marked(port=9092)"),
        "later": Case("kafka_wire.record(9092)", "psp"),
        "both": Case("kafka_wire.capture(ACKS)\n    kafka_wire.record(9092)", "psp"),
    }
    run = ran(pytester, cases)
    assert run.outcomes == {name: case.outcome for name, case in cases.items()}
    for text in run.texts.values():
        assert text.count(reason) == 1
        assert "Wireshark." not in text
    run = ran(pytester, cases, "-o", "kafka_wire_required=true")
    assert run.outcomes == {"live": "f p", "later": "pfp", "both": "pfp"}
    assert all(text.startswith(reason) for text in run.texts.values())


@pytest.mark.exhaustive
def test_a_run_without_the_fixture_loads_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, pytest\n"
        "pytest.main(['-q', '-p', 'kdissect.testing', '-p', 'no:cacheprovider', sys.argv[1]])\n"
        "print(sorted(name for name in sys.modules if name.startswith('kdissect.')))\n"
    )
    test = tmp_path / "test_plain.py"
    test.write_text("def test_it(): pass\n")
    ran = subprocess.run(
        [sys.executable, "-c", program, str(test)], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "['kdissect.testing']"
