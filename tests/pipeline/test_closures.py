"""What goes to tasks can be pickled, and is the same on the other side."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")


from kdissect.api import Dissection
from kdissect.history.topics.topic_names import TopicNames
from kdissect.pipeline.inputs import find
from kdissect.pipeline.share_task import Known, ShareTask
from kdissect.pipeline.tap_marks import ListEnds, MarkTaps, Shared
from kdissect.pipeline.task_setup import Setup
from kdissect.session.exchange import Exchange
from kdissect.stages.topic_id_names import Names
from tests.pipeline.conftest import CHECKOUT

CAPTURES = CHECKOUT / "captures"


def test_functions_of_tasks_survive_the_way() -> None:
    inputs = find([str(CAPTURES / "kafka44_java_tls13.pcapng")])
    keys = str(CAPTURES / "kafka44_java_tls13.keys")
    setup = Setup.of(inputs, frozenset({9092}), {"10.0.0.1": "broker"}, (keys,))
    taps = MarkTaps(setup, Shared(frozenset({0}), frozenset({b"ends"}), frozenset()))
    for function in (ShareTask(setup, "out", ("day",)), ListEnds(setup), taps, Known(TopicNames())):
        assert type(pickle.loads(pickle.dumps(function))) is type(function)
    there = pickle.loads(pickle.dumps(setup))
    assert there.inputs == inputs
    sessions = setup.key_logs[0].log.__dict__ if hasattr(setup.key_logs[0].log, "__dict__") else None
    assert sessions is None or there.key_logs[0].log.__dict__ == sessions
    assert there.with_secrets([]) is there
    data = Path(keys).read_bytes()
    first = next(line for line in data.decode().splitlines() if not line.startswith("#"))
    random = bytes.fromhex(first.split()[1])
    found = pickle.loads(pickle.dumps(setup._replace(key_logs=()).with_secrets([data])))
    assert found.key_logs[0].find(random, b"")


def test_names_that_were_learned_survive_the_way() -> None:
    names = Names(TopicNames({b"\1" * 16: "orders"}))
    for event in Dissection([str(CAPTURES / "kafka44_java_produce.pcapng")]).events():
        if isinstance(event, Exchange):
            names.topics.learn(event)
    there = pickle.loads(pickle.dumps(names))
    assert there.topics._names == names.topics._names
    assert there.topics._known == names.topics._known
