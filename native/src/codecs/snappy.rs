//! snappy, as single blocks with the stated size. Other forms are Python's (`compression.snappy`),
//! which reports their errors. Its library has the same crate.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use snap::raw::Decoder;

/// org.xerial.snappy.SnappyCodec: magic, version, lowest compatible version, then blocks after
/// their length.
const XERIAL_MAGIC: &[u8] = b"\x82SNAPPY\x00";
const XERIAL_HEADER: usize = XERIAL_MAGIC.len() + 8;
/// `compression.snappy`: the numbers of the header, the wrong way round.
const LITTLE_ENDIAN: &[u8] = b"\x01\0\0\0\x01\0\0\0";
const LENGTH: usize = 4;
/// `compression.snappy`: the tightest element is a copy of 64 bytes in 3.
const MOST_RATIO: (usize, usize) = (64, 3);
/// A uvarint of 32 bits (format_description.txt section 1).
const MOST_PREAMBLE: usize = 5;

/// The content, if it has at most `most` bytes.
pub fn content<'py>(py: Python<'py>, data: &[u8], most: usize) -> Option<Bound<'py, PyBytes>> {
    let (block, size) = block(data, most)?;
    let fill = |room: &mut [u8]| match Decoder::new().decompress(block, room) {
        Ok(_) => Ok(()),
        Err(_) => Err(PyValueError::new_err("no block")),
    };
    PyBytes::new_with(py, size, fill).ok()
}

/// The one block of a batch that becomes at most `most` bytes, and how many.
fn block(data: &[u8], most: usize) -> Option<(&[u8], usize)> {
    let block = match data.strip_prefix(XERIAL_MAGIC) {
        None => data,
        Some(stream) if stream.starts_with(LITTLE_ENDIAN) => return None,
        Some(_) => {
            let (length, block) = data.get(XERIAL_HEADER..)?.split_first_chunk::<LENGTH>()?;
            let is_alone = usize::try_from(u32::from_be_bytes(*length)) == Ok(block.len());
            is_alone.then_some(block)?
        }
    };
    let size = size(block)?;
    let (output, input) = MOST_RATIO;
    let is_bounded = size <= most && size.checked_mul(input)? <= output.checked_mul(block.len())?;
    is_bounded.then_some((block, size))
}

/// The size that a block states.
fn size(block: &[u8]) -> Option<usize> {
    let mut size = 0;
    for (index, &byte) in block.iter().take(MOST_PREAMBLE).enumerate() {
        size |= usize::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Some(size);
        }
    }
    None
}
