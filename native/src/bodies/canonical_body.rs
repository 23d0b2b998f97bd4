//! Canonical bodies to values: `kdissect.decoders.generated.canonical`, without code emitted for each kind of body.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyMemoryView, PySlice, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Role, Struct, MOST_NESTED};
use crate::bodies::visitor::{Look, Program, What};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;

/// The parts of a records field that other fields give: topic, topic id, partition (`RecordsField`).
const SECTION_PARTS: usize = 3;

/// Object of a struct: the class of its values, and the names of its fields and its tagged fields.
struct Made {
    class: Py<PyAny>,
    names: Vec<Py<PyString>>,
    tagged: Vec<Py<PyString>>,
}

/// One version of a message: `decode` is a `CanonicalDecoder`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct CanonicalBody {
    program: Program,
    has_records: bool,
    made: Vec<Made>,
    version: i64,
    new: Py<PyAny>,
    decoded: Py<PyAny>,
    records_field: Py<PyAny>,
}

#[pymethods]
impl CanonicalBody {
    /// Of each struct of the layout the class of its values; `new` is that of tuples, `decoded` and
    /// `records_field` are the classes.
    #[new]
    fn make(
        py: Python<'_>,
        layout: &Layout,
        classes: Vec<Py<PyAny>>,
        version: i64,
        new: Py<PyAny>,
        decoded: Py<PyAny>,
        records_field: Py<PyAny>,
    ) -> PyResult<CanonicalBody> {
        let made = layout.structs.iter().zip(classes).map(|(of, class)| made(py, of, class)).collect();
        let (program, has_records) = (Program::of::<Run>(layout), layout.has_records);
        Ok(CanonicalBody { program, has_records, made, version, new, decoded, records_field })
    }

    /// The body at `offset` as a `Decoded`; None if it is not canonical.
    fn decode<'py>(&self, data: &Bound<'py, PyBytes>, offset: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if offset > data.as_bytes().len() {
            return Ok(None); // also of a body without any field
        }
        let mut run = Run {
            py: data.py(),
            owner: data,
            open: Vec::with_capacity(2 * MOST_NESTED),
            parts: [const { None }; SECTION_PARTS],
            records_fields: self.has_records.then(|| PyList::empty(data.py())),
            of: self,
            raised: None,
        };
        let end = self.program.walk(data.as_bytes(), offset, &mut run);
        match (run.raised.take(), end) {
            (Some(error), _) => Err(error),
            (None, Some(end)) => run.decoded(end),
            (None, None) => Ok(None),
        }
    }
}

impl CanonicalBody {
    fn name(&self, what: What) -> Option<&Py<PyString>> {
        let made = self.made.get(what.structure)?;
        if what.is_tag { &made.tagged } else { &made.names }.get(what.index)
    }
}

/// A body on its way: the structs and arrays that are open, and what records that come now belong to.
struct Run<'a, 'py> {
    py: Python<'py>,
    owner: &'a Bound<'py, PyBytes>,
    open: Vec<Bound<'py, PyAny>>,
    parts: [Option<Bound<'py, PyAny>>; SECTION_PARTS],
    records_fields: Option<Bound<'py, PyList>>,
    of: &'a CanonicalBody,
    raised: Option<PyErr>,
}

impl Look for Run<'_, '_> {
    const CANONICAL: bool = true;

    fn wants(_field: &Field) -> bool {
        true
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let name = self.of.name(what)?;
        let value = self.value(data.get(place.clone())?, place, what.kind)?;
        if what.is_array {
            return self.append(value);
        }
        if what.is_part {
            self.parts[part_of(what.role)] = Some(value.clone());
        }
        self.set(name, value)
    }

    fn null(&mut self, what: What) {
        if what.is_part {
            self.parts[part_of(what.role)] = None;
        }
        self.set_null(what);
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        match count {
            None => self.set_null(what)?,
            Some(_) if what.is_array => self.open.push(PyList::empty(self.py).into_any()),
            Some(_) => {}
        }
        Some(())
    }

    fn structure(&mut self, number: usize) -> Option<()> {
        let made = self.of.made.get(number)?.class.bind(self.py).call0();
        let made = self.kept(made)?;
        self.open.push(made);
        Some(())
    }

    fn structure_end(&mut self, what: Option<What>) -> Option<()> {
        let Some(what) = what else { return Some(()) }; // the root
        let made = self.open.pop()?;
        match what.is_array {
            true => self.append(made),
            false => self.set(self.of.name(what)?, made),
        }
    }

    fn array_end(&mut self, what: What) -> Option<()> {
        let made = self.open.pop()?;
        self.set(self.of.name(what)?, made)
    }
}

impl<'py> Run<'_, 'py> {
    fn decoded(mut self, end: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(value) = self.open.pop() else { return Ok(None) };
        let fits = end == self.owner.as_bytes().len();
        let nothing: Option<u8> = None;
        let all = (value, end, self.of.version, fits, true, nothing, self.records_fields);
        self.of.new.bind(self.py).call1((self.of.decoded.bind(self.py), all)).map(Some)
    }

    fn kept<T>(&mut self, found: PyResult<T>) -> Option<T> {
        found.map_err(|error| self.raised = Some(error)).ok()
    }

    fn set(&mut self, name: &Py<PyString>, value: Bound<'py, PyAny>) -> Option<()> {
        let done = self.open.last()?.setattr(name.bind(self.py), value);
        self.kept(done)
    }

    fn set_null(&mut self, what: What) -> Option<()> {
        self.set(self.of.name(what)?, self.py.None().into_bound(self.py))
    }

    fn append(&mut self, value: Bound<'py, PyAny>) -> Option<()> {
        let done = self.open.last()?.cast::<PyList>().ok()?.append(value);
        self.kept(done)
    }

    /// None if it is not canonical.
    fn value(&mut self, raw: &[u8], place: Range<usize>, kind: Kind) -> Option<Bound<'py, PyAny>> {
        let py = self.py;
        match kind {
            Kind::Bool => match raw {
                [value @ 0..=1] => Some(PyBool::new(py, *value == 1).to_owned().into_any()),
                _ => None,
            },
            Kind::Number(kind) => kind.of(raw)?.into_pyobject(py).ok().map(Bound::into_any),
            Kind::Float64 => Some(PyFloat::new(py, f64::from_be_bytes(raw.try_into().ok()?)).into_any()),
            Kind::String if raw.len() > LONGEST_STRING => None,
            Kind::String => Some(PyString::new(py, std::str::from_utf8(raw).ok()?).into_any()),
            Kind::Bytes | Kind::Uuid => Some(PyBytes::new(py, raw).into_any()),
            Kind::Records => {
                let found = self.records(place);
                self.kept(found)
            }
            Kind::Struct(_) => None,
        }
    }

    /// A view of the records; notes their position in the records fields.
    fn records(&mut self, place: Range<usize>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(records_fields) = &self.records_fields {
            let [topic, topic_id, partition] = &self.parts;
            let nothing: Option<u8> = None;
            let all = (topic, topic_id, partition, nothing, place.start, place.end, nothing);
            records_fields
                .append(self.of.new.bind(self.py).call1((self.of.records_field.bind(self.py), all))?)?;
        }
        // Not `PySlice::new`: PyO3 0.26 leaks its numbers there, some 60 bytes a call.
        let place = self.py.get_type::<PySlice>().call1((place.start, place.end))?;
        PyMemoryView::from(self.owner.as_any())?.get_item(place)
    }
}

fn made(py: Python<'_>, of: &Struct, class: Py<PyAny>) -> Made {
    // Interned names are found by identity, once a value: the schema's names were read from a file.
    let names = |of: &[Field]| of.iter().map(|field| PyString::intern(py, field.name()).unbind()).collect();
    Made { class, names: names(&of.fields), tagged: names(&of.tagged) }
}

fn part_of(role: Role) -> usize {
    match role {
        Role::Topic => 0,
        Role::TopicId => 1,
        _ => 2,
    }
}
