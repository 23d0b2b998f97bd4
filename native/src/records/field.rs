//! One records field decoded, if all of it fits: twin of `kdissect.engine.record_groups`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice};

use super::batch::{Batch, ATTRIBUTES_AT, CONTROL, HEADER};
use super::reader::Records;
use super::table::CODECS;

/// `record_groups.GROUP_OUTPUT`: what a field may decompress to; more is read record by record, streaming.
pub const GROUP_OUTPUT: usize = 48 << 20;
/// Of more records a field is read the other way too: they are held here with 100 bytes each.
pub const MOST_RECORDS: i64 = 1 << 20;

/// The functions of Python that are asked.
pub struct Asked {
    /// CRC-32C of bytes: `decoders.records.checksum.crc32c`.
    pub crc32c: Py<PyAny>,
    /// `(bytes, codec) -> bytes or None`.
    pub decompress: Py<PyAny>,
    /// `(data, start, end, may_be_cut) -> bool`: whether what stands behind the batches is no fault.
    pub rest_fits: Py<PyAny>,
}

/// The batches of a field, with the place of their records: in the frame, or in what they decompress to.
#[derive(Default)]
pub struct Field {
    pub batches: Vec<(Batch, Option<Py<PyBytes>>)>,
    pub records: Vec<Records>,
}

impl Field {
    /// The bytes that hold the records of a batch, and where they begin in them.
    pub fn content<'a, 'py>(
        frame: &'a Bound<'py, PyBytes>,
        batch: &Batch,
        own: &'a Option<Py<PyBytes>>,
    ) -> (&'a Bound<'py, PyBytes>, usize) {
        match own {
            Some(own) => (own.bind(frame.py()), 0),
            None => (frame, batch.start + HEADER),
        }
    }

    /// Read `data[start..end]`; whether everything fits.
    pub fn read(
        &mut self,
        asked: &Asked,
        frame: &Bound<'_, PyBytes>,
        (start, end): (usize, usize),
        may_be_cut: bool,
    ) -> PyResult<bool> {
        let py = frame.py();
        let data = frame.as_bytes();
        self.batches.clear();
        let (mut at, mut total) = (start, 0);
        while let Some(batch) = Batch::at(data, at, end) {
            at = batch.end;
            total += i64::from(batch.count);
            self.batches.push((batch, None));
        }
        if total > MOST_RECORDS || !self.batches.iter().all(|(batch, _)| is_plain(batch)) {
            return Ok(false);
        }
        if at < end && !asked.rest_fits.call1(py, (frame, at, end, may_be_cut))?.extract::<bool>(py)? {
            return Ok(false);
        }
        Ok(self.check(asked, frame)? && self.decompress(asked, frame)? && self.decode(frame).is_some())
    }

    fn check(&self, asked: &Asked, frame: &Bound<'_, PyBytes>) -> PyResult<bool> {
        let view = PyMemoryView::from(frame)?;
        for (batch, _) in &self.batches {
            let part = part(&view, batch.start + ATTRIBUTES_AT, batch.end)?;
            if asked.crc32c.call1(frame.py(), (part,))?.extract::<u32>(frame.py())? != batch.crc {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn decompress(&mut self, asked: &Asked, frame: &Bound<'_, PyBytes>) -> PyResult<bool> {
        let py = frame.py();
        let mut total = 0;
        for (batch, own) in &mut self.batches {
            let start = batch.start + HEADER;
            if batch.codec() == 0 || start == batch.end {
                total += batch.end - start;
                continue;
            }
            let part = part(&PyMemoryView::from(frame)?, start, batch.end)?;
            let found = asked.decompress.call1(py, (part, batch.codec()))?;
            let Ok(found) = found.into_bound(py).downcast_into::<PyBytes>() else {
                return Ok(false);
            };
            total += found.as_bytes().len();
            *own = Some(found.unbind());
            if total > GROUP_OUTPUT {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn decode(&mut self, frame: &Bound<'_, PyBytes>) -> Option<()> {
        self.records.resize_with(self.records.len().max(self.batches.len()), Records::default);
        for ((batch, own), records) in self.batches.iter().zip(&mut self.records) {
            records.clear();
            let (content, start) = Self::content(frame, batch, own);
            let end = if own.is_some() { content.as_bytes().len() } else { batch.end };
            records.read(content.as_bytes().get(start..end)?, batch.count)?;
        }
        Some(())
    }

    pub fn count(&self) -> u32 {
        self.records.iter().take(self.batches.len()).map(|records| records.records.len() as u32).sum()
    }
}

/// Whether a batch is neither control records nor of a codec that there is not.
fn is_plain(batch: &Batch) -> bool {
    (batch.codec() as usize) < CODECS.len() && batch.attributes & CONTROL == 0
}

fn part<'py>(view: &Bound<'py, PyMemoryView>, start: usize, end: usize) -> PyResult<Bound<'py, PyAny>> {
    view.get_item(PySlice::new(view.py(), start as isize, end as isize, 1))
}
