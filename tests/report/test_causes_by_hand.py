"""What `why` says of one cause, of causes that it does not show, and of what it looked at."""

import pytest

from kdissect.model.cause import Certainty, Cost, Diagnosis, Effect, FoundCause, Packets, Severity
from kdissect.model.packets.packet import packet_ref
from kdissect.report.causes.html import causes_html
from kdissect.report.causes.json import diagnosis_row
from kdissect.report.causes.markdown import causes_markdown
from kdissect.report.causes.text import causes_text
from kdissect.report.causes.words import command_text, cost_text, packets_text, since_text

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


START = 1_700_000_000 * 10**9
PACKETS = Packets("0c0ffee0", 0, "Produce v9", START, packet_ref(0, 4), packet_ref(0, 6))
CAUSE = FoundCause(
    "slow-disk", "A disk is slow", Severity.DELAYS, "Produce took 3 s.", "app", frozenset(), START,
    START + 5 * 10**9, 2, Cost(3 * 10**9, 1, 2, 1500, 4), Certainty.LIKELY, "no broker log", (PACKETS,),
    "inspect {files}", "Use another disk.", (), (Effect("timeouts", "Requests time out.", 2),),
)  # fmt: skip
ONE = MADE._replace(causes=(CAUSE,), left_out=0)


def test_a_cause_in_markdown() -> None:
    assert causes_markdown(ONE).splitlines()[2:-4] == [
        "**1 cause of trouble, the worst first**",
        "",
        "| | | cause | what happened | cost |",
        "|---:|---|---|---|---|",
        "| 1 | :hourglass: | A disk is slow | <code>Produce took 3 s&#46;</code> |"
        " 3.00 s of waits added up, 1 error, 2 retries, 4 records, 1.5 kB |",
        "",
        "<details><summary>1. A disk is slow (slow-disk)</summary>",
        "",
        "| | |",
        "|---|---|",
        "| who | <code>app</code> |",
        "| since | 2023-11-14T22:13:20.000Z, for 5.00 s, 2 times |",
        "| then | <code>Requests time out&#46;</code> |",
        "| sure | likely: no broker log |",
        "| packets | <code>Produce v9, exchange 0c0ffee0/0, packets 4-6 of a&#46;pcap</code> |",
        "| more | <code>kdissect inspect a&#46;pcap</code> |",
        "| helps | <code>Use another disk&#46;</code>  |",
        "",
        "</details>",
        "",
    ]


def test_a_cause_in_json() -> None:
    (row,) = diagnosis_row(ONE)["causes"]
    assert row["evidence"] == [
        {
            "what": "Produce v9", "connection": "0c0ffee0", "exchange": 0, "file": "a.pcap",
            "first_packet": 4, "last_packet": 6, "time": "2023-11-14T22:13:20.000000000Z",
        }
    ]  # fmt: skip
    whole = ONE._replace(causes=(CAUSE._replace(evidence=(PACKETS._replace(exchange=-1),)),))
    assert diagnosis_row(whole)["causes"][0]["evidence"][0]["exchange"] is None


@pytest.mark.parametrize(
    ("packets", "text"),
    [
        (PACKETS._replace(exchange=-1), "Produce v9, connection 0c0ffee0, packets 4-6 of a.pcap"),
        (PACKETS._replace(last_ref=PACKETS.first_ref), "Produce v9, exchange 0c0ffee0/0, packet 4 of a.pcap"),
        (PACKETS._replace(first_ref=0), "Produce v9, exchange 0c0ffee0/0"),
        (PACKETS._replace(first_ref=packet_ref(1, 5), last_ref=packet_ref(1, 5), what=""),
         "exchange 0c0ffee0/0, packet 5"),
    ],
)  # fmt: skip
def test_where_to_look(packets: Packets, text: str) -> None:
    assert packets_text(packets, ["a.pcap"]) == text


def test_costs_and_times_that_are_not_known_are_left_out() -> None:
    assert [cost_text(cost) for cost in (Cost(), Cost(1), Cost(errors=2), Cost(bytes=1))] == [
        "", "0 us of waits added up", "2 errors", "1 B",
    ]  # fmt: skip
    assert since_text(CAUSE._replace(since_ns=0, until_ns=0, times=1)) == "-, 1 time"


def test_commands_name_the_first_three_files() -> None:
    names = ["a.pcap", "b c.pcap", "d", "e"]
    assert command_text("why {files}", names[:3]) == "kdissect why a.pcap 'b c.pcap' d"
    assert command_text("why {files}", names) == "kdissect why a.pcap 'b c.pcap' d ..."
    assert command_text("why {files}", []) == "kdissect why -"
