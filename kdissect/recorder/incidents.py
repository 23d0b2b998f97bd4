"""Which symptoms begin an incident, and which belong to one that is there.

- A symptom belongs to an incident that has not ended. The incident then ends later, within a bound.
- A symptom belongs to a written incident if it is about the same problem, or began within it, and comes
  within the cool-down after its latest symptom.
- Any other symptom opens an incident, unless there are too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kdissect.model.wording import plural
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident
from kdissect.recorder.settings import RecorderSettings
from kdissect.recorder.symptom import Symptom

_MAX_LEFT_OUT = 100


class Incidents:
    """The incidents of a folder. Every change is stored at once, if the disk has space. `say` takes lines
    for people. `opened` is called with each new incident.
    """

    def __init__(
        self,
        folder: Folder,
        settings: RecorderSettings,
        say: Callable[[str], object],
        opened: Callable[[Incident], object] = lambda _incident: None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._say = say
        self._opened = opened
        self.written = folder.incidents()
        """Complete ones, the oldest first."""
        before, self.skipped = folder.state()
        known = {one.id for one in self.written}
        self.open = [one for one in before if one.id not in known]
        """Those without files, the oldest first."""
        self.made = 0
        """Incidents that this process opened."""
        self._left_out: list[Symptom] = []
        self._is_full = self._is_failing = False

    def see(self, symptoms: Iterable[Symptom], now_ns: int, late_ns: int = 0) -> None:
        """Take symptoms for which a condition holds now, or held so long ago."""
        is_changed, before = False, self.made
        oldest_ns = now_ns - late_ns - self._settings.before_ns  # others are not in the packets before
        for symptom in symptoms:
            if symptom.until_ns >= oldest_ns:
                is_changed |= self._see(symptom, now_ns)
        if is_changed:
            self._store()
        for one in self.open[len(self.open) - (self.made - before) :]:  # they are stored: a kill loses none
            self._say(f"incident {one.id}: {one.problems[0].symptom.sentence}")
            self._opened(one)

    def due(self, now_ns: int) -> Incident | None:
        """Return the first incident that has ended."""
        return next((one for one in self.open if one.end_ns <= now_ns), None)

    def end_all(self, now_ns: int) -> None:
        """End all incidents, because no packets follow."""
        for one in self.open:
            one.spans[-1][1] = min(one.end_ns, now_ns)

    def step(self, at_ns: int, by_ns: int) -> None:
        """Go on with the new clock, which was set by so much at a time of the old clock."""
        for one in self.open:
            one.step(at_ns, by_ns)
        if self.open:
            self._store()

    def complete(self, incident: Incident) -> None:
        """Note that the files of an incident are there."""
        self.open.remove(incident)
        self.written.append(incident)
        self._store()

    def give_up(self, incident: Incident) -> None:
        """Forget an incident whose files cannot be written."""
        self.open.remove(incident)
        self.skipped += 1
        self._store()

    def _see(self, symptom: Symptom, now_ns: int) -> bool:
        for one in self.open:
            if one.end_ns >= symptom.since_ns:
                return self._count(one, symptom)
        for one in reversed(self.written):
            if self._belongs(one, symptom):
                if one.count(symptom):
                    self.describe(one)
                return False
        if len(self.written) + len(self.open) >= self._settings.max_incidents:
            self.written = self._folder.incidents()
        if len(self.written) + len(self.open) >= self._settings.max_incidents:
            return self._skip(symptom)
        new = Incident.of(symptom, now_ns, self._settings.before_ns, self._settings.after_ns)
        taken = {one.id for one in (*self.written, *self.open)}
        base, number = new.id, 2
        while new.id in taken or self._folder.incident_path(new.id).exists():
            new.id, number = f"{base}-{number}", number + 1
        self.open.append(new)
        self.made += 1
        return True

    def _count(self, incident: Incident, symptom: Symptom) -> bool:
        if not incident.count(symptom):
            return False
        most = incident.opened_ns + self._settings.longest_ns
        incident.extend(min(symptom.until_ns + self._settings.after_ns, most))
        return True

    def _belongs(self, incident: Incident, symptom: Symptom) -> bool:
        is_soon = symptom.until_ns <= incident.latest_ns + self._settings.cooldown_ns
        is_known = incident.problem_of(symptom) is not None
        return is_soon and (is_known or incident.has_begun(symptom.since_ns))

    def _skip(self, symptom: Symptom) -> bool:
        """Count a problem for which there is no incident, once as long as it lasts."""
        known = [one for one in self._left_out if one.is_problem_of(symptom)]
        self._left_out = [*(one for one in self._left_out if one not in known), symptom][-_MAX_LEFT_OUT:]
        if any(symptom.until_ns <= one.until_ns + self._settings.cooldown_ns for one in known):
            return False
        self.skipped += 1
        if not self._is_full:
            number = plural(self._settings.max_incidents, "incident is", "incidents are")
            self._say(
                f"{number} in the folder: further ones are counted only. Remove some, or --max-incidents"
            )
        self._is_full = True
        return True

    def describe(self, incident: Incident) -> None:
        """Store the description of a complete incident, unless somebody removed it."""
        if self._folder.incident_path(incident.id).exists():
            self._try(lambda: self._folder.store(incident))

    def _store(self) -> None:
        self._try(lambda: self._folder.store_state(self.open, self.skipped))

    def _try(self, write: Callable[[], object]) -> None:
        """Write something that the next change writes again. Report the first failure in a row."""
        try:
            write()
        except OSError as error:
            if not self._is_failing:
                self._say(f"{self._folder.path}: {error.strerror or error}: counts are not stored")
            self._is_failing = True
        else:
            self._is_failing = False
