"""What `why --explain` says, and the head and lines of the pages of `why`."""

import pytest

from kdissect.model.cause import Cost, Explanation, Packets, RefutedCause, Severity
from kdissect.model.packets.packet import packet_ref
from kdissect.report.causes.explanation import explanation_text
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.json import causes_json, diagnosis_row
from kdissect.report.causes.markdown import causes_markdown
from kdissect.report.causes.text import cause_lines, causes_text, folded
from kdissect.report.causes.words import clock, headline
from tests.report.test_causes_by_hand import CAUSE, MADE, ONE, START

NONE = Explanation("slow-disk", "A disk is slow\x1b", (), (), (), (), ("a.pcap",))
WORSE = "new or worse than in a, the worst first"
REFUTED = RefutedCause("slow-disk", "It took 3 s.", "time has an order", "it was answered " + "before " * 20)


def test_nothing_for_a_cause() -> None:
    assert explanation_text(NONE) == (
        "A disk is slow\\x1b  [slow-disk]\n\nnot printed\n"
        "    against   nothing in the capture meets the conditions of this cause\n\n"
        "    symptom   the ledger has no symptom that this cause explains\n"
    )


def test_a_cause_that_is_refuted() -> None:
    text = explanation_text(NONE._replace(refuted=(REFUTED,), laws=("one",), symptoms=("s", "t")))
    assert text.splitlines()[2:] == [
        "not printed",
        "",
        "    refuted   It took 3 s.",
        "    law       time has an order",
        "    against   it was answered " + "before " * 10 + "before",
        "              " + "before " * 8 + "before",
        "",
        "    law       one",
        "    symptom   s",
        "    symptom   t",
    ]


@pytest.mark.parametrize(("width", "lines"), [(96, 1), (97, 2)])
def test_explanations_are_as_wide_as_the_page(width: int, lines: int) -> None:
    words = "x" * 50 + " " + "y" * (width - 51)
    text = explanation_text(NONE._replace(laws=(words,)))
    assert text.count(f"    law       {words}\n") == (lines == 1)
    assert text.count("\n" + " " * 14 + "y") == lines - 1


def test_a_cause_that_is_printed() -> None:
    lines = explanation_text(NONE._replace(given=(CAUSE, CAUSE))).splitlines()
    assert lines[2:7] == [
        "printed 2 times", "", "    Produce took 3 s.", "    who       app",
        "    since     2023-11-14T22:13:20.000Z, for 5.00 s, 2 times",
    ]  # fmt: skip
    assert not any("against" in line for line in lines)


def test_a_cause_as_text() -> None:
    assert causes_text(ONE).splitlines() == [
        "1 cause of trouble, the worst first",
        "",
        " 1. A disk is slow  [slow-disk]",
        "    Produce took 3 s.",
        "    who       app",
        "    since     2023-11-14T22:13:20.000Z, for 5.00 s, 2 times",
        "    cost      3.00 s of waits added up, 1 error, 2 retries, 4 records, 1.5 kB",
        "    then      Requests time out.",
        "    sure      likely: no broker log",
        "    packets   Produce v9, exchange 0c0ffee0/0, packets 4-6 of a.pcap",
        "    more      kdissect inspect a.pcap",
        "    helps     Use another disk. ()",
        "",
        "    looked at 2 connections; 5 exchanges",
        "    not seen  no broker log",
        "    not seen  no metrics",
    ]
    assert not any(
        "cost " in line
        for line in causes_text(ONE._replace(causes=(CAUSE._replace(cost=Cost()),))).splitlines()
    )


def test_lines_fit_and_a_command_stays_whole() -> None:
    long = CAUSE._replace(sentence="x" * 120, command="inspect " + "word " * 30, help="y-" * 60)
    lines = list(cause_lines(long, ["a.pcap"]))
    assert lines[:2] == [(None, "x" * 106), (None, "x" * 14)]
    assert max(len(line) for name, line in lines if name == "more") > 150
    folded_lines = list(cause_lines(long, ["a.pcap"], folds_commands=True))
    assert max(len(line) for name, line in folded_lines if name == "more") <= 96
    assert ("helps", "y-" * 60) in lines  # a word stays whole
    assert folded("aa bb", 2) == folded("aa bb", 0) == ["aa", "bb"]
    narrow = list(cause_lines(CAUSE._replace(who="aa bb cc"), ["a.pcap"], width=16))
    assert ("who", "aa") in narrow and ("", "bb") in narrow


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"left_out": 0}, "nothing wrong was found"),
        ({"left_out": 0, "unread": ("a",)},
         "no cause of trouble in what could be read: a could not be read to the end"),
        ({"left_out": 1}, "1 cause of trouble, the worst first"),
        ({"left_out": 1, "unread": ("a",)},
         "1 cause of trouble in what could be read of a, the worst first"),
        ({"left_out": 0, "against": ("a", "b")}, "no cause is worse than in a, b"),
        ({"left_out": 1, "against": ("a",)}, f"1 cause of trouble that is {WORSE}"),
        ({"left_out": 2, "against": ("a",)}, f"2 causes of trouble that are {WORSE}"),
        ({"left_out": 0, "partly_judged": "no keys"}, "no cause of trouble in what could be read: no keys"),
        ({"left_out": 1, "partly_judged": "no keys"}, "1 cause of trouble, the worst first"),
        ({"left_out": 0, "nothing_judged": "no keys"}, "no keys"),
        ({"left_out": 2, "nothing_judged": "no keys"}, "no keys: 2 causes of trouble"),
        (
            {"left_out": 2, "nothing_judged": "no keys", "unread": ("a",)},
            "no keys in what could be read of a: 2 causes of trouble",
        ),
    ],
)  # fmt: skip
def test_headlines(changes: dict[str, object], text: str) -> None:
    assert headline(MADE._replace(**changes)) == text


def test_clocks() -> None:
    assert (clock(0), clock(START + 5_678_000)) == ("-", "2023-11-14T22:13:20.005Z")


def test_heads_of_pages() -> None:
    four = MADE._replace(files=("a", "b", "c", "d"), first_ns=START)
    page = causes_html(four)
    assert "<bdi>c</bdi></code> · 2023-11-14 22:13:20 UTC</p>" in page
    assert "<bdi>d</bdi>" not in page
    assert "UTC" not in causes_html(MADE)
    for name, line in (("looked at", "5 exchanges"), ("not seen", "no metrics")):
        assert f"<dt>{name}</dt><dd><bdi>{line}</bdi></dd>" in page


@pytest.mark.parametrize(
    ("severity", "icon", "kind"),
    [
        (Severity.STOPS, ":no_entry:", "error"),
        (Severity.DATA, ":warning:", "error"),
        (Severity.DELAYS, ":hourglass:", "warning"),
        (Severity.WASTES, ":money_with_wings:", "info"),
    ],
)
def test_severities(severity: Severity, icon: str, kind: str) -> None:
    made = ONE._replace(causes=(CAUSE._replace(severity=severity), CAUSE))
    assert f"| 1 | {icon} | A disk" in causes_markdown(made)
    assert "| 2 | :hourglass: |" in causes_markdown(made)
    page = causes_html(made)
    assert f'<article class="rule is-{kind}">' in page
    assert f'<span class="tag {kind}">{severity.name.lower()}</span>' in page
    assert '<span class="rule-code">2</span>' in page


def test_a_page_of_one_cause() -> None:
    cited = ONE._replace(causes=(CAUSE._replace(cites=("KIP-890", "a page nobody knows")),))
    page = causes_html(cited)
    assert 'Use another disk. (<a href="https://' in page
    assert "; a page nobody knows)" in page
    assert "<dt>cost</dt>" in page
    assert "<dt>cost</dt>" not in causes_html(ONE._replace(causes=(CAUSE._replace(cost=Cost()),)))
    assert "more cost less" not in page
    assert "Nothing wrong was found." in causes_html(MADE._replace(left_out=0))


def test_json() -> None:
    row = diagnosis_row(ONE._replace(first_ns=0, left_out=2))
    assert (row["report_version"], row["causes_left_out"], row["first_time"]) == (1, 2, None)
    assert row["last_time"] == "1970-01-01T00:00:01.000000000Z"
    (cause,) = row["causes"]
    assert (cause["rank"], cause["severity"], cause["certainty"]) == (1, "delays", "likely")
    assert (cause["why_not_surer"], cause["parties"], cause["cites"]) == ("no broker log", [], [])
    assert cause["effects"] == [{"id": "timeouts", "sentence": "Requests time out.", "times": 2}]
    assert cause["command"] == "kdissect inspect a.pcap"
    assert causes_json(ONE).startswith('{\n  "report_version": 1,')
    bare = CAUSE._replace(why_not_surer="", cites=("KIP-890", "a page nobody knows"), until_ns=0)
    (cause,) = diagnosis_row(ONE._replace(causes=(bare,)))["causes"]
    assert (cause["why_not_surer"], cause["until"]) == (None, None)
    known, unknown = cause["cites"]
    assert known["url"].startswith("https://") and unknown["url"] is None


@pytest.mark.parametrize(
    ("first", "file", "packet"),
    [(0, None, None), (packet_ref(0, 4), "a.pcap", 4), (packet_ref(1, 4), None, None)],
)
def test_packets_in_json(first: int, file: str | None, packet: int | None) -> None:
    packets = Packets("", -1, "x", 0, first, first)
    (row,) = diagnosis_row(ONE._replace(causes=(CAUSE._replace(evidence=(packets,)),)))["causes"][0][
        "evidence"
    ]
    assert row == {
        "what": "x", "connection": None, "exchange": None, "time": None, "file": file,
        "first_packet": packet, "last_packet": packet,
    }  # fmt: skip
