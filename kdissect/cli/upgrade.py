"""`kdissect upgrade`: which clients break on another Kafka release."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.cli.allow_unread import add_allow_unread, green
from kdissect.cli.exits import FINDINGS, NOTHING, OK
from kdissect.cli.filters import add_filter, filter_of, open_filtered, takes
from kdissect.cli.inputs import add_inputs
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_events
from kdissect.session.events import Event
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts

# What fails, by the choice of --fail-on.
_FAILING = {
    "breaks": ("breaks",),
    "may-break": ("breaks", "may_break"),
    "deprecated": ("breaks", "may_break", "deprecated"),
    "never": (),
}


def run(arguments: Sequence[str]) -> int:
    """Print the audit; gives the exit code: 1 where something breaks."""
    options = (parser := _parser()).parse_args(arguments)
    dissection = open_filtered(parser, options)
    found: list[dict[str, Any]] = []

    def body(output: Output) -> None:
        audit, unseen = UpgradeAudit(options.target), BlindSpots()
        accepts = filter_of(options, dissection)
        reading = Reading()

        def take(event: Event) -> None:
            unseen.add(event)
            audit.add(event, takes(accepts, event))

        with reading:
            read_events(dissection, take)
        facts = upgrade_facts(audit) | {"not_seen": unseen.facts()}
        if options.format == "json":
            write_json(output, facts)
        else:
            from kdissect.cli.formats.upgrade_text import upgrade_text

            upgrade_text(facts, options, output)
        output.flush()
        found.append(facts)
        reading.over()

    code = printing(parser, options, dissection, body)
    if not found or dissection.guard.has_faults:
        return code
    return _exit_code(found[0], options, code, dissection)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "upgrade",
        "Which clients use API versions that a Kafka release rejects, or that are deprecated in it.",
    )
    add_inputs(parser)
    add_filter(parser, "judge only exchanges for which EXPR holds")
    add = parser.add_argument_group("what is judged").add_argument
    add("--target", metavar="RELEASE", type=_release, required=True, help="the release: 4.0, 3.9, 2.8.1 ...")
    add("--fail-on", choices=tuple(_FAILING), default="breaks", help="exit with 1; default: breaks")
    add_allow_unread(add)
    add("--all", action="store_true", help="also what goes on working")
    add_tables(parser)
    return parser


def _release(text: str) -> str:
    from kdissect.schema.acceptance import resolve

    try:
        return resolve(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _exit_code(facts: dict[str, Any], options: Namespace, reading: int, dissection: Dissection) -> int:
    """What breaks comes first: it stands whatever else could not be read. What was not read is not green."""
    if any(facts["outcomes"][outcome] for outcome in _FAILING[options.fail_on]):
        return FINDINGS
    if reading != OK:
        return reading
    return green(options, dissection) if facts["exchanges"] else NOTHING
