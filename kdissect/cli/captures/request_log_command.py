"""`kdissect request-log`: switches the request log of running brokers on for some time, and off."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime

from kdissect.broker_loggers.client_properties import Settings
from kdissect.broker_loggers.cluster import LOGGER, WRITES_REQUESTS, BrokerLogger, Cluster, ClusterError
from kdissect.broker_loggers.switch import Switch, switch_off, switch_on
from kdissect.cli.diagnostics import OK, UNREADABLE, say
from kdissect.cli.formats.row_table import Facts, RowTable
from kdissect.cli.formats.titled_tables import add_tables, write_tables
from kdissect.cli.options.client_config import client_settings, needs_client
from kdissect.cli.options.command_parser import command_parser
from kdissect.cli.options.live.live_options import time_span
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.model.wording import plural

_ACTIONS = ("on", "off", "status")


def run(arguments: Sequence[str]) -> int:
    """Switch the request log, or print its state. Returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if os.name != "posix":
        say("request-log needs Linux or macOS here; kafka-configs.sh has the entity type broker-loggers")
        return UNREADABLE
    needs_client("request-log")
    settings = client_settings(options.command_config)
    try:
        with Cluster(options.bootstrap, settings) as cluster:
            rows = _rows(cluster, options, settings)
    except ClusterError as error:
        say(str(error))
        return UNREADABLE
    code = writing(parser, options, lambda output: _write(options, output, rows))
    return code if code != OK else _code(rows)


def _parser() -> ArgumentParser:
    parser = command_parser(
        "request-log",
        "Switch the request log of all brokers in a cluster on for some time, or off, or print its level. "
        f"The brokers write {LOGGER} to kafka-request.log, which other commands read as a capture "
        "(docs/request-logs.md). A process in the background sets the levels back in time.",
    )
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("bootstrap", metavar="HOST:PORT,...", help="brokers to connect to first")
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="properties of a Kafka client: security.protocol, sasl.*, ssl.* (PEM files)",
    )
    parser.add_argument(
        "--for", dest="seconds", metavar="TIME", type=time_span, default=600.0,
        help="on: switch it off after 90s, 10m, 1h; default: 10m",
    )  # fmt: skip
    parser.add_argument("--level", choices=WRITES_REQUESTS, default="DEBUG", help="on: default: DEBUG")
    add_tables(parser, "loggers")
    return parser


def _rows(cluster: Cluster, options: Namespace, settings: Settings) -> list[Facts]:
    """Do what is asked. Returns a row for each broker."""
    loggers = cluster.loggers()
    before = {logger.node: logger.level for logger in loggers}
    if options.action == "on":
        loggers = switch_on(cluster, loggers, settings, options.level, options.seconds)
    elif options.action == "off":
        loggers = switch_off(cluster, loggers)
    switch = Switch.read(cluster.id)
    return [_row(logger, before.get(logger.node), switch) for logger in loggers]


def _row(logger: BrokerLogger, before: str | None, switch: Switch | None) -> Facts:
    off_at, problem = None, logger.problem
    if switch is not None and logger.node in switch.before:
        off_at = datetime.fromtimestamp(int(switch.until), UTC).isoformat().replace("+00:00", "Z")
        problem = problem or switch.problem or ("" if switch.is_guarded else "no process switches it off")
    return {
        "broker": logger.node, "address": logger.address, "before": before, "level": logger.level,
        "off_at": off_at, "problem": problem or None,
    }  # fmt: skip


def _write(options: Namespace, output: Output, rows: list[Facts]) -> None:
    table = RowTable("loggers", lambda: rows)
    write_tables(options, output, {"loggers": rows}, [table], lambda: output.write_text(_text(rows)))


def _text(rows: list[Facts]) -> str:
    return "".join(f"{_line(row)}\n" for row in rows)


def _line(row: Facts) -> str:
    """Return what is known of a broker, and what was changed."""
    before, level = row["before"] or "not known", row["level"] or "not known"
    change = level if before == level else f"{before} -> {level}"
    until = f", until {row['off_at']}" if row["off_at"] else ""
    problem = f": {row['problem']}" if row["problem"] else ""
    address = f" ({row['address']})" if row["address"] else ""
    return f"broker {row['broker']}{address}  {change}{until}{problem}"


def _code(rows: list[Facts]) -> int:
    """Report brokers of which something is wrong. Returns the exit code."""
    wrong = sum(row["problem"] is not None for row in rows)
    if not wrong:
        return OK
    say(f"{plural(wrong, 'broker')} of {len(rows)} not as asked; 'kdissect request-log off' sets levels back")
    return UNREADABLE
