//! Headers of batches of magic 2 (spec/001 "5.3.1 Record Batch"): `decoders.records.batches`.

/// Where baseOffset, batchLength and all behind them stand, and bytes of the header: `layout.HEADER_V2`.
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

/// The `N` bytes at a place.
fn bytes<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
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
}
