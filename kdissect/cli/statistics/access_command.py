"""`kdissect access`: operations on resources, allowed and denied, and the fewest ACLs that permit them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kdissect.cli.event_loop import read_traffic
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import Tables, add_tables, write_tables
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.filter_option import add_filter, open_filtered, reporting_filter
from kdissect.cli.options.input_options import add_inputs, add_topic_ids
from kdissect.cli.options.output_options import printing
from kdissect.cli.output import Output
from kdissect.model.wording import plural
from kdissect.report.acl_texts import ACL_FORMS, acl_lines
from kdissect.report.columns.access import access_columns, acl_columns, lacking_columns
from kdissect.report.printable import printable
from kdissect.stats.by_access.access_rows import Cluster, Existing, access_facts, clusters_of
from kdissect.stats.by_access.access_traffic import AccessTraffic
from kdissect.stats.by_access.acl import ANY_NAME
from kdissect.stats.by_access.known_acls import listed_in
from kdissect.stats.comparison.sides import NO_CLIENT_ID

_TABLES = "access", "acls", "unused", "lacking"


def run(arguments: Sequence[str]) -> int:
    """Print the accesses in the captures and return the exit code."""
    parser = command_parser(
        "access",
        "List what each principal and client used on topics, groups, transactional ids, the cluster and "
        "delegation tokens, allowed and denied, and the fewest ACLs that permit it.",
    )
    add_inputs(parser, live=True)
    add_topic_ids(parser)
    add_filter(parser, "count only exchanges for which EXPR holds")
    add = parser.add_argument_group("ACLs").add_argument
    add("--acls", choices=ACL_FORMS, help=(
        "print the fewest ACLs that permit the captured traffic: commands, Strimzi KafkaUsers, or Terraform "
        "(provider Mongey/kafka)"
    ))  # fmt: skip
    add("--patterns", action="store_true", help="use prefixes and wildcards for three names or more")
    add("--with-denied", action="store_true", help="also ACLs for what was denied")
    add("--existing", metavar="FILE", help=(
        "compare with the output of kafka-acls --list (default: DescribeAcls responses in the captures)"
    ))  # fmt: skip
    add_tables(parser, *_TABLES, times=True)
    options = parser.parse_args(arguments)
    if options.acls and (options.format or options.fields or options.table or options.sort or options.limit):
        parser.error("--acls prints a text of its own: leave out --format, --table, -e, --sort and --limit")
    existing = None
    if options.existing is not None:
        try:
            text = Path(options.existing).read_text(encoding="utf-8", errors="surrogateescape")
            existing = Existing(listed_in(text), options.existing, is_complete=True)
        except OSError as error:
            parser.error(f"cannot read {options.existing!r}: {error.strerror}")
        except ValueError as error:
            parser.error(f"{options.existing!r} is no output of kafka-acls --list: {error}")
    dissection = open_filtered(parser, options)

    def body(output: Output) -> None:
        accepts = reporting_filter(options, dissection)
        traffic = AccessTraffic(dissection.topics)

        def show(output: Output) -> None:
            clusters = clusters_of(traffic, patterns=options.patterns, with_denied=options.with_denied)
            facts = access_facts(traffic, clusters, existing)
            if options.acls:
                _write_acls(clusters, facts, options, output)
                return
            tables = [RowTable(name, partial(facts.__getitem__, name)) for name in _TABLES]
            write_tables(options, output, facts, tables, lambda: _write_tables(facts, options, output))

        read_traffic(dissection, traffic, accepts, options, output, show)

    return printing(parser, options, dissection, body)


def _write_acls(clusters: Sequence[Cluster], facts: Facts, options: Namespace, output: Output) -> None:
    """Write the ACLs of each cluster, after what they are based on."""
    for cluster in clusters:
        notes = list(_notes(facts, cluster, options))
        for line in acl_lines(cluster.acls, options.acls, notes):
            output.write(line.encode("utf-8", "replace") + b"\n")


def _notes(facts: Facts, cluster: Cluster, options: Namespace) -> Sequence[str]:
    rows = [row for row in facts["access"] if row.get("cluster", "") == cluster.name]
    notes = [_window(facts)]
    if cluster.name:
        notes.insert(0, f"cluster {cluster.name}")
    unknown = [row for row in rows if row["principal"] is None]
    if unknown:
        names = ", ".join(sorted({row["client_id"] or NO_CLIENT_ID for row in unknown})[:10])
        notes.append(f"no ACLs for clients whose principal the capture does not show: {names}")
    every = [row for row in rows if ANY_NAME in (row["principal"], row["name"])]
    if every:
        notes.append(
            f"no ACLs for {plural(len(every), 'access', 'accesses')} with the name *, which means all"
        )
    denied = [row for row in rows if row["denied"]]
    if denied and not options.with_denied:
        notes.append(f"no ACLs for {plural(len(denied), 'access', 'accesses')} denied (--with-denied)")
    if facts["forgotten"]:
        notes.append("the ACLs are incomplete: there was more than fits")
    return notes


def _window(facts: Facts) -> str:
    window = facts["window"]
    if window["first_time"] is None:
        return "no request that needs a permission was seen"
    return f"seen from {window['first_time']} to {window['last_time']}"


def _write_tables(facts: Facts, options: Namespace, output: Output) -> None:
    """Write who used what, then differences from existing ACLs."""
    tables = Tables(options, output)
    tables.line(_window(facts), "dim")
    tables.table(access_columns(), facts["access"])
    existing = facts["existing"]
    if existing is not None:
        count = plural(existing["count"], "ACL")
        tables.heading(printable(f"compared with {count} of {existing['source']}"))
        if not existing["is_complete"]:
            tables.line("no response lists all ACLs: others may exist", "odd")
        if facts["unused"] and any(row["principal"] is None for row in facts["access"]):
            tables.line(
                "clients whose principal is unknown may have used ACLs that appear as not used", "odd"
            )
        tables.section("granted and not used", acl_columns(), facts["unused"])
        tables.section("used and not granted", lacking_columns(), facts["lacking"])
    tables.left_out(facts)
