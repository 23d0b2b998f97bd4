"""Packets of connections that came to nothing, from a second reading: the first keeps no numbers of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.history.connection_problems import ConnectionProblem
from kdissect.model.packets.packet import packet_ref, ref_file, ref_number
from kdissect.model.packets.segment import flow_endpoints
from kdissect.net.parser import SegmentParser

PACKETS_TOLD = 100  # of one connection: those that came to nothing have a dozen
FLOWS_KEPT = 100_000  # of which is known whether they are asked for, 200 bytes each; past it, found out again

Found = Mapping[str, Sequence[int]]
_Sought = list[tuple[ConnectionProblem, list[int]]]


def packets_of(dissection: Dissection, problems: Iterable[ConnectionProblem]) -> Found:
    """References of packets by connection; of inputs that cannot be read again there are none."""
    by_ends: dict[tuple[str, frozenset[str]], _Sought] = {}
    found: dict[str, list[int]] = {}
    for problem in problems:
        info = problem.connection
        refs = found[info.id] = []
        ends = info.capture_set, frozenset((str(info.client), str(info.broker)))
        by_ends.setdefault(ends, []).append((problem, refs))
    if by_ends:
        _read(dissection, by_ends)
    return found


def _read(dissection: Dissection, by_ends: Mapping[tuple[str, frozenset[str]], _Sought]) -> None:
    files = dissection.captures.files
    numbers = {
        file.path: number for number, file in enumerate(files) if not file.is_stream and not file.error
    }
    if not numbers:
        return
    again, parser = open_captures(list(numbers)), SegmentParser()
    known: dict[tuple[str, bytes], _Sought | None] = {}
    for packets in again.batches():
        for packet, segment in zip(packets, parser.parse_batch(packets), strict=True):
            if segment is None:
                continue
            ref, time_ns = packet[0], packet[1]
            number = numbers[again.files[ref_file(ref)].path]
            flow = files[number].capture_set, segment[0]
            if flow not in known:
                if len(known) >= FLOWS_KEPT:
                    known.clear()
                ends = flow[0], frozenset(map(str, flow_endpoints(flow[1])))
                known[flow] = by_ends.get(ends)
            for problem, refs in known[flow] or ():
                info = problem.connection
                if info.start_ns <= time_ns <= info.end_ns and len(refs) < PACKETS_TOLD:
                    refs.append(packet_ref(number, ref_number(ref)))
