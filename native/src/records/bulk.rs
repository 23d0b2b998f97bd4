//! Many bytes for Python, written once: into a bytearray, which grows without being cleared before.
//! If Python has released the previous bytearray, its memory is reused, because new memory from the
//! system must be touched page by page.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// Initial capacity, if the size is unknown.
const LEAST: usize = 1 << 16;

#[derive(Default)]
pub struct Bulk {
    /// The bytearray, locked against other sizes, and the same as memory.
    room: Option<(Py<PyByteArray>, PyBuffer<u8>)>,
    used: usize,
    /// The size of the last result, and its bytearray.
    before: usize,
    given: Option<Py<PyByteArray>>,
}

impl Bulk {
    pub fn len(&self) -> usize {
        self.used
    }

    pub fn push(&mut self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        let end = self.used + bytes.len();
        if self.capacity() < end {
            self.grow(py, end)?;
        }
        let cells = self.room.as_ref().and_then(|(_, buffer)| buffer.as_mut_slice(py));
        if let Some(cells) = cells.and_then(|cells| cells.get(self.used..end)) {
            cells.iter().zip(bytes).for_each(|(cell, byte)| cell.set(*byte));
            self.used = end;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.room.as_ref().map_or(0, |(_, buffer)| buffer.item_count())
    }

    fn grow(&mut self, py: Python<'_>, least: usize) -> PyResult<()> {
        let capacity = (self.capacity() + self.capacity() / 2).max(self.before).max(LEAST).max(least);
        let owner = match self.room.take() {
            Some((owner, buffer)) => {
                buffer.release(py);
                owner
            }
            None => match self.given.take().filter(|given| given.get_refcnt(py) == 1) {
                Some(given) => given,
                None => PyByteArray::new(py, b"").unbind(),
            },
        };
        owner.bind(py).resize(capacity)?;
        let buffer = PyBuffer::get(owner.bind(py))?;
        self.room = Some((owner, buffer));
        Ok(())
    }

    /// Return the pushed bytes, and start empty.
    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let used = std::mem::take(&mut self.used);
        self.before = used;
        let Some((owner, buffer)) = self.room.take() else { return Ok(PyByteArray::new(py, b"")) };
        buffer.release(py);
        let owner = owner.into_bound(py);
        owner.resize(used)?;
        self.given = Some(owner.clone().unbind());
        Ok(owner)
    }
}
