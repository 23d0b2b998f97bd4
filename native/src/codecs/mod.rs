//! Compression of records (spec/001 "5.3.1 Record Batch", attributes): the plain case of
//! `kdissect.decoders.compression`, which handles other cases.

pub mod gzip;
pub mod library;
pub mod lz4;
pub mod snappy;
pub mod zstd;

/// By their numbers in the attributes: `model.record_batch.CODEC_NAMES`.
pub const NAMES: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
pub const NONE: i16 = 0;
pub const GZIP: i16 = 1;
pub const SNAPPY: i16 = 2;
pub const LZ4: i16 = 3;
pub const ZSTD: i16 = 4;

/// How far bytes may grow: `compression.codec.growth`.
#[derive(Clone, Copy)]
pub struct Growth {
    /// Maximum number of bytes in any case.
    pub most: usize,
    /// Size that a few bytes may grow to.
    pub free: usize,
    /// Maximum ratio for more bytes.
    pub ratio: usize,
}

/// Usual maximum of bytes and records for each byte: `compression.codec.usual_growth`.
#[derive(Clone, Copy)]
pub struct Usual {
    pub bytes: usize,
    pub records: usize,
}

impl Growth {
    /// The maximum size for `size` bytes.
    pub fn of(self, size: usize) -> usize {
        self.most.min(self.free.max(self.ratio.saturating_mul(size)))
    }
}
