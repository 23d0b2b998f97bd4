//! `kdissect.decoders.logged_bodies.logged_body`: a body of a request log, as Python's `json` reads it, to
//! the bytes of its version. Any value that is not as expected is left to Python.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::bodies::plan::{Field, Kind, Layout, Number, Struct};

/// The end of a name that has the size of records in place of them: `recordsSizeInBytes`.
const SIZE: &str = "sizeinbytes";
/// Bytes of a name that is lowered without memory of its own.
const NAME: usize = 64;
/// Characters of a uuid, which has no padding.
const UUID: usize = 22;

/// A struct as Python has it: the numbers of its fields by their names in lower case, plain fields first. Then
/// the number of the field with records, and of that with acquired records.
type NamedStruct = (HashMap<String, usize>, Option<usize>, Option<usize>);

/// A version of a message with the names that a request log has for its fields.
#[pyclass(frozen, module = "kdissect._native")]
pub struct LoggedBody {
    layout: Py<Layout>,
    structs: Vec<NamedStruct>,
}

#[pymethods]
impl LoggedBody {
    #[new]
    fn new(layout: Py<Layout>, structs: Vec<NamedStruct>) -> LoggedBody {
        LoggedBody { layout, structs }
    }

    /// The bytes of a body. None if only Python can encode it, or report what is wrong with it.
    fn encoded<'py>(&self, py: Python<'py>, body: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        Writer { layout: self.layout.get(), structs: &self.structs }.put_struct(0, body, &mut out)?;
        Some(PyBytes::new(py, &out))
    }
}

struct Writer<'a> {
    layout: &'a Layout,
    structs: &'a [NamedStruct],
}

/// What a name has in a log: a value, or the size of the records in its place.
enum Item<'py> {
    Value(Bound<'py, PyAny>),
    Size(i64),
}

impl Writer<'_> {
    fn put_struct(&self, number: usize, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Option<()> {
        let (of, named) = (self.layout.structs.get(number)?, self.structs.get(number)?);
        let items = items(of, named, value)?;
        for (field, item) in of.fields.iter().zip(&items) {
            self.put_field(field, item.as_ref()?, false, out)?;
        }
        if self.layout.flexible {
            self.put_tags(of, items.get(of.fields.len()..)?, out)?;
        }
        Some(())
    }

    fn put_tags(&self, of: &Struct, items: &[Option<Item<'_>>], out: &mut Vec<u8>) -> Option<()> {
        put_uvarint(items.iter().flatten().count(), out);
        for (field, item) in of.tagged.iter().zip(items) {
            if let Some(item) = item {
                let mut content = Vec::new();
                self.put_field(field, item, true, &mut content)?;
                put_uvarint(field.tag as usize, out);
                put_uvarint(content.len(), out);
                out.extend(content);
            }
        }
        Some(())
    }

    fn put_field(&self, field: &Field, item: &Item<'_>, is_tagged: bool, out: &mut Vec<u8>) -> Option<()> {
        let value = match item {
            Item::Size(size) => {
                let content = size.to_be_bytes();
                match size {
                    ..0 => self.put_length(None, field, out)?,
                    0 => self.put_length(Some(0), field, out)?,
                    _ => self.put_content(&content, field, out)?,
                }
                return Some(());
            }
            Item::Value(value) => value,
        };
        let is_struct = !field.is_array && matches!(field.kind, Kind::Struct(_));
        if value.is_none() {
            field.nullable.then_some(())?;
            if is_struct {
                out.push(if is_tagged { 0 } else { 0xFF }); // quirks.is_null_marker
                return Some(());
            }
            return self.put_length(None, field, out);
        }
        if is_struct && field.nullable {
            out.push(1);
        }
        if field.is_array {
            let list = value.downcast_exact::<PyList>().ok()?;
            self.put_length(Some(list.len()), field, out)?;
            return list.iter().try_for_each(|element| self.put_value(field, &element, out));
        }
        self.put_value(field, value, out)
    }

    fn put_value(&self, field: &Field, value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> Option<()> {
        match field.kind {
            Kind::Struct(number) => self.put_struct(number, value, out)?,
            Kind::Bool => out.push(value.downcast_exact::<PyBool>().ok()?.is_true().into()),
            Kind::Number(number) => put_number(number, whole(value)?, out)?,
            Kind::Float64 => {
                let is_number =
                    value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>();
                out.extend(is_number.then(|| value.extract::<f64>().ok())??.to_be_bytes());
            }
            Kind::Uuid => {
                let text = text_of(value)?;
                (text.to_str().ok()?.len() == UUID).then_some(())?;
                out.extend(decoded(text.to_str().ok()?.as_bytes(), true)?);
            }
            Kind::String => self.put_content(text_of(value)?.to_str().ok()?.as_bytes(), field, out)?,
            Kind::Bytes => {
                self.put_content(&decoded(text_of(value)?.to_str().ok()?.as_bytes(), false)?, field, out)?;
            }
            Kind::Records => {
                text_of(value)?.to_str().ok()?.is_empty().then_some(())?;
                self.put_length(Some(0), field, out)?;
            }
        }
        Some(())
    }

    fn put_content(&self, content: &[u8], field: &Field, out: &mut Vec<u8>) -> Option<()> {
        self.put_length(Some(content.len()), field, out)?;
        out.extend(content);
        Some(())
    }

    /// The length of a value, or None for null, which the field must allow.
    fn put_length(&self, length: Option<usize>, field: &Field, out: &mut Vec<u8>) -> Option<()> {
        if length.is_none() && !field.nullable {
            return None;
        }
        let is_short = !field.is_array && field.kind == Kind::String;
        if self.layout.flexible {
            put_uvarint(length.map_or(0, |length| length + 1), out);
        } else if is_short {
            out.extend(length.map_or(Some(-1), |length| i16::try_from(length).ok())?.to_be_bytes());
        } else {
            out.extend(length.map_or(Some(-1), |length| i32::try_from(length).ok())?.to_be_bytes());
        }
        Some(())
    }
}

/// The items of a struct by the numbers of their fields.
fn items<'py>(of: &Struct, named: &NamedStruct, value: &Bound<'py, PyAny>) -> Option<Vec<Option<Item<'py>>>> {
    let (names, records, acquired) = named;
    let count = of.fields.len() + of.tagged.len();
    let mut items = Vec::with_capacity(count);
    items.resize_with(count, || None);
    for (key, item) in value.downcast_exact::<PyDict>().ok()?.iter() {
        let key = text_of(&key)?;
        let mut buffer = [0; NAME];
        let name = lowered(key.to_str().ok()?, &mut buffer)?;
        if let Some(at) = names.get(name) {
            *items.get_mut(*at)? = Some(Item::Value(item));
        } else {
            name.ends_with(SIZE).then_some(())?;
            *items.get_mut((*records)?)? = Some(Item::Size(whole(&item)?));
        }
    }
    if let (Some(records), Some(acquired)) = (records, acquired) {
        let is_empty = match items.get(*records)? {
            Some(Item::Value(value)) => value.extract::<&str>().is_ok_and(str::is_empty),
            Some(Item::Size(size)) => *size == 0,
            None => false,
        };
        let is_acquired = match items.get(*acquired)? {
            Some(Item::Value(value)) => value.is_truthy().ok()?,
            _ => false,
        };
        if is_empty && is_acquired {
            return None; // a placeholder without a size
        }
    }
    Some(items)
}

fn text_of<'a, 'py>(value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyString>> {
    value.downcast_exact::<PyString>().ok()
}

/// A number that is no truth value.
fn whole(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.downcast_exact::<PyInt>().ok()?.extract().ok()
}

fn lowered<'a>(name: &str, buffer: &'a mut [u8; NAME]) -> Option<&'a str> {
    let lower = buffer.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.is_ascii().then_some(())?;
    lower.make_ascii_lowercase();
    std::str::from_utf8(lower).ok()
}

fn put_number(number: Number, value: i64, out: &mut Vec<u8>) -> Option<()> {
    match number {
        Number::Int8 => out.extend(i8::try_from(value).ok()?.to_be_bytes()),
        Number::Int16 => out.extend(i16::try_from(value).ok()?.to_be_bytes()),
        Number::Uint16 => out.extend(u16::try_from(value).ok()?.to_be_bytes()),
        Number::Int32 => out.extend(i32::try_from(value).ok()?.to_be_bytes()),
        Number::Uint32 => out.extend(u32::try_from(value).ok()?.to_be_bytes()),
        Number::Int64 => out.extend(value.to_be_bytes()),
    }
    Some(())
}

fn put_uvarint(value: usize, out: &mut Vec<u8>) {
    let mut left = value;
    while left > 0x7F {
        out.push((left & 0x7F) as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The bytes of base64: with its padding, or of a uuid, which has none.
fn decoded(text: &[u8], is_uuid: bool) -> Option<Vec<u8>> {
    let padding =
        if is_uuid { 0 } else { text.iter().rev().take(2).take_while(|byte| **byte == b'=').count() };
    if !is_uuid && text.len() & 3 != 0 {
        return None;
    }
    let text = text.get(..text.len() - padding)?;
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.chunks(4) {
        let mut word = 0u32;
        for byte in four {
            word = word << 6 | sextet(*byte, is_uuid)?;
        }
        let bytes = (word << (6 * (4 - four.len()))).to_be_bytes();
        out.extend(bytes.get(1..four.len())?);
    }
    Some(out)
}

/// Six bits. A uuid has `-` and `_` in place of `+` and `/`.
fn sextet(byte: u8, is_uuid: bool) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' if !is_uuid => 62,
        b'/' if !is_uuid => 63,
        b'-' if is_uuid => 62,
        b'_' if is_uuid => 63,
        _ => return None,
    }))
}
