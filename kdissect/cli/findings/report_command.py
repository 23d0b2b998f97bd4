"""`kdissect report`: one HTML page of captures, to share and to read without kdissect."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.causes.evidence.gathering import BY
from kdissect.cli.event_loop import Reading
from kdissect.cli.findings.cause_reading import CausesOfReport
from kdissect.cli.findings.judge_reading import read_judged, verdict_of
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.options.schema_option import of_all_sets, value_faults_of
from kdissect.cli.output import Output
from kdissect.report.capture_page.facts import capture_facts
from kdissect.report.capture_page.page import capture_html
from kdissect.report.capture_page.sortable import MAX_ROWS
from kdissect.rules.judge import Judge
from kdissect.rules.registry import ALL_RULES, EVERY_RULE
from kdissect.stats.times.series import LatencySeries


def run(arguments: Sequence[str]) -> int:
    """Write the page and return the exit code."""
    parser = command_parser(
        "report",
        "Write one HTML page of captures: causes, a map of who talks to whom, a timeline, and tables that "
        "sort and filter. The page loads nothing and works offline.",
    )
    add_inputs(parser)
    add_topic_ids(parser)
    add_filter(parser, "only what exchanges show for which EXPR holds")
    parser.add_argument("-o", "--output", metavar="FILE", help=(
        "write to FILE, or - for standard output, which is the default"
    ))  # fmt: skip
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts, latencies, reading = reporting_filter(options, dissection), LatencySeries(), Reading()
        values = value_faults_of(options, dissection, accepts)
        judge = Judge(EVERY_RULE if options.schemas else ALL_RULES, values_of=of_all_sets(values))
        causes = CausesOfReport(dissection, accepts, values, latencies)
        with reading:
            read_judged(dissection, judge, accepts, causes)
        judge.finish()
        verdict, diagnosis = verdict_of(dissection, judge, reading.is_stopped), causes.finished()
        seen = causes.gathering
        most = MAX_ROWS - 1  # and the row of all others
        facts = capture_facts(seen.traffic, BY, seen.topics, seen.groups, latencies, most)
        output.write(capture_html(verdict, diagnosis, facts).encode("utf-8", "replace"))
        reading.over()

    return printing(parser, options, dissection, body)
