"""Stalls of brokers in the view of statistics: what its study counts, from blocks and one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.model.native import is_compiled, native
from kdissect.report.columns.stalls import stall_line
from kdissect.stages.block_takers import take_block
from kdissect.tui.studies.study import StudyContext, new_studies

HANG = Path(__file__).parents[1] / "causes" / "cases" / "hang_8s_real.pcap.gz"


@pytest.mark.parametrize(
    "names", [["traffic"], ["traffic by client_id", "traffic"], ["traffic by connection"]]
)
def test_every_study_of_traffic_has_them(names: list[str]) -> None:
    dissection = Dissection(str(HANG))
    context = StudyContext(dissection.topics, False, dissection.topics.topics_of, lambda message: None, [])
    studies = new_studies(names, context)
    for events in dissection.batches():
        if is_compiled and isinstance(events, native.ExchangeBlock):
            takers = [taker for study in studies for taker in study.takers()]
            take_block(events, takers, dissection.guard.note)
            continue
        for event in events:
            for study in studies:
                study.add(event)
    for study in studies:
        (found,) = study.result()["stalls"]
        assert stall_line(found) == (
            "127.0.0.1:25092 sent nothing for 8.00 s (38.4% of its time): one connection waited"
        )
