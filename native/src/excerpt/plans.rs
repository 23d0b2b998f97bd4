//! Plans for any number of frames: sorted runs, and their merge. `_Runs` and `_Merged` of
//! `kdissect.excerpt.plan_spool`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::excerpt::plan;
use crate::places::FILE_SHIFT;

/// Bytes of a run that are read at a time, as `plan_spool.READ_BYTES`.
const READ_BYTES: usize = 1 << 14;
/// Bytes of a plan's length, before it.
const SIZE: usize = 4;

/// A file's number, and where plans of it begin and end.
type Stretch = (i64, u64, u64);

/// Takes packed plans; `write` receives them sorted by packet, about `most` bytes at a time.
#[pyclass(module = "kdissect._native")]
pub struct PlanRuns {
    write: Py<PyAny>,
    most: usize,
    /// Plans one behind the other, and of each its packet, where it begins and its bytes.
    data: Vec<u8>,
    index: Vec<(i64, usize, usize)>,
    stretches: Vec<Stretch>,
}

#[pymethods]
impl PlanRuns {
    #[new]
    fn new(write: Py<PyAny>, most: usize) -> Self {
        PlanRuns { write, most, data: Vec::new(), index: Vec::new(), stretches: Vec::new() }
    }

    /// Keep a packed plan. Raises ValueError for one that is none, and what `write` does.
    fn add(&mut self, py: Python<'_>, plan: &[u8]) -> PyResult<()> {
        let start = self.data.len();
        self.data.extend_from_slice(plan);
        self.added(py, start)
    }

    /// Write the remaining plans, and return all stretches in the order of the runs. Raises what
    /// `write` does.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Vec<Stretch>> {
        self.flush(py)?;
        self.data = Vec::new();
        self.index = Vec::new();
        Ok(self.stretches.clone())
    }
}

impl PlanRuns {
    /// Store a plan that `pack` appends.
    pub fn add_packed(&mut self, py: Python<'_>, pack: impl FnOnce(&mut Vec<u8>)) -> PyResult<()> {
        let start = self.data.len();
        pack(&mut self.data);
        self.added(py, start)
    }

    /// Note a plan that was appended from `start` on.
    fn added(&mut self, py: Python<'_>, start: usize) -> PyResult<()> {
        let found = plan::reference(&self.data[start..]);
        let Some(reference) = found else { return Err(PyValueError::new_err("no plan")) };
        self.index.push((reference, start, self.data.len() - start));
        if self.data.len() + SIZE * self.index.len() >= self.most {
            self.flush(py)?;
        }
        Ok(())
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        self.index.sort_unstable(); // what stands first comes first: the order in which they were added
        for of_file in self.index.chunk_by(|one, next| one.0 >> FILE_SHIFT == next.0 >> FILE_SHIFT) {
            let total = of_file.iter().map(|one| one.2 + SIZE).sum();
            let sorted = PyBytes::new_with(py, total, |mut room| {
                for &(_, start, size) in of_file {
                    let (head, rest) = room.split_at_mut(SIZE);
                    let (plan, rest) = rest.split_at_mut(size);
                    head.copy_from_slice(&(size as u32).to_le_bytes());
                    plan.copy_from_slice(&self.data[start..start + size]);
                    room = rest;
                }
                Ok(())
            })?;
            let start: u64 = self.write.bind(py).call1((sorted,))?.extract()?;
            let file = of_file.first().map_or(0, |one| one.0 >> FILE_SHIFT);
            self.stretches.push((file, start, start + total as u64));
        }
        self.index.clear();
        self.data.clear();
        Ok(())
    }
}

/// Gives plans by their packets, in the order in which packets are read.
#[pyclass(module = "kdissect._native")]
pub struct MergedPlans {
    read: Py<PyAny>,
    stretches: Vec<Stretch>,
    taken: Vec<u8>,
    most_waiting: usize,
    files: HashMap<i64, Merge>,
    waiting: BTreeMap<i64, Vec<Vec<u8>>>,
}

#[pymethods]
impl MergedPlans {
    /// `read` returns bytes of the stretches; `taken` says by number which connections' plans are
    /// returned.
    #[new]
    fn new(read: Py<PyAny>, stretches: Vec<Stretch>, taken: Vec<u8>, most_waiting: usize) -> Self {
        let (files, waiting) = (HashMap::new(), BTreeMap::new());
        MergedPlans { read, stretches, taken, most_waiting, files, waiting }
    }

    /// Return and forget the packed plans of frames that begin in a packet. Raises what `read`
    /// does.
    fn take<'py>(&mut self, py: Python<'py>, reference: i64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let found = self.found(py, reference)?;
        Ok(found.iter().map(|one| PyBytes::new(py, one)).collect())
    }
}

impl MergedPlans {
    /// The same, as they are here.
    pub fn found(&mut self, py: Python<'_>, reference: i64) -> PyResult<Vec<Vec<u8>>> {
        let MergedPlans { read, stretches, taken, files, waiting, .. } = self;
        let file = reference >> FILE_SHIFT;
        let of_file = match files.entry(file) {
            std::collections::hash_map::Entry::Occupied(found) => found.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(Merge::of(py, read, stretches, file)?)
            }
        };
        let mut found = Vec::new();
        while let Some((first, one)) = of_file.up_to(py, read, reference)? {
            let number = plan::connection(&one).and_then(|number| usize::try_from(number).ok());
            if number.and_then(|number| taken.get(number)).is_none_or(|&taken| taken == 0) {
                continue;
            }
            if first == reference {
                found.push(one);
            } else {
                waiting.entry(first).or_default().push(one);
            }
        }
        if let Some(mut waited) = waiting.remove(&reference) {
            waited.append(&mut found);
            found = waited;
        }
        while waiting.len() > self.most_waiting {
            waiting.pop_first();
        }
        Ok(found)
    }

    /// Plans that were not used after all.
    pub fn put_back(&mut self, reference: i64, plans: Vec<Vec<u8>>) {
        if !plans.is_empty() {
            self.waiting.insert(reference, plans);
        }
    }
}

/// The plans of one file.
struct Merge {
    runs: Vec<Run>,
    /// Of each run the packet of its next plan.
    next: BinaryHeap<Reverse<(i64, usize)>>,
}

impl Merge {
    fn of(py: Python<'_>, read: &Py<PyAny>, stretches: &[Stretch], file: i64) -> PyResult<Merge> {
        let (mut runs, mut next) = (Vec::new(), BinaryHeap::new());
        for &(_, start, end) in stretches.iter().filter(|one| one.0 == file) {
            let mut run = Run { start, end, data: Vec::new(), at: 0 };
            if let Some(first) = run.reference(py, read)? {
                next.push(Reverse((first, runs.len())));
                runs.push(run);
            }
        }
        Ok(Merge { runs, next })
    }

    /// The next plan, if its packet is none behind `reference`.
    fn up_to(
        &mut self,
        py: Python<'_>,
        read: &Py<PyAny>,
        reference: i64,
    ) -> PyResult<Option<(i64, Vec<u8>)>> {
        let Some(&Reverse((first, number))) = self.next.peek() else { return Ok(None) };
        if first > reference {
            return Ok(None);
        }
        self.next.pop();
        let Some(run) = self.runs.get_mut(number) else { return Ok(None) };
        let plan = run.take();
        if let Some(next) = run.reference(py, read)? {
            self.next.push(Reverse((next, number)));
        }
        Ok(Some((first, plan)))
    }
}

/// One run: what was read of it, and where the rest stands.
struct Run {
    start: u64,
    end: u64,
    data: Vec<u8>,
    at: usize,
}

impl Run {
    /// The packet of the next plan, all of which is there then; None without one.
    fn reference(&mut self, py: Python<'_>, read: &Py<PyAny>) -> PyResult<Option<i64>> {
        loop {
            if let Some(plan) = self.plan() {
                return Ok(plan::reference(plan));
            }
            if self.start >= self.end {
                return Ok(None);
            }
            let most = (self.end - self.start).min(READ_BYTES as u64);
            let more = read.bind(py).call1((self.start, most))?;
            let more: &[u8] = more.extract()?;
            if more.is_empty() {
                return Err(PyValueError::new_err("the plans are not there any more"));
            }
            self.data.drain(..self.at);
            self.at = 0;
            self.data.extend_from_slice(more);
            self.start += more.len() as u64;
        }
    }

    fn plan(&self) -> Option<&[u8]> {
        let rest = self.data.get(self.at..)?;
        let size = u32::from_le_bytes(*rest.first_chunk()?) as usize;
        rest.get(SIZE..SIZE + size)
    }

    fn take(&mut self) -> Vec<u8> {
        let plan = self.plan().unwrap_or_default().to_vec();
        self.at += SIZE + plan.len();
        plan
    }
}
