//! `kdissect.decoders.logged_bodies.logged_body`: a body of a request log to the bytes of its version. Any value that
//! is not as expected is left to Python.

use std::collections::HashMap;

use pyo3::prelude::*;

use crate::bodies::plan::{Field, Kind, Layout, Number, Struct};
use crate::request_log::json::Json;

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
}

impl LoggedBody {
    /// Append the bytes of a body. None if only Python can encode it, or report what is wrong with it.
    pub fn put(&self, body: &Json<'_>, out: &mut Vec<u8>) -> Option<()> {
        Writer { layout: self.layout.get(), structs: &self.structs }.put_struct(0, body, out)
    }
}

struct Writer<'a> {
    layout: &'a Layout,
    structs: &'a [NamedStruct],
}

/// What a name has in a log: a value, or the size of the records in its place.
enum Item<'a> {
    Value(&'a Json<'a>),
    Size(i64),
}

impl Writer<'_> {
    fn put_struct(&self, number: usize, value: &Json<'_>, out: &mut Vec<u8>) -> Option<()> {
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
                    ..0 => self.put_length(None, field, false, out)?,
                    0 => self.put_length(Some(0), field, false, out)?,
                    _ => self.put_content(&content, field, out)?,
                }
                return Some(());
            }
            Item::Value(value) => *value,
        };
        let is_struct = !field.is_array && matches!(field.kind, Kind::Struct(_));
        if matches!(value, Json::Null) {
            field.nullable.then_some(())?;
            if is_struct {
                out.push(if is_tagged { 0 } else { 0xFF }); // quirks.is_null_marker
                return Some(());
            }
            return self.put_length(None, field, field.is_array, out);
        }
        if is_struct && field.nullable {
            out.push(1);
        }
        if field.is_array {
            let Json::List(list) = value else { return None };
            self.put_length(Some(list.len()), field, true, out)?;
            return list.iter().try_for_each(|element| self.put_value(field, element, out));
        }
        self.put_value(field, value, out)
    }

    fn put_value(&self, field: &Field, value: &Json<'_>, out: &mut Vec<u8>) -> Option<()> {
        match (field.kind, value) {
            (Kind::Struct(number), _) => self.put_struct(number, value, out)?,
            (Kind::Bool, Json::Bool(value)) => out.push((*value).into()),
            (Kind::Number(number), Json::Int(value)) => put_number(number, *value, out)?,
            (Kind::Float64, Json::Float(value)) => out.extend(value.to_be_bytes()),
            (Kind::Float64, Json::Int(value)) => out.extend((*value as f64).to_be_bytes()),
            (Kind::Uuid, Json::Text(text)) if text.len() == UUID => out.extend(decoded(text, true)?),
            (Kind::String, Json::Text(text)) => self.put_content(text.as_bytes(), field, out)?,
            (Kind::Bytes, Json::Text(text)) => self.put_content(&decoded(text, false)?, field, out)?,
            (Kind::Records, Json::Text(text)) if text.is_empty() => {
                self.put_length(Some(0), field, false, out)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn put_content(&self, content: &[u8], field: &Field, out: &mut Vec<u8>) -> Option<()> {
        self.put_length(Some(content.len()), field, false, out)?;
        out.extend(content);
        Some(())
    }

    /// The length of a list, or else of a single value. None for null, which the field must allow.
    fn put_length(
        &self,
        length: Option<usize>,
        field: &Field,
        is_list: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        if length.is_none() && !field.nullable {
            return None;
        }
        let is_short = !is_list && field.kind == Kind::String;
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
fn items<'a>(of: &Struct, named: &NamedStruct, value: &'a Json<'a>) -> Option<Vec<Option<Item<'a>>>> {
    let (names, records, acquired) = named;
    let Json::Object(members) = value else { return None };
    let count = of.fields.len() + of.tagged.len();
    let mut items = Vec::with_capacity(count);
    items.resize_with(count, || None);
    for (key, item) in members {
        let mut buffer = [0; NAME];
        let name = lowered(key, &mut buffer)?;
        let (at, item) = match names.get(name) {
            Some(at) => (*at, Item::Value(item)),
            None if name.ends_with(SIZE) => ((*records)?, Item::Size(item.int()?)),
            None => return None,
        };
        if items.get_mut(at)?.replace(item).is_some() {
            return None; // two names of one field
        }
    }
    if let (Some(records), Some(acquired)) = (records, acquired) {
        let is_empty = match items.get(*records)? {
            Some(Item::Value(value)) => value.text() == Some(""),
            Some(Item::Size(size)) => *size == 0,
            None => false,
        };
        let is_acquired = match items.get(*acquired)? {
            Some(Item::Value(Json::List(list))) => !list.is_empty(),
            _ => false,
        };
        if is_empty && is_acquired {
            return None; // a placeholder without a size
        }
    }
    Some(items)
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
fn decoded(text: &str, is_uuid: bool) -> Option<Vec<u8>> {
    let text = text.as_bytes();
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
