"""The targets by their names."""

from fuzz.target import Target
from fuzz.targets.bodies import Frames, Hex, RequestBodies, ResponseBodies
from fuzz.targets.capture_files import Compressed, Pcap, Pcapng
from fuzz.targets.outputs import CompiledFiles, ExcerptFiles, FailingOutputs, Times
from fuzz.targets.packets import Packets, ReassemblyTarget
from fuzz.targets.payloads import Filters, KeyLogs, Payloads, RecordPayloads, Tls
from fuzz.targets.places import Places
from fuzz.targets.records import Batches, Codecs, Indexes, MessageSets, Segments
from fuzz.targets.secrets import Secrets
from fuzz.targets.sessions import Captures, Excerpts, Rules, Sessions, Statistics

_ALL: tuple[type[Target], ...] = (
    Pcap,
    Pcapng,
    Compressed,
    Packets,
    ReassemblyTarget,
    RequestBodies,
    ResponseBodies,
    Frames,
    Hex,
    Batches,
    MessageSets,
    Codecs,
    Segments,
    Indexes,
    Payloads,
    RecordPayloads,
    Sessions,
    Captures,
    Rules,
    Statistics,
    Excerpts,
    Filters,
    Tls,
    KeyLogs,
    Times,
    ExcerptFiles,
    FailingOutputs,
    CompiledFiles,
    Places,
    Secrets,
)
TARGETS: dict[str, type[Target]] = {target.name: target for target in _ALL}
