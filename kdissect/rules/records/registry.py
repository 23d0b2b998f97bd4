"""Rules about records, in the order in which they have the word: of faults, batches, records."""

from kdissect.rules.records.bad_batch_length import BadBatchLength
from kdissect.rules.records.bad_checksum import BadChecksum
from kdissect.rules.records.bad_control_key import BadControlKey
from kdissect.rules.records.base_offset import BaseOffset
from kdissect.rules.records.base_timestamp import OtherBaseTimestamp
from kdissect.rules.records.before_fetch_offset import BeforeFetchOffset
from kdissect.rules.records.cut_batch import CutBatch
from kdissect.rules.records.empty_wrapper import EmptyWrapper
from kdissect.rules.records.header_key_not_utf8 import HeaderKeyNotUtf8
from kdissect.rules.records.header_without_key import HeaderWithoutKey
from kdissect.rules.records.inner_magic import InnerMagic
from kdissect.rules.records.inner_offsets import InnerOffsets
from kdissect.rules.records.lz4_checksum import Lz4Checksum
from kdissect.rules.records.malformed_own_record import MalformedOwnRecord
from kdissect.rules.records.malformed_record import MalformedRecord
from kdissect.rules.records.marker_without_producer import MarkerWithoutProducer
from kdissect.rules.records.max_timestamp import OtherMaxTimestamp
from kdissect.rules.records.negative_part import NegativePart
from kdissect.rules.records.nested_compression import NestedCompression
from kdissect.rules.records.new_magic_fetched import NewMagicFetched
from kdissect.rules.records.new_magic_produced import NewMagicProduced
from kdissect.rules.records.not_decompressing import NotDecompressing
from kdissect.rules.records.offset_deltas import OffsetDeltas
from kdissect.rules.records.offsets_go_back import OffsetsGoBack
from kdissect.rules.records.old_magic_produced import OldMagicProduced
from kdissect.rules.records.other_last_offset import OtherLastOffset
from kdissect.rules.records.other_record_count import OtherRecordCount
from kdissect.rules.records.produced_append_time import ProducedAppendTime
from kdissect.rules.records.produced_control_batch import ProducedControlBatch
from kdissect.rules.records.produced_delete_horizon import ProducedDeleteHorizon
from kdissect.rules.records.record_attributes import RecordAttributes
from kdissect.rules.records.reserved_bits import ReservedBits
from kdissect.rules.records.several_batches import SeveralBatches
from kdissect.rules.records.several_markers import SeveralMarkers
from kdissect.rules.records.transactional_without_producer import TransactionalWithoutProducer
from kdissect.rules.records.unknown_codec import UnknownCodec
from kdissect.rules.records.unknown_magic import UnknownMagic
from kdissect.rules.records.unknown_own_record import UnknownOwnRecord
from kdissect.rules.records.wrapper_key import WrapperKey
from kdissect.rules.records.wrapper_offset import WrapperOffset
from kdissect.rules.records.zstd_fetched_too_early import ZstdFetchedTooEarly
from kdissect.rules.records.zstd_produced_too_early import ZstdProducedTooEarly
from kdissect.rules.rule import Rule

RECORD_RULES: tuple[Rule, ...] = (
    BadBatchLength(),
    CutBatch(),
    UnknownMagic(),
    BadChecksum(),
    NotDecompressing(),
    NestedCompression(),
    InnerMagic(),
    EmptyWrapper(),
    HeaderWithoutKey(),
    NegativePart(),
    MalformedRecord(),
    OtherRecordCount(),
    OldMagicProduced(),
    NewMagicProduced(),
    NewMagicFetched(),
    SeveralBatches(),
    ZstdProducedTooEarly(),
    ZstdFetchedTooEarly(),
    UnknownCodec(),
    ReservedBits(),
    OtherLastOffset(),
    BaseOffset(),
    ProducedAppendTime(),
    ProducedControlBatch(),
    ProducedDeleteHorizon(),
    TransactionalWithoutProducer(),
    OffsetsGoBack(),
    BeforeFetchOffset(),
    WrapperKey(),
    RecordAttributes(),
    OffsetDeltas(),
    HeaderKeyNotUtf8(),
    OtherMaxTimestamp(),
    OtherBaseTimestamp(),
    WrapperOffset(),
    InnerOffsets(),
    Lz4Checksum(),
    SeveralMarkers(),
    BadControlKey(),
    MarkerWithoutProducer(),
    MalformedOwnRecord(),
    UnknownOwnRecord(),
)
