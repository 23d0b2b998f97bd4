"""The suite for clients: each situation with a new cluster and a new start of the command."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NamedTuple

from kdissect.conform.client.client_process import ClientProcess
from kdissect.conform.client.exchange_log import FETCH, PRODUCE, Asked, key_of, repeats_records
from kdissect.conform.client.expectations import GOES_ON, Absent, Expectation, Scene, goes_on
from kdissect.conform.client.scripted_cluster import ScriptedCluster, versions_of
from kdissect.conform.client.situations import SITUATIONS, Situation, SituationScript
from kdissect.conform.conform_report import NOT_PLAYED
from kdissect.conform.run_capture import RunCapture
from kdissect.conform.statement_results import Judged, Observation, verdict_on
from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.report.baseline import Baseline
from kdissect.report.verdict import Verdict
from kdissect.rules.client_statements import CLIENT_STATEMENTS
from kdissect.rules.rule import RESPONSE
from kdissect.schema.acceptance import label
from kdissect.schema.protocol_messages import api_name

PLAIN = Situation("nothing", "the cluster does what Kafka does", (), (), times=0)
PASSED, FAILED, NOT_REACHED, OPEN = "passed", "failed", "not reached", "not concluded"
_RESULTS = (PASSED, FAILED, OPEN, NOT_REACHED, NOT_PLAYED)
_LOOK_S = 0.05
_FORBIDS = (Absent.PASSES, Absent.PASSES_WHILE_IT_RUNS, Absent.SAYS_NOTHING)
_WATCH_S = 2.5  # after the situation, for what must not happen
_PLAIN_S = 6.0  # after the first records, so that members of groups send heartbeats and commits
ENOUGH_S = 10.0
"""Seconds without what is expected that prove a failure. Clients back off for at most a few seconds."""


class Played(NamedTuple):
    """A situation with its result. `command` is how the command ended."""

    situation: Situation
    result: str
    requests: int
    command: str
    why: str = ""


class ClientRun:
    """A run with a command. `versions` counts requests by API key and version."""

    def __init__(
        self, command: Sequence[str], release: str, timeout: float, topics: Sequence[str] = ()
    ) -> None:
        self.command = command
        self.release = release
        self.timeout = timeout
        self.topics = topics
        """Topics that clusters have from the start."""
        self.observations: list[Observation] = []
        self.played: list[Played] = []
        self.versions: Counter[tuple[int, int]] = Counter()
        self.responses: set[tuple[int, int]] = set()
        """Keys and versions of requests that had a response."""
        self.ports: set[int] = set()
        self.repeats = False
        """Whether the command wrote equal records in several batches when nothing was played."""
        self.start_s = 0.0
        """Seconds from the first request to the first Produce or Fetch when nothing was played."""
        self.over = ""
        """The reason why the run ended early."""

    @property
    def used(self) -> set[int]:
        """Keys of APIs that the client used."""
        return {key for key, _ in self.versions}


def play_situations(run: ClientRun, names: Iterable[str], capture: BinaryIO) -> None:
    """Play the situations with these names, all without names, and write the packets.

    Raises OSError if the command cannot be started. KeyboardInterrupt ends the run early.
    """
    wanted = set(names)
    packets = RunCapture(capture)
    try:
        _play(run, PLAIN, packets, frozenset())
        if not run.versions:
            run.played[0] = run.played[0]._replace(why="the command sent no request")
            return
        used = frozenset(run.used)
        for situation in SITUATIONS:
            if run.over:
                return
            if wanted and situation.name not in wanted:
                continue
            why = _why_not(run, situation, used)
            if why:
                run.played.append(Played(situation, NOT_PLAYED, 0, "not started", why))
            else:
                _play(run, situation, packets, used)
    except KeyboardInterrupt:
        run.over = "it was interrupted"


def _why_not(run: ClientRun, situation: Situation, used: frozenset[int]) -> str:
    """Return the reason why a situation says nothing about a client, or an empty text."""
    names = situation.wants or situation.apis
    needed = {key_of(name) for name in names}
    if needed and needed.isdisjoint(used):
        return f"the client sends no {' or '.join(names)}"
    if used.isdisjoint(GOES_ON) and any(one.check is goes_on for one in situation.expected):
        return "the client sends no Produce, Fetch or Metadata"
    release = situation.release or run.release
    lacking = (used if situation.release else needed) - versions_of(release).keys()
    if lacking and (situation.release or lacking == needed):
        apis = ", ".join(api_name(key) or str(key) for key in sorted(lacking))
        return f"Kafka {label(release)} does not have {apis}"
    return ""


def _play(run: ClientRun, situation: Situation, packets: RunCapture, used: frozenset[int]) -> None:
    """Play one situation. The cluster and the command have ended afterwards."""
    script = SituationScript(situation)
    cluster = ScriptedCluster(versions_of(situation.release or run.release), script, packets)
    cluster.state.has_sessions = situation.has_sessions
    for topic in run.topics:
        cluster.state.topics.named(topic)
    run.ports |= {one.port for one in cluster.addresses.values()}
    try:
        process = ClientProcess(run.command, cluster.bootstrap)
        try:
            scene = _Watched(run, cluster, script, process, used)
            scene.watch()
            status = process.status
        finally:
            process.end()
    finally:
        cluster.stop()
    if cluster.fault is not None:
        what = f"{type(cluster.fault).__name__}: {cluster.fault}"
        run.over = f"kdissect failed in the situation {situation.name}: {what}"
    if situation is PLAIN:
        run.repeats = repeats_records(cluster.asked)
        first = _first_records(cluster.asked)
        run.start_s = first.at - cluster.asked[0].at if first is not None else 0.0
    run.versions.update((one.key, one.version) for one in cluster.asked)
    run.responses |= {(one.key, one.version) for one in cluster.asked if one.reply is not None}
    run.played.append(scene.conclude(status))
    run.observations += scene.observations


def _first_records(asked: Sequence[Asked]) -> Asked | None:
    return next((one for one in asked if one.key in (PRODUCE, FETCH)), None)


class _Watched:
    """A situation that is being played, and what is known of its expectations."""

    def __init__(
        self,
        run: ClientRun,
        cluster: ScriptedCluster,
        script: SituationScript,
        process: ClientProcess,
        used: frozenset[int],
    ) -> None:
        self.observations: list[Observation] = []
        self._run = run
        self._cluster = cluster
        self._script = script
        self._process = process
        self._used = used
        self._is_watched = False
        self._open: list[Expectation] = list(script.situation.expected)
        self._last_step = 0.0
        """Time at which the client last did what is expected."""
        self._end = 0.0
        """Time at which the cluster was last watched."""

    def watch(self) -> None:
        """Wait until all is known, the command ends, or the time is over.

        The time goes on after the situation was played, so that the client has enough of it for each step.
        """
        deadline = time.monotonic() + self._run.timeout
        while not self._cluster.problem:
            has_ended = self._process.status is not None
            with self._cluster.changed:
                self._end = time.monotonic()
                self._look()
                if has_ended or self._is_done() or self._end > max(deadline, self._enough_at()):
                    return
            time.sleep(_LOOK_S)

    def _enough_at(self) -> float:
        """Return the time from which silence proves a failure, 0 before the situation is played."""
        trigger = self._trigger
        if trigger is None:
            return 0.0
        event = trigger.at if trigger.replied_at is None else trigger.replied_at
        return max(event, self._last_step) + ENOUGH_S + self._run.start_s

    def _is_done(self) -> bool:
        if self._script.situation is PLAIN:
            first = _first_records(self._cluster.asked)
            return first is not None and time.monotonic() - first.at > _PLAIN_S
        trigger = self._trigger
        if trigger is None or trigger.replied_at is None:
            return False
        is_watched = time.monotonic() - trigger.replied_at > _WATCH_S
        if not self._only_forbidden():
            return False
        self._is_watched = is_watched
        return is_watched or not self._open

    def _only_forbidden(self) -> bool:
        """Whether no expectation is open but those that wait for what must not happen."""
        return all(one.absent in _FORBIDS for one in self._open)

    @property
    def _trigger(self) -> Asked | None:
        return self._script.played[0] if self._script.played else None

    def _look(self) -> None:
        trigger = self._trigger
        if trigger is None:
            return
        scene = Scene(self._cluster.asked, trigger, self._cluster.state, self._used, self._run.repeats)
        for one in list(self._open):
            seen = one.check(scene)
            if seen is not None:
                self._open.remove(one)
                self._last_step = max(self._last_step, seen.asked.at)
                self.observations.append(
                    Observation(one.code, seen.asked.place, seen.passed, one.expected, seen.text)
                )

    def conclude(self, status: int | None) -> Played:
        """Conclude what is open, and return the result. `status` is None if kdissect ended the command."""
        self._look()
        ended = _ended(status, self._process.last_line)
        trigger = self._trigger
        situation, count = self._script.situation, len(self._cluster.asked)
        if situation is PLAIN:
            return Played(situation, PASSED if count else NOT_REACHED, count, ended, self._cluster.problem)
        if trigger is None:
            why = f"the client sent no such {' or '.join(situation.apis) or 'request'}"
            return Played(situation, NOT_REACHED, count, ended, self._cluster.problem or why)
        if not self._is_answered(trigger, status):
            why = "the run ended before the response"
            return Played(situation, NOT_REACHED, count, ended, self._cluster.problem or why)
        left = [one.code for one in self._open if not self._is_concluded(one, trigger, status)]
        if any(not one.passed for one in self.observations):
            return Played(situation, FAILED, count, ended)
        if left:
            ended_itself = status is not None
            why = self._cluster.problem or f"{'the command' if ended_itself else 'the time'} ended before"
            return Played(situation, OPEN, count, ended, f"{', '.join(left)}: {why}")
        return Played(situation, PASSED, count, ended)

    def _is_answered(self, trigger: Asked, status: int | None) -> bool:
        """Whether the response was sent while the client ran, not because kdissect ended the client."""
        return trigger.replied_at is not None and (status is not None or trigger.replied_at <= self._end)

    def _is_concluded(self, one: Expectation, trigger: Asked, status: int | None) -> bool:
        """Add the result of an expectation of which nothing was seen. Returns False if there is none."""
        if one.absent is Absent.SAYS_NOTHING:
            return True
        passed = one.absent in _FORBIDS
        if one.absent is Absent.PASSES_WHILE_IT_RUNS and not self._is_watched:
            return False
        may_end = status == 0 or (status is not None and one.absent is Absent.FAILS_WHILE_IT_RUNS)
        if not passed and (may_end or self._cluster.problem):
            return False
        seen = "nothing of the kind" if passed else f"none {self._until(trigger, status)}"
        self.observations.append(
            Observation(one.code, trigger.place, passed, one.expected, seen, side=RESPONSE)
        )
        return True

    def _until(self, trigger: Asked, status: int | None) -> str:
        if status is not None:
            return f"before the command ended ({_status(status)})"
        return f"within {int(self._end - (trigger.replied_at or trigger.at))} s after the response"


def _ended(status: int | None, last_line: str) -> str:
    if status is None:
        return "ended by kdissect"
    said = f": {last_line}" if status and last_line else ""
    return f"{_status(status)}{said}"


def _status(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def judged(run: ClientRun, path: str, shown: Sequence[str], baseline: Baseline | None) -> Verdict:
    """Return the verdict on the packets of a run, with its statements. `shown` are the names of the files."""
    return verdict_on(
        Judged(Who.CLIENT, CLIENT_STATEMENTS, run.observations, run.ports), path, shown, baseline
    )


def head_of(run: ClientRun) -> str:
    """Return the first line of the report."""
    counts = Counter(one.result for one in run.played if one.situation is not PLAIN)
    results = ", ".join(f"{counts[one]} {one}" for one in _RESULTS if counts[one])
    return f"{plural(sum(counts.values()), 'situation')}: {results or 'none was played'}"
