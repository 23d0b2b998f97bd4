//! Where the records of a batch stand: in the frame, or in what they decompress to.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::batch::{Batch, HEADER};
use crate::codecs::gzip::Gzip;
use crate::codecs::library::Library;
use crate::codecs::{lz4, snappy, zstd, Growth, Usual, GZIP, LZ4, NONE, SNAPPY, ZSTD};

pub enum Content {
    Frame(Range<usize>),
    Own(Py<PyBytes>),
}

impl Content {
    /// The bytes, of a batch in `frame`.
    pub fn bytes<'a>(&'a self, py: Python<'a>, frame: &'a [u8]) -> &'a [u8] {
        match self {
            Content::Frame(range) => frame.get(range.clone()).unwrap_or_default(),
            Content::Own(bytes) => bytes.as_bytes(py),
        }
    }
}

/// Decompresses the batches of one field after the other.
pub struct Contents {
    /// `() -> ((most, free, ratio), (bytes, records))`: the limits on growth in
    /// `compression.codec`.
    limits: Py<PyAny>,
    bounds: Growth,
    usual: Usual,
    gzip: Gzip,
    lz4: Library,
    zstd: Library,
    /// `(codec, bytes, most) -> bytes or None`, for data that the libraries here do not decompress.
    decompress: Py<PyAny>,
}

impl Contents {
    /// `gzip` is as in `codecs/gzip.rs`, `libraries` are lz4's and zstd's.
    pub fn new(limits: Py<PyAny>, gzip: Py<PyAny>, libraries: [Py<PyAny>; 2], decompress: Py<PyAny>) -> Self {
        let [lz4, zstd] = libraries.map(Library::new);
        Contents {
            limits,
            bounds: Growth { most: 0, free: 0, ratio: 0 },
            usual: Usual { bytes: 0, records: 0 },
            gzip: Gzip::new(gzip),
            lz4,
            zstd,
            decompress,
        }
    }

    /// Read the current limits, which may change between groups.
    pub fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        let ((most, free, ratio), (bytes, records)) = self.limits.call0(py)?.extract(py)?;
        self.bounds = Growth { most, free, ratio };
        self.usual = Usual { bytes, records };
        Ok(())
    }

    /// Whether a batch says that it has more records than is usual for its size.
    pub fn is_dense(&self, batch: &Batch) -> bool {
        let most = self.usual.records.saturating_mul(batch.end - batch.start);
        batch.codec() != NONE && usize::try_from(batch.count).is_ok_and(|count| count > most)
    }

    /// The records of a batch; None if they are not valid output of the codec, or larger than
    /// usual.
    pub fn of(&mut self, py: Python<'_>, frame: &[u8], batch: &Batch) -> PyResult<Option<Content>> {
        let place = batch.start + HEADER..batch.end;
        let data = frame.get(place.clone()).unwrap_or_default();
        let usual = self.usual.bytes.saturating_mul(data.len());
        let bound = self.bounds.of(data.len());
        let most = bound.min(usual);
        let found = match batch.codec() {
            _ if data.is_empty() => return Ok(Some(Content::Frame(place))),
            NONE => return Ok(Some(Content::Frame(place))),
            GZIP => self.gzip.content(py, data, most)?,
            SNAPPY => snappy::content(py, data, most),
            LZ4 if lz4::is_bounded(data, bound) => self.lz4.decompress(py, (PyBytes::new(py, data),)),
            ZSTD if zstd::is_bounded(data, most, bound) => {
                self.zstd.decompress(py, zstd::arguments(py, data))
            }
            _ => None,
        };
        let found = match found {
            None => {
                let place = (batch.codec(), PyBytes::new(py, data), most);
                self.decompress.bind(py).call1(place)?.cast_into().ok()
            }
            found => found,
        };
        let found: Option<Bound<'_, PyBytes>> = found.filter(|bytes| bytes.as_bytes().len() <= usual);
        Ok(found.map(|bytes| Content::Own(bytes.unbind())))
    }
}
