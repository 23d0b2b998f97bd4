"""`kdissect fetch-sessions`: who builds fetch sessions anew, and who polls for nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.filters import add_filter, open_filtered, takes, telling_filter
from kdissect.cli.inputs import add_inputs
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_events
from kdissect.stats.fetch_session_traffic import FetchSessionTraffic, fetch_session_facts


def run(arguments: Sequence[str]) -> int:
    """Print the fetch sessions of the captures; gives the exit code."""
    parser = command_parser(
        "fetch-sessions",
        "Incremental fetch sessions (KIP-227): how often they are rebuilt and why, empty polls.",
    )
    add_inputs(parser, live=True)
    add_filter(parser, "only clients with a Fetch for which EXPR holds")
    add_tables(parser)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        traffic = FetchSessionTraffic()
        accepts = telling_filter(options, dissection)
        reading = Reading()
        with reading:
            read_events(dissection, lambda event: traffic.add(event, takes(accepts, event)))
        traffic.finish()
        facts = fetch_session_facts(traffic)
        if options.format == "json":
            write_json(output, facts)
        else:
            from kdissect.cli.formats.fetch_session_text import fetch_session_text

            fetch_session_text(facts, options, output)
        reading.over()

    return printing(parser, options, dissection, body)
