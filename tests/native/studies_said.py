"""What studies of the screen say of captures: functions that give values that can be pickled and compared."""

from itertools import chain
from typing import Any

from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.tui.processes.screen_worker import Worker
from kdissect.tui.processes.worker_messages import Codes, Order, Result
from kdissect.tui.studies.findings import FindingsSoFar
from kdissect.tui.studies.study import Study


class HeardWorker(Worker):
    """Keeps what it would send."""

    def __init__(self, order: Order) -> None:
        self.heard: list[Any] = []
        super().__init__(order, -1)

    def _send(self, message: object) -> None:
        self.heard.append(message)


class CountedWorker(HeardWorker):
    """Counts the exchanges that a study is given one by one."""

    objects = 0

    @property
    def studies(self) -> list[Study]:
        """Those of the order, watched."""
        is_new = self._studies is None
        studies = super().studies
        for study in studies if is_new else ():
            self._watch(study)
        return studies

    def _watch(self, study: Study) -> None:
        add = study.add

        def watched(event: Event) -> None:
            self.objects += isinstance(event, Exchange)
            add(event)

        study.add = watched  # type: ignore[method-assign]


def said(paths: list[str], study: str, expression: str) -> Any:
    """Return the last result of a study."""
    worker = HeardWorker(Order(tuple(paths), studies=(study,), filter=expression))
    worker.run()
    value = [message.value for message in worker.heard if isinstance(message, Result)][-1]
    if isinstance(value, FindingsSoFar):
        codes = [message.codes for message in worker.heard if isinstance(message, Codes)]
        return value._replace(findings=[]), [repr(found) for found in value.findings], sorted(chain(*codes))
    return value


def given_one_by_one(paths: list[str], study: str, expression: str = "") -> int:
    """Return how many exchanges a study was given as objects."""
    worker = CountedWorker(Order(tuple(paths), studies=(study,), filter=expression))
    worker.run()
    return worker.objects
