//! Headers of magic 2 batches (spec/001 "5.3.1 Record Batch"): `decoders.records.batches`.

use std::ops::Range;

use super::record_reader::Record;
use crate::codecs::NAMES;

/// `model.record_batch`: NO_TIMESTAMP, NO_PRODUCER_ID and NO_SEQUENCE are all this.
pub const NONE: i64 = -1;
const MAX_SEQUENCE: i64 = i32::MAX as i64;

/// Offsets of baseOffset, batchLength and the fields after them, and bytes of the header:
/// `batch_layout.HEADER_V2`.
const LENGTH_AT: usize = 8;
const OVERHEAD: usize = 12;
const MAGIC_AT: usize = 16;
pub const HEADER: usize = 61;
/// The CRC covers everything from here on.
pub const ATTRIBUTES_AT: usize = 21;
pub const CURRENT_MAGIC: u8 = 2;

/// spec/001 "5.3.1 Record Batch", attributes.
pub const CODEC_MASK: i16 = 7;
pub const LOG_APPEND_TIME: i16 = 1 << 3;
pub const TRANSACTIONAL: i16 = 1 << 4;
pub const CONTROL: i16 = 1 << 5;
pub const DELETE_HORIZON: i16 = 1 << 6;

pub struct Batch {
    pub start: usize,
    pub end: usize,
    pub base_offset: i64,
    pub leader_epoch: i32,
    pub crc: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub count: i32,
}

/// A batch, and the number of its partition's row.
pub type Found = (usize, Batch);

/// The `N` bytes at a place.
fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The batches that fill a place in `data`, to their last byte; None if the place has other bytes.
pub fn batches(data: &[u8], place: Range<usize>) -> Option<Vec<Batch>> {
    let (mut at, mut found) = (place.start, Vec::new());
    while at < place.end {
        let batch = Batch::at(data, at, place.end)?;
        at = batch.end;
        found.push(batch);
    }
    Some(found)
}

impl Batch {
    /// The batch at `start`, if it ends within `end`.
    pub fn at(data: &[u8], start: usize, end: usize) -> Option<Batch> {
        let head: [u8; HEADER] = bytes(data.get(..end)?, start)?;
        let length = usize::try_from(i32::from_be_bytes(bytes(&head, LENGTH_AT)?)).ok()?;
        let behind = start.checked_add(OVERHEAD)?.checked_add(length)?;
        if head[MAGIC_AT] != CURRENT_MAGIC || behind > end || behind < start + HEADER {
            return None;
        }
        Some(Batch {
            start,
            end: behind,
            base_offset: i64::from_be_bytes(bytes(&head, 0)?),
            leader_epoch: i32::from_be_bytes(bytes(&head, 12)?),
            crc: u32::from_be_bytes(bytes(&head, 17)?),
            attributes: i16::from_be_bytes(bytes(&head, ATTRIBUTES_AT)?),
            last_offset_delta: i32::from_be_bytes(bytes(&head, 23)?),
            base_timestamp: i64::from_be_bytes(bytes(&head, 27)?),
            max_timestamp: i64::from_be_bytes(bytes(&head, 35)?),
            producer_id: i64::from_be_bytes(bytes(&head, 43)?),
            producer_epoch: i16::from_be_bytes(bytes(&head, 51)?),
            base_sequence: i32::from_be_bytes(bytes(&head, 53)?),
            count: i32::from_be_bytes(bytes(&head, 57)?),
        })
    }

    pub fn codec(&self) -> i16 {
        self.attributes & CODEC_MASK
    }

    pub fn is_log_append_time(&self) -> bool {
        self.attributes & LOG_APPEND_TIME != 0
    }

    /// Offset and timestamp of a record; None beyond 64 bits.
    pub fn place(&self, record: &Record) -> Option<(i64, i64)> {
        let time = match self.is_log_append_time() {
            true => self.max_timestamp,
            false => self.base_timestamp.checked_add(record.timestamp_delta)?,
        };
        Some((self.base_offset.checked_add(record.offset_delta)?, time))
    }

    /// The producer's id, None without one.
    pub fn producer(&self) -> Option<i64> {
        (self.producer_id != NONE).then_some(self.producer_id)
    }

    /// The sequence number of a record, None without one: it wraps to 0 behind the highest.
    pub fn sequence(&self, record: &Record) -> Option<i64> {
        let sequence = i64::from(self.base_sequence) + record.offset_delta;
        let sequence = if sequence > MAX_SEQUENCE { sequence - MAX_SEQUENCE - 1 } else { sequence };
        (i64::from(self.base_sequence) != NONE).then_some(sequence)
    }

    /// The epoch of the partition's leader, None without one.
    pub fn epoch(&self) -> Option<i64> {
        (self.leader_epoch >= 0).then_some(self.leader_epoch.into())
    }

    /// Type of its timestamps.
    pub fn timestamp_type(&self) -> &'static str {
        if self.is_log_append_time() {
            "log_append_time"
        } else {
            "create_time"
        }
    }

    /// The name of its codec.
    pub fn codec_name(&self) -> &'static str {
        NAMES.get(self.codec() as usize).copied().unwrap_or_default()
    }
}
