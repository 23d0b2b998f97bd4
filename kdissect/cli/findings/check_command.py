"""`kdissect check`: holds the traffic of captures to the rules of the protocol."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kdissect.api import Dissection
from kdissect.capture.files import without_packets
from kdissect.cli.diagnostics import FINDINGS, NOTHING, OK, UNREADABLE, USAGE, say
from kdissect.cli.event_loop import read_shown
from kdissect.cli.findings.allow_unread import add_allow_unread, green
from kdissect.cli.findings.baseline_options import add_baseline, read_baseline, write_baseline
from kdissect.cli.findings.check_config import CheckOptions, add_config, parse_options
from kdissect.cli.findings.judge_reading import read_judged, verdict_of
from kdissect.cli.findings.report_files import FORMATS, HTML, ReportFiles, render, report_option
from kdissect.cli.formats.titled_tables import ROW_FORMATS, add_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, filter_of, open_filtered
from kdissect.cli.options.input_options import add_inputs, was_read
from kdissect.cli.options.live.metrics_options import add_metrics, metering
from kdissect.cli.options.output_options import written_and_read
from kdissect.cli.options.printed_schema import add_schema
from kdissect.cli.options.schema_option import of_all_sets, value_faults_of
from kdissect.cli.output import Output, OutputError, UsageError
from kdissect.model.cause import Diagnosis
from kdissect.model.finding import Severity, Who
from kdissect.report.json import report_schema
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.kinds import SchemaRule
from kdissect.rules.registry import EVERY_RULE
from kdissect.rules.rule import Rule
from kdissect.rules.rule_selection import select
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.cli.findings.cause_reading import CausesOfReport
    from kdissect.engine.records.value_faults import ValueFaults

Test = Callable[[Exchange], bool]


def run(arguments: Sequence[str]) -> int:
    """Judge the captures, print the report and return the exit code."""
    parser = _parser()
    options = parse_options(parser, arguments)
    who = None if options.judge == "both" else Who(options.judge)
    try:
        rules = _rules(options, who)
    except ValueError as error:
        parser.error(str(error))
    baseline = read_baseline(options)
    dissection = open_filtered(parser, options)
    _check_evidence(options, dissection)
    accepts = filter_of(options, dissection)
    new_values = partial(_values, options, dissection, rules, accepts)
    values = new_values()
    causes = _causes_of_report(options, dissection, accepts, values)
    verdicts: list[Verdict] = []
    evidence: list[int] = [OK]

    new_judge = partial(_judge, rules, who, dict(options.label))
    try:
        reports = ReportFiles(options.report, dissection, options.output)
    except OutputError as error:
        parser.error(str(error))

    def body(output: Output) -> None:
        judge = new_judge(values=values)

        def judged(is_stopped: bool = False) -> Verdict:
            judge.finish()
            strict = bool(options.strict)
            return verdict_of(dissection, judge, is_stopped, options.suppressions, baseline, strict)

        reading = read_shown(
            dissection, options, output, partial(_read, dissection, judge, options, accepts, causes),
            lambda output: _write(options, output, judged()),
        )  # fmt: skip
        verdict = judged(reading.is_stopped)
        diagnosis = None if causes is None else causes.finished()
        if was_read(dissection):  # else the files of an earlier run stay
            if options.evidence and not reading.is_stopped:  # for which all is read once more
                from kdissect.cli.findings.check_evidence import write_evidence  # start-up: seldom asked for

                evidence.append(
                    write_evidence(options, dissection, verdict, lambda: new_judge(values=new_values()))
                )
            reports.write(verdict, options.statistics, diagnosis)
        _write(options, output, verdict, diagnosis)
        output.flush()
        verdicts.append(verdict)
        reading.over()

    with reports:
        wrote, read = written_and_read(parser, options, dissection, body)
    failed = max(wrote, *evidence)
    if failed or not verdicts:  # a report could not be written
        return failed or UNREADABLE
    if dissection.guard.has_faults:
        return read or UNREADABLE  # not all of it can be trusted
    return _exit_code(verdicts[0], options, read, dissection)


def _rules(options: CheckOptions, who: Who | None) -> list[Rule]:
    """Return the rules to apply. Raises ValueError for a word that fits no rule, and for rules that need
    schemas without `--schemas`.
    """
    rules = select(EVERY_RULE, options.select, options.ignore, who)
    applied = rules if options.schemas else [rule for rule in rules if not isinstance(rule, SchemaRule)]
    if rules and not applied:
        raise ValueError(f"--select: {', '.join(rule.code for rule in rules)}: these rules need --schemas")
    return applied


def _judge(rules: list[Rule], who: Who | None, labels: dict[str, str], values: ValueFaults | None) -> Judge:
    return Judge(rules, who, labels, values_of=of_all_sets(values))


def _causes_of_report(
    options: CheckOptions, dissection: Dissection, accepts: Test | None, values: ValueFaults | None
) -> CausesOfReport | None:
    """Return the search for causes; None if no report includes them."""
    if not _has_causes(options):
        return None
    from kdissect.cli.findings.cause_reading import CausesOfReport  # start-up: all causes

    return CausesOfReport(dissection, accepts, values)


def _values(
    options: CheckOptions, dissection: Dissection, rules: Sequence[Rule], accepts: Test | None
) -> ValueFaults | None:
    """Return what reads keys and values, once for rules and causes; None if neither is about them."""
    is_wanted = any(isinstance(rule, SchemaRule) for rule in rules) or _has_causes(options)
    return value_faults_of(options, dissection, accepts) if is_wanted else None


def _has_causes(options: CheckOptions) -> bool:
    return HTML in (options.format, *(name for name, _ in options.report))


def _write(options: CheckOptions, output: Output, verdict: Verdict, causes: Diagnosis | None = None) -> None:
    """Write the report, or the rows of one table."""
    is_whole = not (options.fields or options.table or options.sort or options.limit)
    if is_whole and (options.format is None or options.format in FORMATS):
        report = render(options.format or "text", verdict, options.statistics, causes)
        if options.format in (None, "text"):
            output.write_text(report.decode(), "  again  ")
        else:
            output.write(report)
        return
    # start-up: few choose rows
    from kdissect.cli.findings.finding_tables import finding_tables
    from kdissect.cli.formats.held_rows import write_rows

    style = options.format or ("table" if output.is_terminal else "tsv")
    style = "table" if style == "text" else style
    if style not in ("table", *ROW_FORMATS):
        raise UsageError(f"{style} is a report of everything: --table, -e, --sort and --limit go with rows")
    tables = {table.name: table for table in finding_tables(verdict)}
    write_rows(tables[options.table or "findings"], style, options, output)


def _parser() -> ArgumentParser:
    parser = command_parser("check", "Check the traffic of captures against the rules of the protocol.")
    add_inputs(parser, live=True)
    add_config(parser)
    add_filter(parser, "only findings about exchanges for which EXPR holds")
    rules = parser.add_argument_group("which rules (see: kdissect rules)").add_argument
    rules("--select", metavar="RULE,...", type=_words, action="extend", default=[], help=(
        "only these: codes, beginnings of codes, or names"
    ))  # fmt: skip
    rules("--ignore", metavar="RULE,...", type=_words, action="extend", default=[], help="all but these")
    rules("--judge", choices=("client", "broker", "both"), default="both", help="whose bytes (default: both)")
    rules("--strict", action=BooleanOptionalAction, help="a broken should is an error")
    verdict = parser.add_argument_group("what fails").add_argument
    verdict("--fail-on", choices=("error", "warning", "never"), default="error", help="default: error")
    verdict("--exit-zero", action=BooleanOptionalAction, help="exit with 0 even if there are findings")
    add_allow_unread(verdict)
    add_baseline(verdict)
    _add_evidence(verdict)
    add_metrics(parser)
    report = parser.add_argument_group("the report").add_argument
    report("--report", metavar="FORMAT=FILE", type=report_option, action="append", default=[], help=(
        "write another report to FILE, which is complete or absent (may be repeated)"
    ))  # fmt: skip
    add_schema(report, report_schema, "the JSON report")
    report("--statistics", action=BooleanOptionalAction, help="count the findings of each rule")
    report("--label", metavar="END=NAME", type=_label, action="append", default=[], help=(
        "call an end NAME: END is an address, a host, client or broker"
    ))  # fmt: skip
    add_tables(parser, "findings", "software", text="text", reports=FORMATS)
    return parser


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _label(text: str) -> tuple[str, str]:
    end, equals, name = text.partition("=")
    if not end or not equals or not name:
        raise ArgumentTypeError(f"{text!r} is no END=NAME")
    return end, name


def _read(
    dissection: Dissection,
    judge: Judge,
    options: CheckOptions,
    accepts: Test | None,
    causes: CausesOfReport | None,
) -> None:
    with metering(options, dissection, lambda: judge.findings.all()):  # noqa: PLW0108  a filter replaces the log
        read_judged(dissection, judge, accepts, causes)


def _exit_code(verdict: Verdict, options: CheckOptions, reading: int, dissection: Dissection) -> int:
    """Return findings first: they stand whatever else could not be read. Unread inputs are not green."""
    if options.write_baseline and was_read(dissection):
        return write_baseline(options.write_baseline, verdict) or reading
    if options.exit_zero:
        return reading
    failing = {"error": {Severity.ERROR}, "warning": {Severity.ERROR, Severity.WARNING}, "never": set()}
    if any(f.severity in failing[options.fail_on] and not f.known for f in verdict.findings):
        return FINDINGS
    if reading != OK:
        return reading
    return green(options, dissection) if verdict.exchanges else NOTHING


def _add_evidence(add: Callable[..., object]) -> None:
    """Add the options to a parser or group."""
    add("--evidence", metavar="DIR", help="write the packets of each finding to a pcapng file in DIR")
    add("--show-secrets", action="store_true", help="do not overwrite secrets in the packets of --evidence")


def _check_evidence(options: Namespace, dissection: Dissection) -> None:
    """Leave with exit code 2 where there can be no evidence: packets are read again at the end."""
    if options.evidence and dissection.captures.is_live:
        say("--evidence needs files: a stream cannot be read again")
        raise SystemExit(USAGE)
    log = without_packets(dissection.captures.files) if options.evidence else None
    if log is not None:
        say(f"--evidence writes packets, and {log.path} is a request log, which has none")
        raise SystemExit(USAGE)
