//! Decides which lz4 frames (lz4_Frame_format.md 1.6) may go to the library as a whole, like
//! `compression.lz4.decompress_lz4`.

/// lz4_Frame_format.md, "General Structure of LZ4 Frame format".
const MAGIC: [u8; 4] = 0x184D_2204_u32.to_le_bytes();
/// FLG, which BD and the content size follow ("Frame Descriptor").
const FLAGS_AT: usize = MAGIC.len();
const SIZE_AT: usize = FLAGS_AT + 2;
const HAS_CONTENT_SIZE: u8 = 0x08;
/// `compression.lz4`: the maximum number of bytes from one byte.
const MAX_RATIO: usize = 255;

/// Whether what a frame becomes is bounded by its own length, and by `most`.
pub fn is_bounded(frame: &[u8], most: usize) -> bool {
    let bound = frame.len().saturating_mul(MAX_RATIO);
    bound <= most && content_size(frame).is_none_or(|size| size <= bound as u64)
}

/// The size in the header, which the library would believe.
fn content_size(frame: &[u8]) -> Option<u64> {
    let flags = *frame.strip_prefix(&MAGIC)?.first()?;
    let size = frame.get(SIZE_AT..)?.first_chunk()?;
    (flags & HAS_CONTENT_SIZE != 0).then_some(u64::from_le_bytes(*size))
}
