//! gzip (RFC 1952), with one member that ends with the bytes and whose header is minimal, as nearly
//! all writers have it. Other forms are Python's.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zlib_rs::{Inflate, InflateFlush, Status};

/// RFC 1952 section 2.3.1: ID1, ID2, CM, FLG; MTIME, XFL and OS follow.
const START: [u8; 4] = [0x1F, 0x8B, 8, 0];
const HEADER: usize = START.len() + 6;
/// RFC 1951: 32 KiB are looked back at.
const WINDOW_BITS: u8 = 15;

/// Decompresses members that are not too large for it.
pub struct Gzip {
    /// `() -> int`: from how many bytes on Python has a faster library.
    faster_from: Py<PyAny>,
    large: Option<usize>,
    /// Set up when it is first needed, and used again.
    inflate: Option<Box<Inflate>>,
}

impl Gzip {
    pub fn new(faster_from: Py<PyAny>) -> Self {
        Gzip { faster_from, large: None, inflate: None }
    }

    /// The content, if it has at most `most` bytes and Python is not faster.
    pub fn content<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        most: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let large = match self.large {
            Some(large) => large,
            None => *self.large.insert(self.faster_from.call0(py)?.extract(py)?),
        };
        if data.len() >= large {
            return Ok(None);
        }
        let Some(member) = Member::of(data).filter(|member| member.size <= most) else { return Ok(None) };
        let inflate = self.inflate.get_or_insert_with(|| Box::new(Inflate::new(false, WINDOW_BITS)));
        let fill = |room: &mut [u8]| match member.fill(inflate, room) {
            true => Ok(()),
            false => Err(PyValueError::new_err("no member")),
        };
        Ok(PyBytes::new_with(py, member.size, fill).ok())
    }
}

struct Member<'a> {
    deflated: &'a [u8],
    /// CRC32 and ISIZE (section 2.3.1).
    checksum: u32,
    size: usize,
}

impl<'a> Member<'a> {
    fn of(data: &'a [u8]) -> Option<Self> {
        let rest = data.starts_with(&START).then(|| data.get(HEADER..))??;
        let (rest, size) = rest.split_last_chunk()?;
        let (deflated, checksum) = rest.split_last_chunk()?;
        let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        Some(Member { deflated, checksum: u32::from_le_bytes(*checksum), size })
    }

    /// Whether the content matches the trailer.
    fn fill(&self, inflate: &mut Inflate, room: &mut [u8]) -> bool {
        inflate.reset(false);
        inflate.decompress(self.deflated, room, InflateFlush::Finish) == Ok(Status::StreamEnd)
            && inflate.total_in() == self.deflated.len() as u64
            && inflate.total_out() == room.len() as u64
            && crc32fast::hash(room) == self.checksum
    }
}
