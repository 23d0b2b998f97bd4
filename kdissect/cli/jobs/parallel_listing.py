"""The list of exchanges, made by several processes."""

from __future__ import annotations

import pickle
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from kdissect.api import Dissection
from kdissect.cli.captures.exchange_writers import Writer, writer_of
from kdissect.cli.diagnostics import UNREADABLE, say
from kdissect.cli.input_states import InputStates, joined_states, say_states, states_of
from kdissect.cli.jobs.line_merge import behind_number, line_merge
from kdissect.cli.jobs.shard_messages import LINE, NAMED, PASSED, SKIPPED
from kdissect.cli.jobs.shard_process import FILES
from kdissect.cli.jobs.worker_pool import UNTIL, JobError, Workers
from kdissect.cli.options.filter_option import open_filtered
from kdissect.cli.options.input_options import is_input, is_live
from kdissect.cli.options.output_options import writing
from kdissect.cli.output import Output
from kdissect.schema.logs import is_own_log

try:
    from _json import encode_basestring as quote
except ImportError:  # not CPython
    from json.encoder import encode_basestring as quote


def _check_jobs(parser: ArgumentParser, options: Namespace) -> None:
    """Leave with exit code 2 where the processes would need what only one has."""
    if options.format != "jsonl" or options.fields:
        parser.error("--jobs goes with --format jsonl, without -e")
    if options.topic or (options.filter is not None and options.filter.needs_topics):
        parser.error("--jobs does not go with tests of topics: names of topic ids cross connections")
    if options.filter is not None and (options.filter.needs_findings or options.filter.needs_all):
        parser.error("--jobs does not go with filters that ask for findings or numbers")


def list_in_jobs(parser: ArgumentParser, options: Namespace, arguments: Sequence[str]) -> int:
    """Print the exchanges of the inputs as one process does, and return the exit code."""
    _check_jobs(parser, options)
    dissection = open_filtered(parser, options)
    if is_live(dissection):
        parser.error("--jobs reads its inputs several times: standard input and pipes cannot be")
    if options.output and is_input(dissection, options.output):
        parser.error(f"{options.output} is one of the captures to be read")
    listing = _Listing(dissection, options)

    def body(output: Output) -> None:
        with Workers(options.jobs, arguments) as workers:
            listing.print(workers, output)
        if not (listing.printed or listing.states.was_read):
            output.keep_old()

    try:
        code = writing(parser, options, body)
    except JobError as error:
        say(str(error))
        return UNREADABLE
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what is printed is partial") from None
    return code or say_states(listing.states)


class _Listing:
    """Finishes lines. Only the search for names of topic ids reads the dissection."""

    def __init__(self, dissection: Dissection, options: Namespace) -> None:
        self._at_start = states_of(dissection, options)
        self._states_of: dict[int, InputStates] = {}  # by shard, what it sent last
        self._is_stopped = False
        self._dissection = dissection
        self._options = options
        self._writer: Writer | None = None
        self.printed = 0
        """Lines."""

    def print(self, workers: Workers, output: Output) -> None:
        """Print what the workers send."""
        left = self._options.limit or sys.maxsize
        write, merge = output.write, line_merge(self._options.jobs)
        for key, kind, *content in workers.received(merge):
            lines, count = merge.take(key, left)  # nearly all
            write(lines)
            self.printed += count
            left -= count
            if not left:
                self._is_stopped = True
                break
            if kind == UNTIL:
                continue
            if kind == FILES:
                self._states_of[content[1]] = pickle.loads(content[0])  # of our own worker
                continue
            merge.number += 1
            if kind == SKIPPED:
                continue
            if kind == PASSED:
                self._dissection.topics.pass_by(pickle.loads(content[0]))  # of our own worker
                continue
            write(b'{"number":%d,' % merge.number)
            write(self._line(kind, content, output))
            self.printed += 1
            left -= 1
            if not left:
                self._is_stopped = True
                break

    @property
    def states(self) -> InputStates:
        """State of the inputs."""
        states = joined_states(self._states_of.values()) if self._states_of else self._at_start
        dropped = self._dissection.topics.dropped
        return states._replace(names_dropped=dropped, is_over=states.is_over and not self._is_stopped)

    def _line(self, kind: int, content: Sequence[Any], output: Output) -> bytes:
        if kind == LINE:
            return bytes(content[0])
        if kind == NAMED:
            return self._named(*content)
        return behind_number(self._whole(output).line(pickle.loads(content[0])))  # of our own worker

    def _named(
        self,
        line: memoryview,
        at: int,
        capture_set: str,
        broker: str,
        topics: tuple[str, ...],
        ids: tuple[bytes, ...],
        taken: tuple[tuple[bytes, bool], ...],
    ) -> bytes:
        names = self._dissection.topics
        topics_text = b""
        if at >= 0:
            found = ",".join(map(quote, names.names_of(capture_set, broker, topics, ids)))
            topics_text = f'"topics":[{found}]'.encode("utf-8", "replace")
        for topic_id, has_records in taken:
            name = names.name_now(capture_set, broker, topic_id)
            if has_records and is_own_log(name):
                raise JobError(f"records of {name} are not what Kafka writes: read this without --jobs")
        return b"".join((line[:at], topics_text, line[at:])) if at >= 0 else bytes(line)

    def _whole(self, output: Output) -> Writer:
        if self._writer is None:
            self._writer = writer_of(self._dissection, self._options, output)
        return self._writer
