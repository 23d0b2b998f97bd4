"""The page as JSON keeps to its schema."""

import json

import jsonschema
import pytest

from kdissect.cli import main
from tests.causes.diagnosing import capture


@pytest.mark.parametrize("name", ["kafka44_java_errors", "kafka44_connect_plain", "kafka44_java_groups"])
def test_json_is_as_its_schema_says(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--schema"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert main(["why", capture(name), "--format", "json", "--all"]) == 0
    page = json.loads(capfd.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(page, schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    assert [cause["rank"] for cause in page["causes"]] == list(range(1, len(page["causes"]) + 1))
