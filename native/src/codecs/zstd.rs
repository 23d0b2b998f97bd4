//! Decides which zstd frames (RFC 8878) may go to the library as a whole: frames whose header
//! states the content size, like `compression.zstd`, and small frames without it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// RFC 8878 section 3.1.1: Magic_Number.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// Section 3.1.1.1.1, Frame_Header_Descriptor: Single_Segment_flag, and where Frame_Content_Size_flag begins.
const SINGLE_SEGMENT: u8 = 1 << 5;
const SIZE_SHIFT: u8 = 6;
/// Section 3.1.1.1.4: a size of two bytes counts from here.
const TWO_BYTES_FROM: u64 = 256;

/// Bytes that the library reserves for a frame without a size, and its maximum output then.
const SMALL: usize = 1 << 16;

/// Whether the header states a size of at most `most` bytes, or none if the library returns no more
/// than `bound`.
pub fn is_bounded(frame: &[u8], most: usize, bound: usize) -> bool {
    match content_size(frame) {
        Some(size) => (1..=most as u64).contains(&size),
        None => frame.starts_with(&MAGIC) && SMALL <= bound,
    }
}

/// Arguments of `ZstdDecompressor.decompress`: by position, because names take a tenth of the time
/// for a small frame.
pub fn arguments<'py>(py: Python<'py>, frame: &[u8]) -> (Bound<'py, PyBytes>, usize, bool, bool) {
    let (read_across_frames, allow_extra_data) = (false, false);
    (PyBytes::new(py, frame), SMALL, read_across_frames, allow_extra_data)
}

/// Frame_Content_Size (RFC 8878 section 3.1.1.1.4), None without it.
fn content_size(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.strip_prefix(&MAGIC)?.first()?;
    let is_single = descriptor & SINGLE_SEGMENT != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)]; // Dictionary_ID_flag
    let at = MAGIC.len() + 1 + usize::from(!is_single) + dictionary; // Window_Descriptor
    let field = frame.get(at..)?;
    match descriptor >> SIZE_SHIFT {
        0 if is_single => Some(u64::from(*field.first()?)),
        0 => None,
        1 => Some(u64::from(u16::from_le_bytes(*field.first_chunk()?)) + TWO_BYTES_FROM),
        2 => Some(u64::from(u32::from_le_bytes(*field.first_chunk()?))),
        _ => Some(u64::from_le_bytes(*field.first_chunk()?)),
    }
}
