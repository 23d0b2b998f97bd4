"""The loop of a flight recorder: packets to the ring, symptoms to incidents, incidents to files.

Everything happens between two batches of packets, in the thread of the analysis. A copy of the process
ends an analysis, which waits for it. Other processes write the files of an incident.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kdissect.capture.capture_file import STEP_NS
from kdissect.capture.live.process_copy import ProcessCopy, write_all
from kdissect.engine.times import SECOND_NS
from kdissect.recorder.exchange_condition import ExchangeCondition
from kdissect.recorder.feed import Feed
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident
from kdissect.recorder.incident_job import IncidentJob
from kdissect.recorder.incidents import Incidents
from kdissect.recorder.release import trim
from kdissect.recorder.replayed_files import ReplayedFiles
from kdissect.recorder.segments import segments_within
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.stretch import Stretch
from kdissect.recorder.symptom import MARK, Symptom
from kdissect.recorder.watch import Watch

EVALUATED_EVERY_S = 5.0
_LOOK_S = 0.25
_PACKETS_PART = 20  # evaluations take one part of the time in this number
_PATIENCE_S = 120.0  # a copy that takes longer is ended
_FLUSH_S = 1.5  # capturing programs gather packets for up to a second
# An analysis reads the packets before it again: a quarter of its packets at most.
_ANALYSIS_S, _ANALYSIS_PARTS = 600.0, 4
_ATTEMPTS, _ATTEMPT_EVERY_S = 3, 10.0


class FlightRecorder:
    """A recorder, `run` once. `files` are finished captures, None for a capture that goes on.

    `say` takes lines for people, `opened` each new incident. With `has_fresh_steps`, the steps of an incident
    have no memory of this process, and must be able to read the modules of kdissect.
    """

    def __init__(
        self,
        settings: RecorderSettings,
        folder: Folder,
        say: Callable[[str], object],
        files: ReplayedFiles | None = None,
        opened: Callable[[Incident], object] = lambda _incident: None,
        has_fresh_steps: bool = False,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._say = say
        self._files = files
        self._has_fresh_steps = has_fresh_steps
        self.incidents = Incidents(folder, settings, say, opened)
        self.signalled = 0
        """Signals that ask for an incident. A signal handler counts them."""
        self._signals_seen = 0
        self.feed: Feed | None = None
        self._watch: Watch | None = None
        self._evaluated_s = self._looked_s = 0.0
        self._evaluations_s = [time.monotonic()] * 2  # when the last two began
        self._has_failed = False
        self._before: list[Symptom] = []
        self._writing: IncidentJob | None = None
        self._attempts: dict[str, int] = {}
        self._next_attempt_s = 0.0
        self._clock_offset_ns = time.time_ns() - time.monotonic_ns()

    @property
    def now_ns(self) -> int:
        """The time of the packets that come now."""
        if self._files is not None:
            return self._files.now_ns
        return time.time_ns() if self.feed is None else self.feed.now_ns

    def run(self, feed: Feed) -> None:
        """Record until the capture ends. Raises OSError where the folder cannot be written."""
        self.feed = feed
        opened = feed.opened()
        old: list[str] = []
        while True:
            stretch = Stretch(old, opened, self._is_enough, self.look, feed.is_late)
            self._began_s = self._clock_s()
            self._watch = Watch(stretch, self._settings.reading, self._settings.conditions)
            self._evaluated_s = time.monotonic()
            self._watch.run()
            if feed.is_over:
                break
            self._watch.release()
            self._watch = None
            gc.collect()  # before the next analysis needs memory
            trim()
            # after a loss of packets the analysis begins without those before
            old = self._old(stretch.latest) if self._is_enough() else []
        self._finish()

    def write_open(self) -> None:
        """Write the incidents that an earlier process left open."""
        for incident in list(self.incidents.open):
            self._write_now(incident)

    def look(self) -> None:
        """Look for everything that is due. Called between batches of packets, and while there are none."""
        if self._files is not None:
            self._look_at_files(self._files)
            return
        now_s = time.monotonic()
        if now_s < self._looked_s + _LOOK_S:
            return
        self._looked_s = now_s
        self._say_notes()
        self._look_at_clock()
        self._look_at_marks()
        self._look_at_exchanges()
        self._look_at_evaluation(now_s)
        self._look_at_files_of_incidents(now_s)

    def _look_at_files(self, files: ReplayedFiles) -> None:
        assert self.feed is not None
        lag = self.feed.captures.lag
        if lag.analysed < lag.written or not files.is_written(_LOOK_S) or lag.analysed < lag.written:
            return
        if files.is_slice_over:
            self._look_at_clock()
            self._look_at_marks()
            self._look_at_exchanges()
            if self._watch is not None and self._watch.is_about_causes_or_rules():
                self._take_evaluation(self._evaluate())
            while (incident := self.incidents.due(files.now_ns)) is not None:
                self._write_now(incident)
        files.go_on()

    # symptoms

    def _look_at_marks(self) -> None:
        texts = list(self._folder.take_marks())
        if self.signalled > self._signals_seen:
            texts.append("SIGUSR1")
            self._signals_seen = self.signalled
        now_ns = self.now_ns
        marks = [
            Symptom(MARK, "mark", "", "mark", text or "a person asked for it", (), now_ns, now_ns, 1)
            for text in texts
        ]
        if marks:
            self.incidents.see(marks, now_ns)

    def _look_at_exchanges(self) -> None:
        conditions = [one for one in self._settings.conditions if isinstance(one, ExchangeCondition)]
        symptoms = [one.take_symptom() for one in conditions]
        found = [one for one in symptoms if one is not None]
        if found:
            self.incidents.see(found, self.now_ns)

    def _look_at_evaluation(self, now_s: float) -> None:
        if self._watch is None or not self._watch.is_about_causes_or_rules():
            return
        if self._writing is not None and self._writing.is_running:
            return  # an evaluation has the memory of a second analysis, and so has a step of an incident
        is_pause = self._writing is not None and now_s >= self._next_attempt_s
        if is_pause or now_s >= self._evaluated_s + EVALUATED_EVERY_S:
            self._take_evaluation(self._evaluate())
            self._evaluations_s = [self._evaluations_s[1], now_s]
            took_s = time.monotonic() - now_s
            self._evaluated_s = now_s + max(_PACKETS_PART * took_s, EVALUATED_EVERY_S) - EVALUATED_EVERY_S

    def _evaluate(self) -> ProcessCopy | None:
        """Begin to end the analysis, in a copy of the process; None if there is no memory for one.

        The process waits for it: it would write to the pages that both share.
        """
        watch = self._watch
        assert watch is not None

        def compute(handle: int) -> None:
            self._folder.close()  # the lock is of the process that goes on
            rows = [list(one) for one in watch.symptoms()]
            write_all(handle, json.dumps(rows, ensure_ascii=True).encode())

        try:
            return ProcessCopy(compute)
        except OSError:
            return None

    def _take_evaluation(self, copy: ProcessCopy | None) -> None:
        if copy is None:
            return
        assert self.feed is not None
        until_s = time.monotonic() + _PATIENCE_S
        while not copy.poll(_LOOK_S) and time.monotonic() < until_s and not self.feed.is_stopped:
            continue
        found = copy.end()
        if found is not None:
            self._has_failed = False
            self._judge([Symptom.from_row(row) for row in json.loads(found)], is_last=False)
            return
        if self.feed.is_stopped:
            return  # the last evaluation follows
        if not self._has_failed:
            self._say("an evaluation failed, or took too long: causes are looked for again later")
        self._has_failed = True

    def _judge(self, symptoms: list[Symptom], is_last: bool) -> None:
        """Take the symptoms for which a condition holds.

        An analysis that goes on may take back what it found: requests without a response get one. So a
        symptom counts if two evaluations in a row have it, or the last one.
        """
        held = []
        for symptom in symptoms:
            for condition in self._settings.conditions:
                if not isinstance(condition, ExchangeCondition) and condition.holds(symptom):
                    held.append(symptom._replace(condition=condition.text))
                    break
        sure = [one for one in held if is_last or any(map(one.is_problem_of, self._before))]
        self._before = held
        if sure:
            self.incidents.see(sure, self.now_ns, self._late_ns())

    def _late_ns(self) -> int:
        """Return the time since the evaluation before the last one: a symptom may have ended soon after it.

        It is long if a step of an incident delayed the evaluations.
        """
        if self._files is not None:
            return 0  # the packets wait for the evaluations
        return int((time.monotonic() - self._evaluations_s[0]) * SECOND_NS)

    # files of incidents

    def _look_at_files_of_incidents(self, now_s: float) -> None:
        job = self._writing
        if job is not None and job.is_running:
            if job.poll(0.0) and job.facts is not None:
                self._take_written(job, now_s)
        elif now_s >= self._next_attempt_s:
            due = self.incidents.due(self.now_ns - int(_FLUSH_S * SECOND_NS))
            if job is None and due is not None:
                self._writing = IncidentJob(self._folder, self._settings, due, self._has_fresh_steps)
            self._begin_step(now_s)

    def _begin_step(self, now_s: float) -> None:
        if self._writing is not None:
            try:
                self._writing.begin()
            except OSError:
                self._next_attempt_s = now_s + _ATTEMPT_EVERY_S

    def _write_now(self, incident: Incident) -> None:
        while incident in self.incidents.open:
            self._writing = IncidentJob(self._folder, self._settings, incident, self._has_fresh_steps)
            self._end_writing()

    def _end_writing(self) -> None:
        """Do all further steps of the incident that is being written."""
        while (job := self._writing) is not None:
            if not job.is_running:
                self._begin_step(time.monotonic())
            if not job.is_running:
                time.sleep(1.0)  # there may be memory for a process then
            elif job.poll(1.0) and job.facts is not None:
                self._take_written(job, time.monotonic())

    def _take_written(self, job: IncidentJob, now_s: float) -> None:
        self._writing = None
        incident, facts = job.incident, job.facts or {}
        error = facts.get("error")
        if error is None:
            incident.written = facts
            self.incidents.complete(incident)
            self._attempts.pop(incident.id, None)
            self.incidents.describe(incident)  # with symptoms that came meanwhile
            self._say(f"incident {incident.id} is complete: {self._folder.incident_path(incident.id)}")
            return
        attempts = self._attempts[incident.id] = self._attempts.get(incident.id, 0) + 1
        self._next_attempt_s = now_s + _ATTEMPT_EVERY_S
        self._say(f"incident {incident.id} cannot be written: {error}")
        if facts.get("is_full"):
            self._remove_before(incident)
        if attempts >= _ATTEMPTS:
            self.incidents.give_up(incident)

    def _remove_before(self, incident: Incident) -> None:
        """Remove the packets of the ring that no incident needs any more: the disk has no space."""
        segments = self._folder.segments()
        needed = segments_within(segments, [[incident.spans[0][0], self.now_ns]])
        for path in segments[: segments.index(needed[0])] if needed else ():
            with suppress(OSError):
                Path(path).unlink()

    # the ring and the clock

    def _is_enough(self) -> bool:
        """Return whether the analysis is long enough: the next one begins with less memory."""
        self._began_s = self._began_s or self._clock_s()  # files have no time before their first packet
        longest_s = max(_ANALYSIS_S, _ANALYSIS_PARTS * self._settings.before_s)
        return self._clock_s() - self._began_s >= longest_s

    def _clock_s(self) -> float:
        """Return a time in seconds by which an analysis ends. Nobody sets this clock."""
        return time.monotonic() if self._files is None else self._files.clock()

    def _old(self, latest: str) -> list[str]:
        """Return the files with which the next analysis begins: the packets before, up to a file.

        Packets without content would be holes for it.
        """
        if self._settings.headers_only:
            return []
        segments = self._folder.segments()
        known = segments[: segments.index(latest) + 1] if latest in segments else []
        now_ns = self.now_ns
        return segments_within(known, [[now_ns - self._settings.before_ns, now_ns]])

    def _look_at_clock(self) -> None:
        by_ns = self._clock_set_by_ns()
        if by_ns:
            self._say(f"the clock was set by {by_ns / 1e9:+.1f} s")
            self.incidents.step(self.now_ns - by_ns, by_ns)

    def _clock_set_by_ns(self) -> int:
        """Return by how much the clock was set since the last call. That of packets is only seen to be set
        back: they may come late.
        """
        if self._files is not None:
            return self._files.take_set_by_ns()
        assert self.feed is not None
        if self.feed.is_remote:
            return self.feed.take_set_by_ns()
        offset_ns = self.now_ns - time.monotonic_ns()
        by_ns, self._clock_offset_ns = offset_ns - self._clock_offset_ns, offset_ns
        return by_ns if abs(by_ns) > STEP_NS else 0

    def _say_notes(self) -> None:
        assert self.feed is not None
        while not self.feed.captures.notes.empty():
            self._say(self.feed.captures.notes.get())

    def _finish(self) -> None:
        """End the last analysis, and write all incidents."""
        self._look_at_marks()
        self._look_at_exchanges()
        if self._watch is not None and self._watch.is_about_causes_or_rules():
            self._judge(self._watch.symptoms(is_over=True), is_last=True)
        self._say_notes()
        self._end_writing()
        self.incidents.end_all(self.now_ns)
        self.write_open()
