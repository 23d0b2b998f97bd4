//! Canonical bodies to values: `kdissect.decoders.generated.canonical`, without code emitted for each kind of body.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyMemoryView, PySlice, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Role, Struct};
use crate::wire::{Form, Wire};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;

/// The parts of a records field that other fields give: topic, topic id, partition (`RecordsField`).
const SECTION_PARTS: usize = 3;

/// What a struct becomes: the class of its values, names of its fields.
struct Made {
    class: Py<PyAny>,
    names: Vec<Py<PyString>>,
}

/// Why there is no value: it is not canonical, or Python raised.
enum Stop {
    Other,
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Stop {
        Stop::Raised(error)
    }
}

type Found<T> = Result<T, Stop>;

/// One version of a message: `decode` is a `CanonicalDecoder`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct CanonicalBody {
    layout: Py<Layout>,
    made: Vec<Made>,
    version: i64,
    new: Py<PyAny>,
    decoded: Py<PyAny>,
    records_field: Py<PyAny>,
}

#[pymethods]
impl CanonicalBody {
    /// Of each struct of the layout the class of its values; `new` is that of tuples, `decoded` and `records_field` are the classes.
    #[new]
    fn make(
        py: Python<'_>,
        layout: Py<Layout>,
        classes: Vec<Py<PyAny>>,
        version: i64,
        new: Py<PyAny>,
        decoded: Py<PyAny>,
        records_field: Py<PyAny>,
    ) -> PyResult<CanonicalBody> {
        let structs = layout.get().structs.iter();
        let made = structs.zip(classes).map(|(of, class)| made(py, of, class)).collect();
        Ok(CanonicalBody { layout, made, version, new, decoded, records_field })
    }

    /// The body at `offset` as a `Decoded`; None where it is not canonical.
    fn decode<'py>(&self, data: &Bound<'py, PyBytes>, offset: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if offset > data.as_bytes().len() {
            return Ok(None); // also of a body without any field
        }
        let mut run = Run {
            py: data.py(),
            owner: data,
            wire: Wire { data: data.as_bytes(), at: offset },
            parts: [const { None }; SECTION_PARTS],
            records_fields: if self.layout.get().has_records { Some(PyList::empty(data.py())) } else { None },
            layout: self.layout.get(),
            of: self,
        };
        match run.structure(0) {
            Ok(value) => run.decoded(value).map(Some),
            Err(Stop::Other) => Ok(None),
            Err(Stop::Raised(error)) => Err(error),
        }
    }
}

/// A body on its way: a position in its bytes, and what records that come now belong to.
struct Run<'a, 'py> {
    py: Python<'py>,
    owner: &'a Bound<'py, PyBytes>,
    wire: Wire<'a>,
    parts: [Option<Bound<'py, PyAny>>; SECTION_PARTS],
    records_fields: Option<Bound<'py, PyList>>,
    layout: &'a Layout,
    of: &'a CanonicalBody,
}

impl<'a, 'py> Run<'a, 'py> {
    fn decoded(self, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let fits = self.wire.left() == 0;
        let nothing: Option<u8> = None;
        let all = (value, self.wire.at, self.of.version, fits, true, nothing, self.records_fields);
        self.of.new.bind(self.py).call1((self.of.decoded.bind(self.py), all))
    }

    fn structure(&mut self, number: usize) -> Found<Bound<'py, PyAny>> {
        let (Some(of), Some(own)) = (self.layout.structs.get(number), self.of.made.get(number)) else {
            return Err(Stop::Other);
        };
        let made = own.class.bind(self.py).call0()?;
        for (field, name) in of.fields.iter().zip(&own.names) {
            let value = self.field(field)?;
            if field.is_part {
                self.parts[part_of(field.role)] = Some(value.clone());
            }
            made.setattr(name.bind(self.py), value)?;
        }
        if self.layout.flexible && self.byte()? != 0 {
            return Err(Stop::Other); // any tag deserves a look
        }
        Ok(made)
    }

    fn field(&mut self, field: &Field) -> Found<Bound<'py, PyAny>> {
        if !field.is_array {
            return self.value(field.kind, field.nullable);
        }
        match self.length(field.nullable, false)? {
            Some(count) => self.list(count, field.kind),
            None => Ok(self.null()),
        }
    }

    fn value(&mut self, kind: Kind, nullable: bool) -> Found<Bound<'py, PyAny>> {
        Ok(match kind {
            Kind::Bool => self.boolean()?,
            Kind::Number(kind) => {
                let number = kind.read(&mut self.wire).ok_or(Stop::Other)?;
                number.into_pyobject(self.py).map_err(PyErr::from)?.into_any()
            }
            Kind::Float64 => PyFloat::new(self.py, f64::from_be_bytes(self.fixed()?)).into_any(),
            Kind::Uuid => PyBytes::new(self.py, self.take(16)?).into_any(),
            Kind::Struct(number) => self.structure(number)?,
            Kind::String | Kind::Bytes | Kind::Records => {
                match (self.length(nullable, kind == Kind::String)?, kind) {
                    (None, _) => self.null(),
                    (Some(length), Kind::String) => self.string(length)?,
                    (Some(length), Kind::Bytes) => PyBytes::new(self.py, self.take(length)?).into_any(),
                    (Some(length), _) => self.records(length)?,
                }
            }
        })
    }

    fn boolean(&mut self) -> Found<Bound<'py, PyAny>> {
        match self.byte()? {
            value @ 0..=1 => Ok(PyBool::new(self.py, value == 1).to_owned().into_any()),
            _ => Err(Stop::Other),
        }
    }

    fn null(&self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    fn string(&mut self, length: usize) -> Found<Bound<'py, PyAny>> {
        if length > LONGEST_STRING {
            return Err(Stop::Other);
        }
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| Stop::Other)?;
        Ok(PyString::new(self.py, text).into_any())
    }

    /// A view of the records; their place goes to the records fields.
    fn records(&mut self, length: usize) -> Found<Bound<'py, PyAny>> {
        let start = self.wire.at;
        self.take(length)?;
        if let Some(records_fields) = &self.records_fields {
            let [topic, topic_id, partition] = &self.parts;
            let nothing: Option<u8> = None;
            let all = (topic, topic_id, partition, nothing, start, self.wire.at, nothing);
            records_fields
                .append(self.of.new.bind(self.py).call1((self.of.records_field.bind(self.py), all))?)?;
        }
        // Not `PySlice::new`: that of PyO3 0.26 never gives its numbers back, some 60 bytes a call.
        let place = self.py.get_type::<PySlice>().call1((start, self.wire.at))?;
        Ok(PyMemoryView::from(self.owner.as_any())?.get_item(place)?)
    }

    fn list(&mut self, count: usize, kind: Kind) -> Found<Bound<'py, PyAny>> {
        let least = self.layout.least_element(kind);
        // Before anything is made of a count that cannot be.
        if count.checked_mul(least).is_none_or(|needed| needed > self.wire.left()) {
            return Err(Stop::Other);
        }
        let found = PyList::empty(self.py);
        for _ in 0..count {
            found.append(self.value(kind, false)?)?;
        }
        Ok(found.into_any())
    }

    /// The length of a value, or a count of elements; None for null. A varint that could be shorter is not canonical.
    fn length(&mut self, nullable: bool, is_short: bool) -> Found<Option<usize>> {
        let form = Form { compact: self.layout.flexible, nullable };
        let start = self.wire.at;
        let found = self.wire.length(form, is_short).ok_or(Stop::Other)?;
        let read = self.wire.data.get(start..self.wire.at).unwrap_or_default();
        if form.compact && matches!(read, [_, .., 0]) {
            return Err(Stop::Other);
        }
        Ok(found)
    }

    fn byte(&mut self) -> Found<u8> {
        self.wire.byte().ok_or(Stop::Other)
    }

    fn fixed<const N: usize>(&mut self) -> Found<[u8; N]> {
        self.wire.fixed().ok_or(Stop::Other)
    }

    fn take(&mut self, count: usize) -> Found<&'a [u8]> {
        self.wire.take(count).ok_or(Stop::Other)
    }
}

fn made(py: Python<'_>, of: &Struct, class: Py<PyAny>) -> Made {
    // Interned names are found by identity, once a value: those of the schema were read from a file.
    let names = of.fields.iter().map(|field| PyString::intern(py, field.name()).unbind());
    Made { class, names: names.collect() }
}

fn part_of(role: Role) -> usize {
    match role {
        Role::Topic => 0,
        Role::TopicId => 1,
        _ => 2,
    }
}
