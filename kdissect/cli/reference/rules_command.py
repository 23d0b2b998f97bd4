"""`kdissect rules`: the list of rules, or the page of one."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.rules.pages import rule_line, rule_text
from kdissect.rules.registry import ALL_RULES, rule_by


def run(arguments: Sequence[str]) -> int:
    """Print the rules; gives the exit code."""
    parser = command_parser("rules", "What `kdissect check` holds traffic to.")
    parser.add_argument("rule", metavar="RULE", nargs="?", help="code or name of a rule to explain")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    options = parser.parse_args(arguments)
    if options.rule is None:
        text = "".join(rule_line(rule) + "\n" for rule in ALL_RULES)
    else:
        rule = rule_by(options.rule)
        if rule is None:
            parser.error(f"no rule has the code or name {options.rule!r}")
        text = rule_text(rule)

    def body(output: Output) -> None:
        output.write(text.encode())

    return writing(parser, options, body)
