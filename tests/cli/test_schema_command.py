"""`kdissect schema`."""

import pytest

from kdissect.cli import main
from kdissect.schema.protocol_messages import all_apis


def schema(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    capfd.readouterr()
    assert main(["schema", *arguments]) == 0
    return capfd.readouterr().out


def test_overview_names_every_api(capfd: pytest.CaptureFixture[str]) -> None:
    lines = schema(capfd).splitlines()[1:]
    assert [line.split()[:2] for line in lines] == [[str(api.key), api.name] for api in all_apis()]


def test_by_name_or_key_both_or_one_side(capfd: pytest.CaptureFixture[str]) -> None:
    both = schema(capfd, "Metadata", "1")
    assert both == schema(capfd, "3", "1")
    request = schema(capfd, "metadata", "1", "--request")
    response = schema(capfd, "metadata", "1", "--response")
    assert both == f"{request}\n{response}"
    assert request.startswith("Metadata Request (Version: 1) =>")
    assert response.startswith("Metadata Response (Version: 1) =>")


def test_an_api_shows_its_versions(capfd: pytest.CaptureFixture[str]) -> None:
    assert "request MetadataRequest" in schema(capfd, "Metadata")
