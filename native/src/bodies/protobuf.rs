//! Protocol Buffers' messages as dicts: `kdissect.decoders.payloads.protobuf`, which explains what does not fit.

use std::collections::HashMap;
use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyString};

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;
/// Of 64 bits, 7 at a time.
const MOST_VARINT: usize = 10;

/// A field: its name, its type, whether it is a list.
type PartRow = (Py<PyString>, String, bool);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Double,
    Float,
    Fixed64,
    SignedFixed64,
    Fixed32,
    Signed,
    Unsigned,
    ZigZag,
    Bool,
    String,
    Bytes,
    Message(usize),
}

struct Part {
    name: Py<PyString>,
    kind: Kind,
    is_repeated: bool,
}

/// A table of messages.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Protobuf {
    names: HashMap<String, usize>,
    messages: Vec<HashMap<u64, Part>>,
    most_nested: usize,
    float_value: Py<PyAny>,
}

#[pymethods]
impl Protobuf {
    /// `messages` are fields by number, by the name of their message. `float_value` returns what stands for a
    /// float.
    #[new]
    fn new(
        messages: HashMap<String, HashMap<u64, PartRow>>,
        most_nested: usize,
        float_value: Py<PyAny>,
    ) -> Self {
        let names: HashMap<_, _> =
            messages.keys().cloned().enumerate().map(|(at, name)| (name, at)).collect();
        let mut found: Vec<HashMap<u64, Part>> = names.iter().map(|_| HashMap::new()).collect();
        for (name, fields) in messages {
            let part = |(name, kind, is_repeated): PartRow| {
                Some(Part { name, kind: Kind::of(&kind, &names)?, is_repeated })
            };
            let fields = fields.into_iter().filter_map(|(number, row)| Some((number, part(row)?)));
            found[names[&name]] = fields.collect();
        }
        Protobuf { names, messages: found, most_nested, float_value }
    }

    /// The message that stands from `start` to `end`; None for bytes that do not fit.
    fn read<'py>(
        &self,
        name: &str,
        data: &Bound<'py, PyBytes>,
        start: usize,
        end: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(data_to_end) = data.as_bytes().get(..end) else { return Ok(None) };
        let Some(message) = self.names.get(name) else { return Ok(None) };
        self.message(data.py(), *message, Wire { data: data_to_end, at: start }, 0)
    }
}

impl Kind {
    fn of(name: &str, messages: &HashMap<String, usize>) -> Option<Kind> {
        Some(match name {
            "double" => Kind::Double,
            "float" => Kind::Float,
            "fixed64" => Kind::Fixed64,
            "sfixed64" => Kind::SignedFixed64,
            "fixed32" => Kind::Fixed32,
            "int64" | "int32" => Kind::Signed,
            "uint64" | "uint32" => Kind::Unsigned,
            "sint32" => Kind::ZigZag,
            "bool" => Kind::Bool,
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            message => Kind::Message(*messages.get(message)?),
        })
    }
}

impl Protobuf {
    fn message<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        mut wire: Wire<'_>,
        depth: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        if depth > self.most_nested {
            return Ok(None);
        }
        let out = PyDict::new(py);
        while !wire.is_over() {
            let Some((field, kind, content)) = wire.field() else { return Ok(None) };
            let Some(part) = self.messages.get(number).and_then(|fields| fields.get(&field)) else {
                continue;
            };
            let Some(item) = self.item(py, part, kind, wire.within(content), depth)? else { return Ok(None) };
            let name = part.name.bind(py);
            if !part.is_repeated {
                out.set_item(name, item)?;
                continue;
            }
            let list = match out.get_item(name)? {
                Some(list) => list.downcast_into::<PyList>()?,
                None => {
                    let list = PyList::empty(py);
                    out.set_item(name, &list)?;
                    list
                }
            };
            match item.downcast::<PyList>() {
                Ok(items) => items.iter().try_for_each(|one| list.append(one))?,
                Err(_) => list.append(item)?,
            }
        }
        Ok(Some(out))
    }

    /// A field's value, or its list of values; None for bytes that do not fit.
    fn item<'py>(
        &self,
        py: Python<'py>,
        part: &Part,
        kind: u64,
        mut wire: Wire<'_>,
        depth: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let bytes = wire.left();
        match part.kind {
            Kind::String | Kind::Bytes | Kind::Message(_) if kind != BYTES => return Ok(None),
            Kind::String => return Ok(Some(PyString::new(py, &escaped(bytes)).into_any())),
            Kind::Bytes => return Ok(Some(PyString::new(py, &hex(bytes)).into_any())),
            Kind::Message(number) => {
                return Ok(self.message(py, number, wire, depth + 1)?.map(Bound::into_any))
            }
            _ => {}
        }
        if bytes.is_empty() {
            let zero = 0_u8.into_pyobject(py)?.into_any();
            let is_list = kind == BYTES;
            return Ok(Some(if is_list { PyList::new(py, [zero])?.into_any() } else { zero }));
        }
        let mut values = Vec::new();
        while !wire.is_over() {
            let Some(value) = self.scalar(py, part.kind, &mut wire)? else { return Ok(None) };
            values.push(value);
        }
        Ok(match kind {
            BYTES => Some(PyList::new(py, values)?.into_any()),
            _ => values.into_iter().next(),
        })
    }

    fn scalar<'py>(
        &self,
        py: Python<'py>,
        kind: Kind,
        wire: &mut Wire<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = match kind {
            Kind::Double => return self.float(py, wire.fixed().map(f64::from_le_bytes)),
            Kind::Float => return self.float(py, wire.fixed().map(f32::from_le_bytes).map(f64::from)),
            Kind::Fixed64 => wire.fixed().map(u64::from_le_bytes).map(i128::from),
            Kind::SignedFixed64 => wire.fixed().map(i64::from_le_bytes).map(i128::from),
            Kind::Fixed32 => wire.fixed().map(u32::from_le_bytes).map(i128::from),
            Kind::Signed => wire.varint().map(|value| i128::from(value.cast_signed())),
            Kind::ZigZag => {
                wire.varint().map(|value| i128::from((value >> 1).cast_signed() ^ -(value & 1).cast_signed()))
            }
            Kind::Bool => {
                return Ok(wire.varint().map(|value| PyBool::new(py, value != 0).to_owned().into_any()));
            }
            _ => wire.varint().map(i128::from),
        };
        let Some(value) = value else { return Ok(None) };
        Ok(Some(match i64::try_from(value) {
            Ok(small) => small.into_pyobject(py)?.into_any(),
            Err(_) => u64::try_from(value).unwrap_or_default().into_pyobject(py)?.into_any(),
        }))
    }

    fn float<'py>(&self, py: Python<'py>, value: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match value {
            Some(value) if !value.is_finite() => self.float_value.bind(py).call1((value,)).map(Some),
            Some(value) => Ok(Some(value.into_pyobject(py)?.into_any())),
            None => Ok(None),
        }
    }
}

/// Text, in which bytes that are no UTF-8 have the form `\xff`.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes up to the end of a message or a field.
struct Wire<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Wire<'a> {
    fn is_over(&self) -> bool {
        self.at >= self.data.len()
    }

    fn left(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    fn within(&self, content: Range<usize>) -> Wire<'a> {
        Wire { data: self.data.get(..content.end).unwrap_or_default(), at: content.start }
    }

    /// The number of a field, its wire type, and where its content stands.
    fn field(&mut self) -> Option<(u64, u64, Range<usize>)> {
        let tag = self.varint()?;
        let kind = tag & 7;
        let mut start = self.at;
        let size = match kind {
            VARINT => {
                self.varint()?;
                return Some((tag >> 3, kind, start..self.at));
            }
            BYTES => {
                let size = usize::try_from(self.varint()?).ok()?;
                start = self.at;
                size
            }
            FIXED64 => 8,
            FIXED32 => 4,
            _ => return None,
        };
        self.at = start.checked_add(size).filter(|end| *end <= self.data.len())?;
        Some((tag >> 3, kind, start..self.at))
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let found = self.data.get(self.at..self.at.checked_add(N)?)?;
        self.at += N;
        found.try_into().ok()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value: u128 = 0;
        for count in 0..MOST_VARINT {
            let byte = *self.data.get(self.at + count)?;
            value |= u128::from(byte & 0x7F) << (7 * count);
            if byte < 0x80 {
                self.at += count + 1;
                return Some(value as u64);
            }
        }
        None
    }
}
