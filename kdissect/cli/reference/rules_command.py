"""`kdissect rules`: the list of rules, the page of one, or what each of them costs on a capture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from time import process_time_ns

from kdissect.cli.diagnostics import UNREADABLE
from kdissect.cli.event_loop import Reading, read_events
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.input_options import add_inputs, open_inputs, was_read
from kdissect.cli.options.output_options import writing, written_and_read
from kdissect.cli.options.wanted_names import near_names
from kdissect.cli.output import Output
from kdissect.rules.pages import rule_line, rule_text
from kdissect.rules.registry import ALL_RULES, EVERY_RULE, rule_by
from kdissect.rules.rule import Rule


def run(arguments: Sequence[str]) -> int:
    """Print the rules and return the exit code."""
    parser = command_parser("rules", "List the rules that `kdissect check` applies.")
    parser.add_argument("rule", metavar="RULE", nargs="?", help="code or name of a rule to explain")
    parser.add_argument("--cost", metavar="FILE", help="what each rule receives of a capture, and its cost")
    add_tables(parser, "rules", text="text")
    options = parser.parse_args(arguments)
    if options.cost is not None:
        if options.rule is not None:
            parser.error("--cost is of all rules")
        return _cost(parser, options)
    if options.rule is None:
        wanted, text = EVERY_RULE, "".join(rule_line(rule) + "\n" for rule in EVERY_RULE)
    else:
        rule = rule_by(options.rule)
        if rule is None:
            near = near_names(options.rule.upper(), [one.code for one in EVERY_RULE])
            near += near_names(options.rule.casefold(), [one.name for one in EVERY_RULE])
            hint = f"; did you mean {near[0]}?" if near else ""
            parser.error(f"no rule has the code or name {options.rule!r}{hint}")
        wanted, text = (rule,), rule_text(rule)

    def body(output: Output) -> None:
        facts = [_facts(rule) for rule in wanted]
        tables = [RowTable("rules", lambda: facts)]
        write_tables(options, output, {"rules": facts}, tables, lambda: output.write_text(text))

    return writing(parser, options, body)


def _cost(parser: ArgumentParser, options: Namespace) -> int:
    """Judge a capture, measuring each rule."""
    from kdissect.rules.judge import Judge  # start-up: the list needs no judge
    from kdissect.rules.rule_cost import cost_text, costs_of

    inputs = command_parser("rules", "")
    add_inputs(inputs)
    options = inputs.parse_args(["--", options.cost], options)
    dissection = open_inputs(options)
    costs = costs_of(ALL_RULES)

    def body(output: Output) -> None:
        judge, reading, start = Judge([cost.measured() for cost in costs]), Reading(), process_time_ns()
        with reading:
            read_events(dissection, judge.add)
        judge.finish()
        if was_read(dissection):
            text = cost_text(costs, judge.coverage.exchanges, process_time_ns() - start)
            output.write_text(text)
            output.flush()
        reading.over()

    wrote, read = written_and_read(parser, options, dissection, body)
    return wrote or read or (UNREADABLE if dissection.guard.has_faults else 0)


def _facts(rule: Rule) -> Facts:
    """Return the list's facts about a rule."""
    return {
        "rule": rule.code, "name": rule.name, "severity": rule.effective_severity(), "level": rule.level,
        "claim": rule.claim, "who": rule.who or "both",
    }  # fmt: skip
