"""The suite for brokers: everything it sends, and the verdict of rules and statements on the packets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from kdissect.broker_loggers.client_properties import Settings
from kdissect.conform.broker_connection import Dialer
from kdissect.conform.broker_run import BrokerRun, NoBrokerError, NoResponseError, RunOverError, key_of
from kdissect.conform.request_bodies import Subject
from kdissect.conform.run_capture import RunCapture
from kdissect.conform.sequences.all_sequences import SEQUENCES
from kdissect.conform.sequences.refusals import refusals
from kdissect.conform.sequences.suite_topic import clean_up, prepare
from kdissect.conform.statement_results import Judged, verdict_on
from kdissect.conform.version_tests import discover, test_versions
from kdissect.model.endpoint import Endpoint
from kdissect.model.finding import Who
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.broker_statements import BROKER_STATEMENTS

_CLEANING_UP = "cleaning up"


class Wanted(NamedTuple):
    """Choices of the user. `apis` are keys, None for all. `release` are the versions of a release by key."""

    apis: Collection[int] | None = None
    release: Mapping[int, tuple[int, int] | None] | None = None
    may_change: bool = False


def test_broker(
    address: Endpoint, settings: Settings, timeout: float, wanted: Wanted, capture: BinaryIO
) -> BrokerRun:
    """Run the suite, and write its packets. Raises RunOverError if no broker can be reached at all.

    KeyboardInterrupt ends the run early: what it created is deleted.
    """
    dialer = Dialer(settings, timeout, RunCapture(capture))
    subject = Subject(os.urandom(4).hex(), time.time_ns() // 1_000_000)
    run = BrokerRun(address, dialer, subject, may_change=wanted.may_change)
    run.wanted, run.release_versions = wanted.apis, wanted.release
    run.fresh().close()  # whatever is wrong with the address is wrong with the command
    try:
        _run(run)
    except NoBrokerError:
        raise
    except RunOverError as error:
        run.over = str(error)
    except KeyboardInterrupt:
        run.over = "it was interrupted"
        run.close()  # a response may still come
        with suppress(RunOverError):
            _tried(run, _CLEANING_UP, clean_up)
    finally:
        run.close()
    return run


def _run(run: BrokerRun) -> None:
    discover(run)
    is_ready = run.has("Metadata") and _tried(run, "the topic of the suite", prepare)
    for name, one in SEQUENCES.items():
        if run.wanted is not None and set(run.wanted).isdisjoint(map(key_of, (*one.needs, *one.also))):
            continue
        lacking = [api for api in one.needs if not run.has(api)]
        if lacking:
            run.skipped[name] = f"the broker does not advertise {', '.join(lacking)}"
        elif not is_ready:
            run.skipped[name] = "there is no topic of the suite"
        else:
            _tried(run, name, one.play)
    test_versions(run)
    _tried(run, "refusals", refusals)  # at the end, because a broker may fail at them
    _tried(run, _CLEANING_UP, clean_up)


def _tried(run: BrokerRun, name: str, play: Callable[[BrokerRun], None]) -> bool:
    try:
        play(run)
    except (NoResponseError, ValueError) as error:  # ValueError: numbers of the broker that have no bytes
        run.skipped[name] = str(error)
        return False
    return True


def judged(run: BrokerRun, path: str, shown: Sequence[str], baseline: Baseline | None) -> Verdict:
    """Return the verdict on the packets of a run, with its statements. `shown` are the names of the files."""
    ports = {run.address.port, *(one.port for one in run.brokers.values())}
    return verdict_on(Judged(Who.BROKER, BROKER_STATEMENTS, run.observations, ports), path, shown, baseline)
