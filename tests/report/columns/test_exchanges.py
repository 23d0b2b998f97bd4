"""The outcome of an exchange, as the table has it."""

from typing import Any

import pytest

from kdissect.report.columns.exchanges import outcome

COMPLETE: dict[str, Any] = {"anomalies": [], "errors": [], "state": "complete", "closed": None}
ODD = {"anomalies": [{"kind": "trailing_bytes"}, {"kind": "gap"}, {"kind": "gap"}]}


def unanswered(**closed: Any) -> dict[str, Any]:
    """Return a row without a response."""
    return {"state": "unanswered", "closed": {"by": None, "how": "fin", "after_ns": 2_000_000, **closed}}


@pytest.mark.parametrize(
    ("row", "text", "style"),
    [
        ({}, "ok", "good"),
        (ODD, "ok (trailing_bytes, gap)", "odd"),
        ({"errors": ["A", "B"]}, "A, B", "bad"),
        ({"errors": ["A"], **ODD}, "A (trailing_bytes, gap)", "bad"),
        ({"state": "no_response_expected"}, "no response expected", "dim"),
        ({"state": "no_response_expected", **ODD}, "no response expected (trailing_bytes, gap)", "odd"),
        ({"state": "orphan_response"}, "orphan response", "odd"),
        ({"state": "unanswered"}, "unanswered", "bad"),
        (unanswered(how="end_of_capture"), "unanswered, end of capture", "bad"),
        (unanswered(by="client"), "unanswered, client fin after 2.00 ms", "bad"),
        (unanswered(by="broker") | ODD, "unanswered, broker fin after 2.00 ms (trailing_bytes, gap)", "bad"),
    ],
)  # fmt: skip
def test_outcome(row: dict[str, Any], text: str, style: str) -> None:
    cell = outcome(COMPLETE | row)
    assert (cell.text, cell.style) == (text, style)
