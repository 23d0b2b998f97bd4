//! Canonical bodies to values: `kdissect.decoders.generated.canonical`, without code emitted for each kind of body.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyFrozenSet, PyList, PyMemoryView, PySlice, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Role, Struct, MOST_NESTED};
use crate::bodies::visitor::{Look, Program, What};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;

/// The parts of a records field that other fields give: topic, topic id, partition (`RecordsField`).
const SECTION_PARTS: usize = 3;

/// A struct as `kdissect.decoders.generated.canonical` tells it: the class of its values, what is plain of its fields. None:
/// all of them; True: those that are not negative; False: none; a set: these numbers, or of ids none of these.
type Spec<'py> = (Py<PyAny>, Vec<Bound<'py, PyAny>>);

/// What a struct becomes; `plain` are names and plain values of its fields.
struct Made {
    class: Py<PyAny>,
    plain: Vec<(Py<PyString>, Plain)>,
}

/// Which values are plain.
enum Plain {
    All,
    NotNegative,
    None,
    Listed(Py<PyFrozenSet>),
}

/// One version of a message: `decode` is a `PlainDecoder`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct PlainBody {
    program: Program,
    has_records: bool,
    made: Vec<Made>,
    version: i64,
    new: Py<PyAny>,
    decoded: Py<PyAny>,
    records_field: Py<PyAny>,
}

#[pymethods]
impl PlainBody {
    /// Of each struct of the layout a spec; `new` is that of tuples, `decoded` and `records_field` are the classes.
    #[new]
    fn make(
        py: Python<'_>,
        layout: &Layout,
        specs: Vec<Spec<'_>>,
        version: i64,
        new: Py<PyAny>,
        decoded: Py<PyAny>,
        records_field: Py<PyAny>,
    ) -> PyResult<PlainBody> {
        let made = layout.structs.iter().zip(specs).map(|(of, spec)| made(py, of, spec));
        let (program, has_records) = (Program::of::<Run>(layout), layout.has_records);
        let made = made.collect::<PyResult<_>>()?;
        Ok(PlainBody { program, has_records, made, version, new, decoded, records_field })
    }

    /// The body at `offset` as a `Decoded`; None where it is not plain.
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

impl PlainBody {
    fn field(&self, what: What) -> Option<&(Py<PyString>, Plain)> {
        self.made.get(what.structure)?.plain.get(what.index)
    }
}

/// A body on its way: the structs and arrays that are open, and what records that come now belong to.
struct Run<'a, 'py> {
    py: Python<'py>,
    owner: &'a Bound<'py, PyBytes>,
    open: Vec<Bound<'py, PyAny>>,
    parts: [Option<Bound<'py, PyAny>>; SECTION_PARTS],
    records_fields: Option<Bound<'py, PyList>>,
    of: &'a PlainBody,
    raised: Option<PyErr>,
}

impl Look for Run<'_, '_> {
    const SHORTEST: bool = true;

    fn wants(_field: &Field) -> bool {
        true
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let (name, plain) = self.of.field(what)?;
        let value = self.value(data.get(place.clone())?, place, what.kind, plain)?;
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
            false => self.set(&self.of.field(what)?.0, made),
        }
    }

    fn array_end(&mut self, what: What) -> Option<()> {
        let made = self.open.pop()?;
        self.set(&self.of.field(what)?.0, made)
    }

    /// Any tag deserves a look.
    fn tags(&mut self, _at: usize) -> Option<()> {
        None
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
        self.set(&self.of.field(what)?.0, self.py.None().into_bound(self.py))
    }

    fn append(&mut self, value: Bound<'py, PyAny>) -> Option<()> {
        let done = self.open.last()?.cast::<PyList>().ok()?.append(value);
        self.kept(done)
    }

    /// None where it is not canonical.
    fn value(
        &mut self,
        raw: &[u8],
        place: Range<usize>,
        kind: Kind,
        plain: &Plain,
    ) -> Option<Bound<'py, PyAny>> {
        let py = self.py;
        match kind {
            Kind::Bool => match raw {
                [value @ 0..=1] => Some(PyBool::new(py, *value == 1).to_owned().into_any()),
                _ => None,
            },
            Kind::Number(kind) => {
                let found = plain.number(py, kind.of(raw)?);
                self.kept(found)?
            }
            Kind::Float64 => Some(PyFloat::new(py, f64::from_be_bytes(raw.try_into().ok()?)).into_any()),
            Kind::Uuid => {
                let found = plain.uuid(PyBytes::new(py, raw));
                self.kept(found)?
            }
            Kind::String if raw.len() > LONGEST_STRING => None,
            Kind::String => Some(PyString::new(py, std::str::from_utf8(raw).ok()?).into_any()),
            Kind::Bytes => Some(PyBytes::new(py, raw).into_any()),
            Kind::Records => {
                let found = self.records(place);
                self.kept(found)
            }
            Kind::Struct(_) => None,
        }
    }

    /// A view of the records; where they are goes to the records fields.
    fn records(&mut self, place: Range<usize>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(records_fields) = &self.records_fields {
            let [topic, topic_id, partition] = &self.parts;
            let nothing: Option<u8> = None;
            let all = (topic, topic_id, partition, nothing, place.start, place.end, nothing);
            records_fields
                .append(self.of.new.bind(self.py).call1((self.of.records_field.bind(self.py), all))?)?;
        }
        // Not `PySlice::new`: that of PyO3 0.26 never gives its numbers back, some 60 bytes a call.
        let place = self.py.get_type::<PySlice>().call1((place.start, place.end))?;
        PyMemoryView::from(self.owner.as_any())?.get_item(place)
    }
}

impl Plain {
    /// The number, where it is plain.
    fn number<'py>(&self, py: Python<'py>, value: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = value.into_pyobject(py)?;
        let is_plain = match self {
            Plain::All => true,
            Plain::NotNegative => value >= 0,
            Plain::None => false,
            Plain::Listed(known) => known.bind(py).contains(&found)?,
        };
        Ok(is_plain.then(|| found.into_any()))
    }

    /// The id, where it is plain.
    fn uuid<'py>(&self, found: Bound<'py, PyBytes>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_odd = match self {
            Plain::None => true,
            Plain::Listed(special) => special.bind(found.py()).contains(&found)?,
            Plain::All | Plain::NotNegative => false,
        };
        Ok((!is_odd).then(|| found.into_any()))
    }
}

fn made(py: Python<'_>, of: &Struct, (class, specs): Spec<'_>) -> PyResult<Made> {
    if of.fields.len() != specs.len() {
        return Err(PyValueError::new_err("these are the parts of another message"));
    }
    let fields = of.fields.iter().zip(&specs);
    // Interned names are found by identity, once a value: those of the schema were read from a file.
    let plain = fields.map(|(field, spec)| Ok((PyString::intern(py, field.name()).unbind(), plain(spec)?)));
    Ok(Made { class, plain: plain.collect::<PyResult<_>>()? })
}

fn plain(spec: &Bound<'_, PyAny>) -> PyResult<Plain> {
    if spec.is_none() {
        return Ok(Plain::All);
    }
    match spec.cast::<PyFrozenSet>() {
        Ok(known) => Ok(Plain::Listed(known.clone().unbind())),
        Err(_) => Ok(if spec.extract()? { Plain::NotNegative } else { Plain::None }),
    }
}

fn part_of(role: Role) -> usize {
    match role {
        Role::Topic => 0,
        Role::TopicId => 1,
        _ => 2,
    }
}
