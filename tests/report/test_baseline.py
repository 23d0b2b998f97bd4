"""A baseline: what its file must have, how its lines read."""

import json
from typing import Any

import pytest

from kdissect.report.baseline import baseline_text, parse_baseline
from tests.report.hand_made_verdict import findings, found

ROW = {"fingerprint": "f", "code": "PRD001", "name": "invalid-acks"}


def parsed(*rows: Any) -> Any:
    return parse_baseline("b.json", json.dumps({"baseline_version": 1, "findings": [*rows]})).known


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "PRD001 invalid-acks"),
        ({"who": "client", "software": "", "label": "ours"}, "PRD001 invalid-acks, client ours"),
        ({"api": "Produce", "api_version": 0, "side": "request", "path": "acks"},
         "PRD001 invalid-acks, Produce v0 request acks"),
        ({"api_version": "9", "seen": "two"}, "PRD001 invalid-acks, two"),
    ],
)  # fmt: skip
def test_lines(changes: dict[str, Any], text: str) -> None:
    assert parsed(ROW | changes)["f"].text == text


@pytest.mark.parametrize(
    ("changes", "api"),
    [({}, (None, None)), ({"api_key": 0, "api_version": 9}, (0, 9)), ({"api_key": "0"}, (None, None))],
)
def test_apis(changes: dict[str, Any], api: Any) -> None:
    assert parsed(ROW | changes)["f"].api == api


@pytest.mark.parametrize("row", [*({**ROW, name: value} for name in ROW for value in ("", 1)), {}, "x", None])
def test_what_is_no_finding_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match=r"b\.json: a finding needs fingerprint, code and name"):
        parsed(row)


@pytest.mark.parametrize(
    ("text", "said"),
    [("\n\n{", "b.json:3: "), ("[]", "no baseline of version 1"),
     ('{"baseline_version": 2}', "no baseline of version 1"), ('{"baseline_version": 1}', "a finding needs")],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_baseline("b.json", text)


def test_a_file_is_the_same_whatever_the_order_and_has_each_finding_once() -> None:
    made = findings()
    text = baseline_text(made)
    assert text == baseline_text([*reversed(made), *made])
    rows = json.loads(text)["findings"]
    assert [row["code"] for row in rows] == sorted(row["code"] for row in rows)
    assert text.startswith('{\n  "baseline_version": 1,\n  "findings": [\n    {\n      "code": "FRM006"')
    assert text.endswith("\n")
    one = next(row for row in rows if row["api_version"] == 9 and row["code"] == "PRD001")
    del one["fingerprint"]
    assert one == {
        "code": "PRD001", "name": "invalid-acks", "who": "client", "software": "franz-go", "label": "ours",
        "api": "Produce", "api_key": 0, "api_version": 9, "side": "request", "path": "topics[].name",
        "expected": "one [#](x)", "seen": "two [#](y)",
    }  # fmt: skip


def test_marks_and_what_is_missing() -> None:
    old, new = found("PRD001"), found("PRD001", seen="else")
    baseline = parse_baseline("b.json", baseline_text([old, found("FRM006")]))
    new.known = True
    baseline.mark([old, new])
    assert (old.known, new.known) == (True, False)
    assert [known.code for known in baseline.missing([old, new])] == ["FRM006"]
