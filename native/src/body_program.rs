//! One version of a message, as `kdissect.decoders.body_text` says it in rows, for `body_text` to run.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::wire::Form;

/// Kafka's deepest message has seven levels, of a field and an array each.
const MAX_DEPTH: usize = 40;

/// A row: text before the value, what the value is, whether its length is compact, whether it may be null,
/// the field's tag if it stands among tags, and how many of the rows that follow belong to it.
pub type Row = (Vec<u8>, String, bool, bool, u32, usize);

/// A field, or an element of an array.
pub struct Part {
    pub before: Vec<u8>,
    pub value: Value,
    pub tag: u32, // 0 as well where it has none
}

/// What a value is.
pub enum Value {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Uuid,
    TopicId, // a uuid that says whose the records behind it are
    Text(Form),
    Topic(Form), // a name that does
    Bytes(Form),
    Payload(Form), // bytes that Python decodes where there are any
    Records(Form),
    Struct(Vec<Part>),
    NullableStruct(Vec<Part>),
    TaggedStruct(Vec<Part>), // one that may be null, among tags
    Array(Form, Box<Element>),
    Tags(Vec<Part>), // the end of a struct of a flexible version (KIP-482), with the fields that may be there
}

/// What an array has; `least` are the fewest bytes of one, 1 or more.
pub struct Element {
    pub value: Value,
    pub least: usize,
}

/// The fields that rows describe. Raises ValueError for rows that do not fit together.
pub fn parts(rows: &[Row], depth: usize) -> PyResult<Vec<Part>> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err("fields are nested too deep"));
    }
    let mut found = Vec::new();
    let mut left = rows;
    while let Some((row, behind)) = left.split_first() {
        let Some((inner, rest)) = behind.split_at_checked(row.5) else {
            return Err(PyValueError::new_err("there are too few rows"));
        };
        found.push(Part { before: row.0.clone(), value: value(row, inner, depth)?, tag: row.4 });
        left = rest;
    }
    Ok(found)
}

fn value(row: &Row, inner: &[Row], depth: usize) -> PyResult<Value> {
    let form = Form { compact: row.2, nullable: row.3 };
    Ok(match (row.1.as_str(), form.nullable) {
        ("struct", false) => Value::Struct(parts(inner, depth + 1)?),
        ("struct", true) => Value::NullableStruct(parts(inner, depth + 1)?),
        ("tagged_struct", _) => Value::TaggedStruct(parts(inner, depth + 1)?),
        ("tags", _) => Value::Tags(parts(inner, depth + 1)?),
        ("array", _) => Value::Array(form, Box::new(element(inner, depth + 1)?)),
        (name, _) if inner.is_empty() => leaf(name, form)?,
        _ => return Err(PyValueError::new_err("a value has rows that are not its own")),
    })
}

fn leaf(name: &str, form: Form) -> PyResult<Value> {
    Ok(match name {
        "bool" => Value::Bool,
        "int8" => Value::Int8,
        "int16" => Value::Int16,
        "uint16" => Value::Uint16,
        "int32" => Value::Int32,
        "uint32" => Value::Uint32,
        "int64" => Value::Int64,
        "uuid" => Value::Uuid,
        "topic_id" => Value::TopicId,
        "string" => Value::Text(form),
        "topic" => Value::Topic(form),
        "bytes" => Value::Bytes(form),
        "payload" => Value::Payload(form),
        "records" => Value::Records(form),
        _ => return Err(PyValueError::new_err("no such kind of value")),
    })
}

fn element(inner: &[Row], depth: usize) -> PyResult<Element> {
    let mut found = parts(inner, depth)?;
    match (found.pop(), found.is_empty()) {
        (Some(Part { value, .. }), true) => {
            let least = value.least().max(1);
            Ok(Element { value, least })
        }
        _ => Err(PyValueError::new_err("an array has one kind of element")),
    }
}

impl Value {
    /// The fewest bytes it takes: `Layout.min_element`.
    fn least(&self) -> usize {
        match self {
            Value::Bool
            | Value::Int8
            | Value::Tags(_)
            | Value::NullableStruct(_)
            | Value::TaggedStruct(_) => 1,
            Value::Int16 | Value::Uint16 => 2,
            Value::Int32 | Value::Uint32 => 4,
            Value::Int64 => 8,
            Value::Uuid | Value::TopicId => 16,
            Value::Text(form) | Value::Topic(form) => {
                if form.compact {
                    1
                } else {
                    2
                }
            }
            Value::Bytes(form) | Value::Payload(form) | Value::Records(form) | Value::Array(form, _) => {
                if form.compact {
                    1
                } else {
                    4
                }
            }
            Value::Struct(parts) => parts.iter().map(|part| part.value.least()).sum(),
        }
    }
}
