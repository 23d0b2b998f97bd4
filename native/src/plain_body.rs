//! Plain bodies to values: `kdissect.decoders.plain`, without code emitted for each kind of body.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyList, PyMemoryView, PySlice, PyString};

use crate::plain_parts::{structure, Plain, Struct, Value, Width, SECTION_PARTS};
use crate::wire::{Form, Wire};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;

/// Why there is no value: it is not plain, or Python raised.
enum Stop {
    Odd,
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Stop {
        Stop::Raised(error)
    }
}

type Found<T> = Result<T, Stop>;

/// One version of a message: `decode` is a `PlainDecoder`.
#[pyclass(frozen, module = "kdissect._native")]
pub struct PlainBody {
    root: Struct,
    version: i64,
    has_records: bool,
    new: Py<PyAny>,
    decoded: Py<PyAny>,
    section: Py<PyAny>,
}

#[pymethods]
impl PlainBody {
    /// `spec`: see `plain_parts`; `new` is that of tuples, `decoded` and `section` the classes to be made.
    #[new]
    fn make(
        spec: &Bound<'_, PyAny>,
        version: i64,
        has_records: bool,
        new: Py<PyAny>,
        decoded: Py<PyAny>,
        section: Py<PyAny>,
    ) -> PyResult<PlainBody> {
        Ok(PlainBody { root: structure(spec, 0)?, version, has_records, new, decoded, section })
    }

    /// The body at `offset` as a `Decoded`; None where it is not plain.
    fn decode<'py>(&self, data: &Bound<'py, PyBytes>, offset: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if offset > data.as_bytes().len() {
            return Ok(None); // also of a body without any field
        }
        let mut run = Run {
            py: data.py(),
            owner: data,
            wire: Wire { data: data.as_bytes(), at: offset },
            parts: [const { None }; SECTION_PARTS],
            sections: if self.has_records { Some(PyList::empty(data.py())) } else { None },
            of: self,
        };
        match run.structure(&self.root) {
            Ok(value) => run.decoded(value).map(Some),
            Err(Stop::Odd) => Ok(None),
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
    sections: Option<Bound<'py, PyList>>,
    of: &'a PlainBody,
}

impl<'a, 'py> Run<'a, 'py> {
    fn decoded(self, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let fits = self.wire.left() == 0;
        let nothing: Option<u8> = None;
        let all = (value, self.wire.at, self.of.version, fits, true, nothing, self.sections);
        self.of.new.bind(self.py).call1((self.of.decoded.bind(self.py), all))
    }

    fn structure(&mut self, of: &Struct) -> Found<Bound<'py, PyAny>> {
        let made = of.class.bind(self.py).call0()?;
        for field in &of.fields {
            let value = self.value(&field.value)?;
            if let Some(part) = field.part {
                if let Some(place) = self.parts.get_mut(part) {
                    *place = Some(value.clone());
                }
            }
            made.setattr(field.name.bind(self.py), value)?;
        }
        if of.flexible && self.byte()? != 0 {
            return Err(Stop::Odd); // any tag deserves a look
        }
        Ok(made)
    }

    fn value(&mut self, of: &Value) -> Found<Bound<'py, PyAny>> {
        Ok(match of {
            Value::Bool => match self.byte()? {
                value @ 0..=1 => {
                    (value == 1).into_pyobject(self.py).map_err(PyErr::from)?.to_owned().into_any()
                }
                _ => return Err(Stop::Odd),
            },
            Value::Float64 => PyFloat::new(self.py, f64::from_be_bytes(self.fixed()?)).into_any(),
            Value::Number(width, plain) => self.number(*width, plain)?,
            Value::Uuid(special) => {
                let value = PyBytes::new(self.py, self.take(16)?);
                match special {
                    Some(special) if special.bind(self.py).contains(&value)? => return Err(Stop::Odd),
                    _ => value.into_any(),
                }
            }
            Value::String(form) => match self.length(*form, true)? {
                Some(length) => self.string(length)?,
                None => self.null(),
            },
            Value::Bytes(form) => match self.length(*form, false)? {
                Some(length) => PyBytes::new(self.py, self.take(length)?).into_any(),
                None => self.null(),
            },
            Value::Records(form) => match self.length(*form, false)? {
                Some(length) => self.records(length)?,
                None => self.null(),
            },
            Value::Never => return Err(Stop::Odd),
            Value::Struct(of) => self.structure(of)?,
            Value::List(form, least, element) => match self.length(*form, false)? {
                Some(count) => self.list(count, *least, element)?,
                None => self.null(),
            },
        })
    }

    fn null(&self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    fn number(&mut self, width: Width, plain: &Plain) -> Found<Bound<'py, PyAny>> {
        let value = match width {
            Width::Int8 => i64::from(i8::from_be_bytes(self.fixed()?)),
            Width::Int16 => i64::from(i16::from_be_bytes(self.fixed()?)),
            Width::Uint16 => i64::from(u16::from_be_bytes(self.fixed()?)),
            Width::Int32 => i64::from(i32::from_be_bytes(self.fixed()?)),
            Width::Uint32 => i64::from(u32::from_be_bytes(self.fixed()?)),
            Width::Int64 => i64::from_be_bytes(self.fixed()?),
        };
        let found = value.into_pyobject(self.py).map_err(PyErr::from)?;
        let is_plain = match plain {
            Plain::All => true,
            Plain::NotNegative => value >= 0,
            Plain::Known(known) => known.bind(self.py).contains(&found)?,
        };
        if is_plain {
            Ok(found.into_any())
        } else {
            Err(Stop::Odd)
        }
    }

    fn string(&mut self, length: usize) -> Found<Bound<'py, PyAny>> {
        if length > LONGEST_STRING {
            return Err(Stop::Odd);
        }
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| Stop::Odd)?;
        Ok(PyString::new(self.py, text).into_any())
    }

    /// A view of the records; their place goes to the sections.
    fn records(&mut self, length: usize) -> Found<Bound<'py, PyAny>> {
        let start = self.wire.at;
        self.take(length)?;
        if let Some(sections) = &self.sections {
            let [topic, topic_id, partition] = &self.parts;
            let nothing: Option<u8> = None;
            let all = (topic, topic_id, partition, nothing, start, self.wire.at, nothing);
            sections.append(self.of.new.bind(self.py).call1((self.of.section.bind(self.py), all))?)?;
        }
        let (start, stop) =
            (start.try_into().map_err(|_| Stop::Odd)?, self.wire.at.try_into().map_err(|_| Stop::Odd)?);
        let view = PyMemoryView::from(self.owner.as_any())?;
        Ok(view.get_item(PySlice::new(self.py, start, stop, 1))?)
    }

    fn list(&mut self, count: usize, least: usize, element: &Value) -> Found<Bound<'py, PyAny>> {
        // Before anything is made of a count that cannot be.
        if count.checked_mul(least).is_none_or(|needed| needed > self.wire.left()) {
            return Err(Stop::Odd);
        }
        let found = PyList::empty(self.py);
        for _ in 0..count {
            found.append(self.value(element)?)?;
        }
        Ok(found.into_any())
    }

    /// The length of a value, or a count of elements; None for null. A varint that could be shorter is odd.
    fn length(&mut self, form: Form, is_short: bool) -> Found<Option<usize>> {
        let start = self.wire.at;
        let found = self.wire.length(form, is_short).ok_or(Stop::Odd)?;
        let read = self.wire.data.get(start..self.wire.at).unwrap_or_default();
        if form.compact && matches!(read, [_, .., 0]) {
            return Err(Stop::Odd);
        }
        Ok(found)
    }

    fn byte(&mut self) -> Found<u8> {
        self.wire.byte().ok_or(Stop::Odd)
    }

    fn fixed<const N: usize>(&mut self) -> Found<[u8; N]> {
        self.wire.fixed().ok_or(Stop::Odd)
    }

    fn take(&mut self, count: usize) -> Found<&'a [u8]> {
        self.wire.take(count).ok_or(Stop::Odd)
    }
}
