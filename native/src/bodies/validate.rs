//! `kdissect.decoders.generated.validate.validator`, by a walk of each body.

use std::ops::Range;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::bodies::plan::{Field, Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};

/// Error codes that are not zero, each once, and where records stand.
#[derive(Default)]
struct Seen {
    errors: Vec<i16>,
    records: Vec<Range<usize>>,
}

impl Look for Seen {
    fn wants(field: &Field) -> bool {
        field.kind == Kind::Records || matches!(field.role, Role::Error | Role::Payload)
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        if what.kind == Kind::Records {
            self.records.push(place);
        } else if what.role == Role::Payload {
            return place.is_empty().then_some(()); // what stands in it may not fit
        } else {
            let code = i16::from_be_bytes(data.get(place)?.try_into().ok()?);
            if code != 0 && !self.errors.contains(&code) {
                self.errors.push(code);
            }
        }
        Some(())
    }
}

/// Validators of one message version's bodies.
#[pyclass(module = "kdissect._native")]
pub struct Validators {
    program: Program,
    seen: Seen,
    may_be_cut: bool,
    make: Py<PyAny>,
    count: Py<PyAny>,
    clean: Py<PyAny>,
}

#[pymethods]
impl Validators {
    /// `make` is the class Validation and `clean` the result for a body without errors or batches.
    /// `count` is `count_batches`, and `may_be_cut` its parameter.
    #[new]
    fn new(layout: &Layout, make: Py<PyAny>, clean: Py<PyAny>, count: Py<PyAny>, may_be_cut: bool) -> Self {
        Validators {
            program: Program::of::<Seen>(layout),
            seen: Seen::default(),
            may_be_cut,
            make,
            count,
            clean,
        }
    }

    /// Result of validating the body at `offset` of `data`; None if validation cannot decide.
    fn validate(&mut self, data: &Bound<'_, PyBytes>, offset: usize) -> PyResult<Option<Py<PyAny>>> {
        let (py, bytes) = (data.py(), data.as_bytes());
        self.seen.errors.clear();
        self.seen.records.clear();
        if self.program.walk(bytes, offset, &mut self.seen) != Some(bytes.len()) {
            return Ok(None);
        }
        let mut batches = 0;
        for place in &self.seen.records {
            let found = self.count.call1(py, (data, place.start, place.end, self.may_be_cut));
            match found {
                Ok(number) => batches += number.extract::<u64>(py)?,
                Err(error) if is_of_the_bytes(py, &error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        if batches == 0 && self.seen.errors.is_empty() {
            return Ok(Some(self.clean.clone_ref(py)));
        }
        let errors = PyTuple::new(py, &self.seen.errors)?;
        self.make.call1(py, (errors, batches)).map(Some)
    }
}

fn is_of_the_bytes(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyIndexError>(py)
}
