"""`kdissect pipeline run`: from options to a run, and what it says on the way."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence
from socket import gethostname
from typing import TYPE_CHECKING, Any

from kdissect.api import Dissection
from kdissect.capture.byte_source import STDIN
from kdissect.capture.files import open_captures
from kdissect.capture.filesystems import absolute, filesystem_of
from kdissect.cli.diagnostics import OK, UNREADABLE, USAGE, say
from kdissect.cli.options.input_options import open_inputs
from kdissect.cli.options.schema_option import schemas_of
from kdissect.cli.parquet_tables.table_formats import DELTA
from kdissect.cli.parquet_tables.table_reports import write_reports
from kdissect.cli.parquet_tables.tables_command import wanted_tables
from kdissect.cli.parquet_tables.write_tables import print_counts, write_and_report
from kdissect.model.endpoint import Ports
from kdissect.model.native import is_compiled
from kdissect.pipeline.inputs import IS_STREAM, Inputs, find
from kdissect.pipeline.job import ALWAYS, Job, MissingPackagesError, Summary, run
from kdissect.pipeline.job_progress import watched
from kdissect.pipeline.spark_session import (
    CONNECT,
    LOCAL,
    SHORT,
    NoJavaError,
    find_java,
    open_session,
    quiet_home,
)
from kdissect.pipeline.table_files.commit import OutputExistsError
from kdissect.pipeline.task_setup import Setup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Below this number of bytes of captures, one process ends before Spark has started, which takes 8 s of CPU.
AUTO_BYTES = 200 * 10**6
_HOSTS_SHOWN = 5


def run_pipeline(options: Namespace) -> int:
    """Run the pipeline and return the exit code. Raises ValueError for options that make no sense."""
    tables = wanted_tables(options)
    if STDIN in options.paths:
        raise ValueError("the pipeline reads files, not standard input")
    inputs = find(options.paths, options.recursive)
    if takes_local_engine(options, inputs):
        return _run_locally(options, inputs, tables | {ALWAYS})
    hosts = None if options.numeric else options.hosts
    setup = Setup.of(inputs, Ports(options.port, options.only_port), hosts, tuple(options.keylog))
    setup = setup._replace(fields=options.fields, schemas=schemas_of(options))
    job = Job(
        inputs,
        setup,
        absolute(options.output),
        tables,
        options.partition_by,
        options.partitions or 0,
        options.overwrite,
        options.topic_ids,
        options.format == DELTA,
    )
    session = spark_session(options, SHORT if options.master.startswith("local") else {})
    if session is None:
        return USAGE
    code = _run(session, job)
    if code != USAGE:
        filesystem, root = filesystem_of(job.output)
        write_reports(filesystem, root, options.report)
    return code


def takes_local_engine(options: Namespace, inputs: Inputs) -> bool:
    """Return whether this process makes the tables. Raises ValueError for options that do not go together."""
    asks_for_spark = options.master != LOCAL or options.conf or options.partitions
    if options.engine == "local" and asks_for_spark:
        raise ValueError("--engine local runs without Spark: --master, --conf and --partitions are of Spark")
    if options.engine != "auto" or asks_for_spark:
        return bool(options.engine == "local")
    of_unknown_size = (file.error == IS_STREAM if file.error else file.size is None for file in inputs.files)
    return inputs.total_bytes < AUTO_BYTES and not any(of_unknown_size)


def _run_locally(options: Namespace, inputs: Inputs, tables: frozenset[str]) -> int:
    if options.engine == "auto":
        size = f"{inputs.total_bytes / 1e6:.1f} MB"
        say(f"{size}: by this process, which is done before Spark would have started (--engine spark)")

    def opened(paths: Sequence[str], *arguments: Any, **named: Any) -> Dissection:
        captures = open_captures(list(paths), recursive=options.recursive)
        return Dissection(captures, *arguments, **named)

    return write_and_report(open_inputs(options, opened), options, tables)


def _run(session: SparkSession, job: Job) -> int:
    try:
        summary = watched(session, lambda: run(session, job))
    except OutputExistsError:
        say(f"{job.output}: there are tables already; --overwrite replaces them")
        return USAGE
    except MissingPackagesError as error:
        say(str(error))
        return USAGE
    finally:
        session.stop()
    return report_run(summary)


def spark_session(options: Namespace, conf: Mapping[str, str]) -> SparkSession | None:
    """Return the Spark session; None, after a line about it, without a suitable Java.

    `conf` are settings that the user's go before.
    """
    if not options.master.startswith(CONNECT):
        try:
            java = find_java()
        except NoJavaError as error:
            say(str(error))
            return None
        is_embedded = options.master.startswith("local")
        os.environ["JAVA_HOME"] = quiet_home(java.home) if is_embedded else java.home
        say(java.told)
    if options.master != LOCAL:
        say(f"Spark at {options.master}")
    return open_session(options.master, {**conf, **dict(options.conf)})


def report_run(summary: Summary) -> int:
    """Print the summary on stdout and unreadable inputs on stderr, and return the exit code."""
    print_counts(summary.files)
    for row in summary.unread:
        say(f"{row.file}: {row.why}")
    for line in summary.connections.lines():
        say(f"warning: {line}")
    if summary.uncompiled and (is_compiled or summary.uncompiled != {gethostname()}):
        hosts = ", ".join(sorted(summary.uncompiled)[:_HOSTS_SHOWN])
        more = " ..." if len(summary.uncompiled) > _HOSTS_SHOWN else ""
        say(f"warning: slower by much, without the compiled part on {hosts}{more} (docs/native.md)")
    return UNREADABLE if summary.unread else OK
