"""SARIF: valid by the OASIS schema, stable from run to run, and pointing into the capture."""

import json
import re
from base64 import b64decode
from functools import cache
from typing import Any

import jsonschema
import pytest

from kdissect.model.packets.packet import ref_number
from kdissect.report.sarif import report_sarif, uri_of
from tests.report.third_party import sarif_schema
from tests.report.verdicts import EVIL, NAMES, verdict_of, verdict_on

# `[text](target)`, its brackets not escaped (SARIF 2.1.0, section 3.11.6)
LINK = re.compile(r"(?<!\\)(?:\\\\)*\]\(")


@cache
def validator() -> Any:
    return jsonschema.Draft4Validator(sarif_schema(), format_checker=jsonschema.FormatChecker())


def run_of(text: str) -> Any:
    log = json.loads(text)
    validator().validate(log)
    (run,) = log["runs"]
    return run


@pytest.mark.parametrize("name", NAMES)
def test_logs_are_valid_by_the_schema_of_oasis(name: str) -> None:
    verdict = verdict_of(name)
    run = run_of(report_sarif(verdict))
    assert len(run["results"]) == len(verdict.findings)
    rules = run["tool"]["driver"]["rules"]
    assert len(rules) == len(verdict.rules)
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"] and rule["helpUri"].startswith("https://")
        assert result["occurrenceCount"] >= 1
        assert {"claim", "who", "consequence"} <= set(result["properties"])
    marks = [result["partialFingerprints"]["kdissect/v1"] for result in run["results"]]
    assert len(set(marks)) == len(marks)
    assert {"capture_quality", "not_exercised", "inconclusive", "software"} <= set(run["properties"])


def test_bytes_stand_in_a_frame_that_is_nested_in_the_capture() -> None:
    run = run_of(report_sarif(verdict_of("kafka44_rdkafka_admin.pcapng")))
    result = run["results"][0]
    capture = run["artifacts"][result["locations"][0]["physicalLocation"]["artifactLocation"]["index"]]
    assert capture["location"]["uri"].endswith("/kafka44_rdkafka_admin.pcapng")
    assert len(capture["hashes"]["sha-256"]) == 64
    physical = result["relatedLocations"][0]["physicalLocation"]
    frame = run["artifacts"][physical["artifactLocation"]["index"]]
    assert run["artifacts"][frame["parentIndex"]] is capture
    assert (physical["region"]["byteOffset"], physical["region"]["byteLength"]) == (129, 1)
    assert b64decode(physical["region"]["snippet"]["binary"]) == b"\0"


def test_fingerprints_do_not_know_ports_times_and_captures() -> None:
    one, other = (
        {
            result["partialFingerprints"]["kdissect/v1"]
            for result in run_of(report_sarif(verdict_of(name)))["results"]
            if result["ruleId"] == "FRM006"
        }
        for name in ("tansu_rdk216_acks.pcap", "tansu_rdk216_txn.pcap")
    )
    assert len(one & other) == 1  # librdkafka's Metadata v12, in both


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", EVIL)
def test_wire_values_stay_values(text: str) -> None:
    report = report_sarif(verdict_on(text))
    assert report.isascii() and report.replace("\n", "").isprintable()
    for result in run_of(report)["results"]:
        message = result["message"]["text"]
        assert not LINK.search(message)
        assert all(line.isprintable() for line in message.split("\n"))


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a/b.pcap", "a/b.pcap"),
        ("/a b/c.pcap", "file:///a%20b/c.pcap"),
        ("a:b#c?d%.pcap", "a%3Ab%23c%3Fd%25.pcap"),
        ("-", "stdin"),
    ],
)
def test_paths_become_uris(path: str, uri: str) -> None:
    assert uri_of(path) == uri


def test_a_result_stands_at_its_packets_in_the_capture() -> None:
    """One about a connection as a whole has none."""
    verdict = verdict_of("kafka44_rdkafka_admin.pcapng")
    expected = [
        {"startLine": ref_number(finding.place.first_ref), "endLine": ref_number(finding.place.last_ref)}
        if finding.place.exchange >= 0
        else None
        for finding in verdict.findings
    ]
    results = run_of(report_sarif(verdict))["results"]
    assert [result["locations"][0]["physicalLocation"].get("region") for result in results] == expected
    assert None in expected and any(expected)
