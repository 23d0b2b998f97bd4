//! `kdissect.decoders.generated.summary.summarizer`, by a walk of each body: what the walk finds is looked up.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::bodies::plan::{Layout, Number, Role};
use crate::bodies::visitor::{Look, Program, What};
pub use crate::records::quick::QuickMap as Mixed;

/// Maximum number of summaries of one kind, after which they are forgotten. Topics and errors are
/// few.
const MOST_OF_A_KIND: usize = 1024;
/// Larger summaries are not remembered.
const MOST_BYTES: usize = 2048;
/// For all kinds together, about: hostile bodies can be new for ever. A summary takes some 1000 bytes.
const ROOM: i64 = 16 << 20;
const SUMMARY_ROOM: i64 = 1000;

/// Begins what is found: empty keys are slow to compare (`wire::are_same`).
const FIRST: u8 = 0;
/// Each finding follows one of these bytes. The bytes of a text stand behind their number, an
/// int32.
const FOUND_ERROR: u8 = 1;
const FOUND_ACKS: u8 = 2;
const FOUND_ID: u8 = 3;
const FOUND_TOPIC: u8 = 4;
const FOUND_GROUP: u8 = 5;
const FOUND_THROTTLE: u8 = 6;
const FOUND_RACK: u8 = 7;
pub const NO_ERROR: &[u8] = &[0; 2];
const NO_TOPIC_ID: &[u8] = &[0; 16];

static LEFT: AtomicI64 = AtomicI64::new(ROOM);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The parts of a body that its summary shows, as bytes after `FIRST`: bodies with equal bytes have
/// an equal summary.
#[derive(Default)]
struct Found(Vec<u8>);

impl Look for Found {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place)?;
        let kind = match what.role {
            Role::Error if raw == NO_ERROR => return Some(()),
            Role::TopicId if raw == NO_TOPIC_ID && !what.is_array => return Some(()), // it has no id
            Role::Error => FOUND_ERROR,
            Role::Acks => FOUND_ACKS,
            Role::TopicId => FOUND_ID,
            Role::Group => FOUND_GROUP,
            Role::Throttle => FOUND_THROTTLE,
            Role::Rack => FOUND_RACK,
            _ => FOUND_TOPIC,
        };
        self.0.push(kind);
        if is_text(kind) {
            self.0.extend_from_slice(&u32::try_from(raw.len()).ok()?.to_be_bytes());
        }
        self.0.extend_from_slice(raw);
        Some(())
    }
}

/// A summary, behind the number that only it has while it is remembered; 0 for one that is not.
pub type Numbered = (u64, Py<PyAny>);

/// Summaries of one message version's bodies.
#[pyclass(module = "kdissect._native")]
pub struct Summaries {
    program: Program,
    make: Py<PyAny>,
    odd: Py<PyAny>,
    known: Mixed<Box<[u8]>, usize>,
    summaries: Vec<Numbered>,
    found: Found,
    /// Findings in the body before, if its summary is remembered, and the position of the summary.
    before: Found,
    at_before: Option<usize>,
    held: i64,
}

impl Summaries {
    /// The summary of the body from `offset` on. None where Python is to look at it.
    pub fn look(&mut self, py: Python<'_>, data: &[u8], offset: usize) -> PyResult<Option<Numbered>> {
        self.found.0.clear();
        self.found.0.push(FIRST);
        if self.program.walk(data, offset, &mut self.found) != Some(data.len()) {
            return Ok(None);
        }
        // Many bodies are like the one before.
        let known = match self.found.0 == self.before.0 {
            true => self.at_before,
            false => self.known.get(self.found.0.as_slice()).copied(),
        };
        let at = match known {
            Some(at) => at,
            None => {
                let Some(summary) = self.summary(py)? else { return Ok(None) };
                if !self.has_room() {
                    return Ok(Some((0, summary)));
                }
                self.summaries.push((NEXT.fetch_add(1, Ordering::Relaxed), summary));
                self.known.insert(self.found.0.as_slice().into(), self.summaries.len() - 1);
                self.summaries.len() - 1
            }
        };
        self.at_before = Some(at);
        std::mem::swap(&mut self.found, &mut self.before);
        Ok(self.summaries.get(at).map(|(number, summary)| (*number, summary.clone_ref(py))))
    }

    /// Whether the findings can be remembered. Reserves the memory then.
    fn has_room(&mut self) -> bool {
        if self.found.0.len() > MOST_BYTES {
            return false;
        }
        if self.known.len() >= MOST_OF_A_KIND {
            self.forget();
        }
        let takes = SUMMARY_ROOM + 2 * self.found.0.len() as i64;
        if LEFT.fetch_sub(takes, Ordering::Relaxed) < takes {
            LEFT.fetch_add(takes, Ordering::Relaxed);
            return false;
        }
        self.held += takes;
        true
    }

    fn forget(&mut self) {
        self.known.clear();
        self.summaries.clear();
        self.at_before = None;
        LEFT.fetch_add(self.held, Ordering::Relaxed);
        self.held = 0;
    }

    /// A `kdissect.decoders.generated.summary.Summary` of what was found. None with names that are
    /// not UTF-8, because two of them may look equal.
    fn summary(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let (errors, topics, ids) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        let groups = PyDict::new(py);
        let (mut acks, mut throttle, mut rack) = (None, None, None);
        let mut rest = self.found.0.get(1..).unwrap_or_default();
        while let Some((kind, behind)) = rest.split_first() {
            let Some((raw, behind)) = split(*kind, behind) else { return Ok(None) };
            rest = behind;
            match *kind {
                FOUND_ERROR => errors.set_item(number(raw), py.None())?,
                FOUND_ID => ids.set_item(PyBytes::new(py, raw), py.None())?,
                FOUND_ACKS => acks = Some(number(raw)),
                FOUND_THROTTLE => throttle = Number::Int32.of(raw),
                _ => {
                    let Ok(text) = std::str::from_utf8(raw) else { return Ok(None) };
                    let text = PyString::new(py, text);
                    match *kind {
                        FOUND_RACK => rack = Some(text),
                        FOUND_GROUP => groups.set_item(text, py.None())?,
                        _ => topics.set_item(text, py.None())?,
                    }
                }
            }
        }
        let keys = |of: Bound<'_, PyDict>| of.keys().to_tuple().unbind();
        let (errors, topics, ids, groups) = (keys(errors), keys(topics), keys(ids), keys(groups));
        let facts = (errors, topics, ids, acks, true, true, groups, throttle, rack);
        self.make.call1(py, facts).map(Some)
    }
}

fn is_text(kind: u8) -> bool {
    matches!(kind, FOUND_TOPIC | FOUND_GROUP | FOUND_RACK)
}

fn split(kind: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match kind {
        FOUND_ID => bytes.split_at_checked(16),
        FOUND_THROTTLE => bytes.split_at_checked(4),
        _ if is_text(kind) => {
            let (size, behind) = bytes.split_at_checked(4)?;
            behind.split_at_checked(u32::from_be_bytes(size.try_into().ok()?) as usize)
        }
        _ => bytes.split_at_checked(2),
    }
}

fn number(raw: &[u8]) -> i16 {
    raw.try_into().map_or(0, i16::from_be_bytes)
}

#[pymethods]
impl Summaries {
    /// `make` is the class Summary; `odd` makes summaries of bodies that are not ordinary. `is_listed`: they have what a
    /// line of the list shows besides.
    #[new]
    fn new(layout: &Layout, make: Py<PyAny>, odd: Py<PyAny>, is_listed: bool) -> Self {
        let wants = |role| match role {
            Role::Error | Role::Acks | Role::Topic | Role::TopicId => true,
            Role::Group | Role::Throttle | Role::Rack => is_listed,
            _ => false,
        };
        Summaries {
            program: Program::to(layout, &|part| wants(part.role).then_some(0)),
            make,
            odd,
            known: Mixed::default(),
            summaries: Vec::new(),
            found: Found::default(),
            before: Found::default(),
            at_before: None,
            held: 0,
        }
    }

    /// The summary of the body at `offset` of `data`.
    pub fn summarize(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>, offset: isize) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if let (Ok(bytes), Ok(at), Ok(mut mine)) =
            (data.cast::<PyBytes>(), usize::try_from(offset), slf.try_borrow_mut())
        {
            if let Some(found) = mine.look(py, bytes.as_bytes(), at)? {
                return Ok(found.1);
            }
        }
        let odd = slf.borrow().odd.clone_ref(py);
        odd.call1(py, (data, offset))
    }

    /// How many are remembered.
    fn __len__(&self) -> usize {
        self.known.len()
    }
}

impl Drop for Summaries {
    fn drop(&mut self) {
        self.forget();
    }
}
