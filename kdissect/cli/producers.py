"""`kdissect producers`: ids, epochs, retries, duplicates, transactions and how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from kdissect.cli.filters import add_filter, open_filtered, takes, telling_filter
from kdissect.cli.inputs import add_inputs, add_topic_ids
from kdissect.cli.output import Output
from kdissect.cli.parser import command_parser
from kdissect.cli.printing import printing
from kdissect.cli.selection import wanted_names
from kdissect.cli.tables import add_tables, write_json
from kdissect.cli.turns import Reading, read_events
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic


def run(arguments: Sequence[str]) -> int:
    """Print the producers of the captures; gives the exit code."""
    parser = command_parser(
        "producers", "Idempotent and transactional producers: what became of their batches and transactions."
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "only producers that an exchange for which EXPR holds is about")
    parser.add_argument(
        "--producer",
        metavar="GLOB",
        action="append",
        help="only these: producer, transactional or client ids",
    )
    add_tables(parser)
    options = parser.parse_args(arguments)
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = telling_filter(options, dissection)
        traffic = ProducerTraffic(dissection.topics, is_selective=accepts is not None)
        reading = Reading()
        with reading:
            read_events(dissection, lambda event: traffic.add(event, takes(accepts, event)))
        traffic.finish()
        facts = producer_facts(traffic, wanted_names(options, "--producer", "producer", options.producer))
        if options.format == "json":
            write_json(output, facts)
        else:
            from kdissect.cli.formats.producer_text import producer_text

            producer_text(facts, options, output)
        reading.over()

    return printing(parser, options, dissection, body)
