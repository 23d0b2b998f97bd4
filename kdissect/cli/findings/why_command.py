"""`kdissect why`: what is wrong in captures, in order, with evidence."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module

from kdissect.causes.compared import against
from kdissect.causes.diagnose import diagnose
from kdissect.causes.evidence.gathering import Gathering
from kdissect.causes.explain import explain
from kdissect.causes.registry import cause_by
from kdissect.cli.event_loop import read_and_show
from kdissect.cli.findings.cause_reading import read_causes, with_path
from kdissect.cli.input_states import report, unread_inputs
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.exchange_selection import globs
from kdissect.cli.options.filter_option import add_filter, filter_of, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import add_output, printing
from kdissect.cli.options.printed_schema import add_schema
from kdissect.cli.options.schema_option import value_faults_of
from kdissect.cli.output import Output
from kdissect.model.cause import CAUSES_SHOWN, Diagnosis, Party
from kdissect.report.causes.explanation import explanation_text
from kdissect.report.causes.json import causes_schema

# Name -> module and function. A module is imported when its format is used.
_WRITERS = {
    "text": ("kdissect.report.causes.text", "causes_text"),
    "json": ("kdissect.report.causes.json", "causes_json"),
    "markdown": ("kdissect.report.causes.markdown", "causes_markdown"),
    "html": ("kdissect.report.causes.html", "causes_html"),
}
FORMATS = tuple(_WRITERS)
_ALL = 1_000


def run(arguments: Sequence[str]) -> int:
    """Print the causes in the captures and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    good = None if options.against is None else _good(parser, options)
    dissection = open_filtered(parser, options)

    if options.explain is not None and cause_by(options.explain) is None:
        parser.error(f"--explain: there is no cause '{options.explain}': docs/why.md lists all causes")

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        gathering = Gathering(dissection.topics, accepts, value_faults_of(options, dissection, accepts))

        def show(output: Output) -> None:
            most = _ALL if options.all or good is not None else CAUSES_SHOWN
            diagnosis = diagnose(gathering, dissection.file_names, _wanted(options), most=most)
            diagnosis = diagnosis._replace(unread=unread_inputs(dissection, options))
            _write(options, output, diagnosis if good is None else against(good, diagnosis))

        def finish(output: Output) -> None:
            gathering.finish()
            if options.explain is None:
                show(output)
            else:
                output.write_text(
                    explanation_text(explain(gathering, dissection.file_names, options.explain)), "    more  "
                )

        read_and_show(dissection, options, output, lambda: read_causes(dissection, gathering), finish)

    return printing(parser, options, dissection, body)


def _parser() -> ArgumentParser:
    parser = command_parser("why", "List what is wrong in these captures, in order, with evidence.")
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only what exchanges show for which EXPR holds")
    about = parser.add_argument_group("which causes").add_argument
    for name in ("client", "group", "topic"):
        about(f"--{name}", metavar="GLOB", action="append", help=(
            f"only causes that concern a {name} with this {'id' if name == 'client' else 'name'}; may be"
            " repeated"
        ))  # fmt: skip
    about("--against", metavar="GOOD", help=(
        "only causes that are not in this capture, or cost at least double"
    ))  # fmt: skip
    about("--explain", metavar="ID", help=(
        "print the evidence for and against one cause as text, also if the cause is not printed"
    ))  # fmt: skip
    report = parser.add_argument_group("how to print them").add_argument
    report("--all", action="store_true", help=f"all causes (default: the first {CAUSES_SHOWN})")
    report("--format", choices=FORMATS, help="default: what -o FILE ends with, else text")
    report("--json", dest="format", action="store_const", const="json", help="short for --format json")
    add_schema(report, causes_schema, "the page")
    parser.set_defaults(formats=FORMATS)
    add_output(report)
    return parser


def _good(parser: ArgumentParser, options: Namespace) -> Diagnosis:
    """Return the causes in the capture of `--against`.

    Leaves with an exit code where it cannot be read.
    """
    of_good = with_path(options, options.against)
    dissection = open_filtered(parser, of_good)
    accepts = filter_of(of_good, dissection)
    gathering = Gathering(dissection.topics, accepts, value_faults_of(of_good, dissection, accepts))
    read_causes(dissection, gathering)
    gathering.finish()
    code = report(dissection, of_good)
    if code:
        parser.exit(code)
    return diagnose(gathering, dissection.file_names, _wanted(options), most=_ALL)


def _wanted(options: Namespace) -> Callable[[frozenset[Party]], bool] | None:
    """Return a test whether a cause concerns the named parties; None if the options name no party."""
    asked = {
        name: globs(getattr(options, name)) for name in ("client", "group", "topic") if getattr(options, name)
    }
    if not asked:
        return None

    def wanted(parties: frozenset[Party]) -> bool:
        return all(
            any(party.kind == name and matches(party.name) for party in parties)
            for name, matches in asked.items()
        )

    return wanted


def _write(options: Namespace, output: Output, diagnosis: Diagnosis) -> None:
    module, function = _WRITERS[options.format or "text"]
    writer: Callable[[Diagnosis], str] = getattr(import_module(module), function)
    page = writer(diagnosis)
    if options.format in (None, "text"):
        output.write_text(page, "    more  ")
    else:
        output.write(page.encode("utf-8", "replace"))
