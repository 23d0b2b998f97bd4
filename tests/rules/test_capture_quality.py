"""What a capture lacks is said in words that count."""

import pytest

from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.rules.run_coverage.coverage import Coverage


@pytest.mark.parametrize(
    ("count", "reasons"),
    [
        (1, ("1 connection began before the capture", "1 file ends inside a packet")),
        (2, ("2 connections began before the capture", "2 files end inside a packet")),
    ],
)
def test_reasons_count_with_their_nouns(count: int, reasons: tuple[str, ...]) -> None:
    coverage = Coverage()
    coverage.middle_starts = count
    assert quality_of(coverage, cut_files=count).reasons == reasons
