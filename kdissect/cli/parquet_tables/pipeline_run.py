"""`kdissect pipeline run`: from options to a run, and what it says on the way."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kdissect.capture.byte_source import STDIN
from kdissect.capture.filesystems import absolute, filesystem_of
from kdissect.cli.diagnostics import OK, UNREADABLE, USAGE, say
from kdissect.cli.parquet_tables.table_reports import write_reports
from kdissect.cli.parquet_tables.tables_command import NEEDED
from kdissect.engine.tables.all_tables import TABLES
from kdissect.model.endpoint import Ports
from kdissect.model.wording import plural
from kdissect.pipeline.inputs import find
from kdissect.pipeline.job import Job, OutputExistsError, Summary, run
from kdissect.pipeline.job_progress import watched
from kdissect.pipeline.spark_session import CONNECT, LOCAL, NoJavaError, find_java, open_session, quiet_home
from kdissect.pipeline.task_setup import Setup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_pipeline(options: Namespace) -> int:
    """Run the pipeline; gives the exit code. Raises ValueError for options that make no sense."""
    tables = options.tables | (NEEDED if options.report else frozenset())
    if STDIN in options.paths:
        raise ValueError("the pipeline reads files, not standard input")
    inputs = find(options.paths, options.recursive)
    hosts = None if options.numeric else options.hosts
    setup = Setup.of(inputs, Ports(options.port, options.only_port), hosts, tuple(options.keylog))
    job = Job(
        inputs,
        setup,
        absolute(options.output),
        tables,
        options.partition_by,
        options.partitions or 0,
        options.overwrite,
        options.topic_ids,
    )
    session = spark_session(options, {})
    if session is None:
        return USAGE
    code = _run(session, job)
    if code != USAGE:
        filesystem, root = filesystem_of(job.output)
        write_reports(filesystem, root, options.report)
    return code


def _run(session: SparkSession, job: Job) -> int:
    try:
        summary = watched(session, job.inputs, lambda: run(session, job))
    except OutputExistsError:
        say(f"{job.output}: there are tables already; --overwrite replaces them")
        return USAGE
    finally:
        session.stop()
    return report_run(summary)


def spark_session(options: Namespace, conf: Mapping[str, str]) -> SparkSession | None:
    """The Spark session; None, after a word about it, where there is no Java for it.

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
    """The summary on stdout, what could not be read on stderr; gives the exit code."""
    for table in TABLES:
        if table in summary.tables:
            files, rows, size = summary.tables[table]
            held = f"{plural(rows, 'row', spec='>14,'):19} {plural(files, 'file', spec='>6,'):12}"
            print(f"{table:18}{held} {size / 1e6:>10,.1f} MB")  # noqa: T201
    for row in summary.unread:
        say(f"{row.file}: {row.why}")
    for line in summary.connections.lines():
        say(f"warning: {line}")
    return UNREADABLE if summary.unread else OK
