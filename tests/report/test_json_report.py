"""The JSON report: valid by its own schema, and holding all that a finding must say."""

import json
from typing import Any

import jsonschema
import pytest

from kdissect.cli import main
from kdissect.report.json import report_json, report_schema
from tests.report.verdicts import EVIL, NAMES, verdict_of, verdict_on

KEYS = {
    "findings", "not_exercised", "inconclusive", "coverage", "capture_quality", "software",
    "kafka_schema_version", "report_version",
}  # fmt: skip


def strict(schema: Any) -> Any:
    """Return the schema with no other keys allowed: the report has what the schema describes."""
    if isinstance(schema, dict):
        made = {name: strict(value) for name, value in schema.items()}
        if "properties" in made and isinstance(made.get("required"), list):
            made.setdefault("additionalProperties", False)
        return made
    return [strict(value) for value in schema] if isinstance(schema, list) else schema


def validated(text: str) -> Any:
    schema = json.loads(report_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    report = json.loads(text)
    checker = jsonschema.FormatChecker()
    jsonschema.Draft202012Validator(strict(schema), format_checker=checker).validate(report)
    return report


@pytest.mark.parametrize("name", NAMES)
def test_reports_are_valid_by_their_schema(name: str) -> None:
    report = validated(report_json(verdict_of(name)))
    assert set(report) >= KEYS
    assert report["findings"]
    assert len(report["captures"][0]["sha256"]) == 64
    exercised = {code for code, count in report["coverage"]["rules"].items() if count}
    assert exercised.isdisjoint(rule["code"] for rule in report["not_exercised"])
    assert len(exercised) + len(report["not_exercised"]) == report["rules"]


def test_a_finding_tells_all_it_must() -> None:
    report = validated(report_json(verdict_of("kafka44_rdkafka_admin.pcapng")))
    finding = report["findings"][0]
    assert (finding["code"], finding["level"], finding["claim"]) == ("FRM006", "must", "malformed")
    assert all(cite["url"].startswith("https://") for cite in finding["cites"])
    who = finding["who"]
    assert (who["role"], who["software"], who["version"], who["client_id"]) == (
        "client", "confluent-kafka-python", "2.16.1-rdkafka-2.16.0", "admin",
    )  # fmt: skip
    assert finding["consequence"] == "accepted: answered without an error code"
    place = finding["where"]
    assert place["first_packet"] == place["last_packet"] == 105
    assert place["bytes"] == {"start": 129, "end": 130, "hex": "00"}
    assert finding["expected"] and finding["seen"]
    assert finding["command"].endswith(f"--exchange {place['connection']}/{place['exchange']}")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", EVIL)
def test_wire_values_are_valid_and_come_back(text: str) -> None:
    report = validated(report_json(verdict_on(text)))
    assert report["findings"][0]["who"]["software"] == text
    assert report["captures"][0]["path"] == text


def test_schema_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--schema"]) == 0
    assert json.loads(capfd.readouterr().out)["$defs"]["finding"]
