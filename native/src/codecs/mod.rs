//! What records are compressed with (spec/001 "5.3.1 Record Batch", attributes): the plain case of
//! `kdissect.decoders.compression`, which is asked about all others.

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
    /// At most so many bytes in any case.
    pub most: usize,
    /// What few bytes may grow to.
    pub free: usize,
    /// And how many times as many others may become.
    pub ratio: usize,
}

/// What a byte becomes at most where it is usual, and how many records: `compression.codec.usual_growth`.
#[derive(Clone, Copy)]
pub struct Usual {
    pub bytes: usize,
    pub records: usize,
}

impl Growth {
    /// The most that so many bytes may become.
    pub fn of(self, size: usize) -> usize {
        self.most.min(self.free.max(self.ratio.saturating_mul(size)))
    }
}
