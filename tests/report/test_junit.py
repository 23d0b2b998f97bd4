"""JUnit XML: valid by the XSD of Jenkins, a testcase for each rule and software."""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from lxml import etree

from kdissect.model.finding import Who
from kdissect.report.junit import report_junit
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.run_coverage.capture_quality import quality_of
from tests.report.third_party import junit_schema
from tests.report.verdicts import EVIL, NAMES, verdict_of, verdict_on


@cache
def schema() -> Any:
    return junit_schema()


def root_of(text: str) -> Any:
    root = etree.fromstring(text.encode())
    schema().assertValid(root)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.get("tests")) == len(cases)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.get("skipped")) == sum(case.find("skipped") is not None for case in cases)
    assert int(root.get("tests")) == sum(int(suite.get("tests")) for suite in root)
    return root


@pytest.mark.parametrize("name", NAMES)
def test_reports_are_valid_by_the_schema_of_jenkins(name: str) -> None:
    verdict = verdict_of(name)
    root = root_of(report_junit(verdict))
    names = [(suite.get("name"), case.get("name")) for suite in root for case in suite.findall("testcase")]
    assert max(Counter(names).values()) == 1
    text = "".join(root.itertext())
    assert all(finding.code in text for finding in verdict.findings)


def test_each_software_has_its_own_cases() -> None:
    root = root_of(report_junit(verdict_of("kafka44_rdkafka_admin.pcapng")))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites)[-1] == "broker"
    rdkafka = suites["client confluent-kafka-python 2.16.1-rdkafka-2.16.0"]
    franz = suites["client franz-go 1.22.2"]
    assert case(rdkafka, "FRM006").find("failure") is not None
    assert not len(case(franz, "FRM006"))
    assert case(franz, "PRD001").find("skipped") is not None  # franz-go only made users
    assert not len(case(rdkafka, "PRD001"))


def case(suite: Any, code: str) -> Any:
    (found,) = (one for one in suite.findall("testcase") if one.get("name").startswith(code))
    return found


def test_nothing_to_judge_is_skipped_once_for_each_end() -> None:
    judge = Judge()
    judge.finish()
    root = root_of(report_junit(Verdict(judge, quality_of(judge.coverage), ())))
    assert [suite.get("name") for suite in root] == ["client", "broker"]
    assert all(suite.get("skipped") == suite.get("tests") for suite in root)


def test_only_the_end_that_is_judged_has_cases() -> None:
    judge = Judge(judge=Who.BROKER)
    judge.finish()
    root = root_of(report_junit(Verdict(judge, quality_of(judge.coverage), ())))
    assert [suite.get("name") for suite in root] == ["broker"]


@pytest.mark.parametrize("text", EVIL)
def test_wire_values_stay_text(text: str) -> None:
    verdict = verdict_on(text)
    root = root_of(report_junit(verdict))
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "properties", "property", "failure", "skipped", "system-out",
    }  # fmt: skip
    failed = {case.get("name")[:6] for case in root.iter("testcase") if case.find("failure") is not None}
    assert failed == {finding.code for finding in verdict.findings if finding.severity == "error"}


def test_times_are_those_of_the_findings() -> None:
    verdict = verdict_of("tansu_rdk216_acks.pcap")
    root = root_of(report_junit(verdict))
    (finding,) = (one for one in verdict.findings if one.code == "PAI009")
    span = (finding.last_time_ns - finding.place.time_ns) / 1e9
    assert span > 0.01
    assert [one.get("time") for one in root.iter("testcase") if one.get("name").startswith("PAI009")].count(
        f"{span:.3f}"
    ) == 1
    for one in root:
        total = sum(float(case.get("time")) for case in one.iter("testcase"))
        assert float(one.get("time")) == pytest.approx(total, abs=0.01)  # they are rounded
    assert float(root.get("time")) == pytest.approx(sum(float(one.get("time")) for one in root), abs=0.01)
