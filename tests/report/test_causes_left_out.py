"""What `why` says of causes that it does not show, and of what it looked at."""

from kdissect.model.cause import Diagnosis
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.markdown import causes_markdown
from kdissect.report.causes.text import causes_text

MADE = Diagnosis(
    (), 3, ("2 connections", "5 exchanges"), ("no broker log", "no metrics"), ("a.pcap",), 0, 10**9
)


def test_text() -> None:
    assert causes_text(MADE) == (
        "3 causes of trouble, the worst first\n\n3 more cost less; --format json --all has them\n\n"
        "    looked at 2 connections; 5 exchanges\n    not seen  no broker log\n    not seen  no metrics\n"
    )
    assert "more cost less" not in causes_text(MADE._replace(left_out=0))


def test_markdown() -> None:
    lines = causes_markdown(MADE).splitlines()
    assert lines[2:] == [
        "**3 causes of trouble, the worst first**", "", "3 more cost less.", "",
        "- looked at: <code>2 connections</code>", "- looked at: <code>5 exchanges</code>",
        "- not seen: <code>no broker log</code>", "- not seen: <code>no metrics</code>",
    ]  # fmt: skip
    assert "more cost less" not in causes_markdown(MADE._replace(left_out=0))


def test_html() -> None:
    assert '<p class="empty">3 more cost less.</p>' in causes_html(MADE)
    assert "more cost less" not in causes_html(MADE._replace(left_out=0))
