"""The page as JSON keeps to its schema."""

import json

import jsonschema
import pytest

from kdissect.cli import main
from kdissect.report.causes.json import diagnosis_row
from tests.causes.diagnosing import capture, diagnosed


@pytest.mark.parametrize("name", ["kafka44_java_errors", "kafka44_connect_plain", "kafka44_java_groups"])
def test_json_is_as_its_schema_says(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--schema"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert main(["why", capture(name), "--format", "json", "--all"]) == 0
    page = json.loads(capfd.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(page, schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    assert [cause["rank"] for cause in page["causes"]] == list(range(1, len(page["causes"]) + 1))


def test_packets_of_an_input_without_a_name_have_no_file() -> None:
    """A page that is made while a capture arrives has no files; its packets have times all the same."""
    found = diagnosed(capture("kafka44_java_rejoins"))
    named = diagnosis_row(found)["causes"][0]["evidence"][0]
    assert named["file"] == found.files[0]
    assert named["first_packet"] > 0
    nameless = diagnosis_row(found._replace(files=()))["causes"][0]["evidence"][0]
    assert nameless == {**named, "file": None, "first_packet": None, "last_packet": None}


def test_with_a_filter_its_connections_are_counted(capfd: pytest.CaptureFixture[str]) -> None:
    refused = "errors == MESSAGE_TOO_LARGE"
    assert main(["why", capture("kafka44_java_errors"), "-Y", refused, "--json"]) in (0, 1)
    looked_at = json.loads(capfd.readouterr().out)["looked_at"]
    assert looked_at[0].startswith("1 exchange on 1 Kafka connection in ")
