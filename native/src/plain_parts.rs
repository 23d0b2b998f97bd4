//! One version of a message, as `kdissect.decoders.plain_parts` says it, for `plain_body` to run.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyString, PyTuple};

use crate::wire::Form;

/// Kafka's deepest message has seven levels.
const MAX_DEPTH: usize = 40;

/// The parts of a section that fields tell: topic, topic id, partition (`records.sections.Section`).
pub const SECTION_PARTS: usize = 3;

/// A struct: the class of its values, whether a count of tags ends it, its fields in their order.
pub struct Struct {
    pub class: Py<PyAny>,
    pub flexible: bool,
    pub fields: Vec<Field>,
}

/// A field: its attribute, which part of a section it tells, what it is.
pub struct Field {
    pub name: Py<PyString>,
    pub part: Option<usize>,
    pub value: Value,
}

/// Numbers of one width, by the characters of Python's struct.
#[derive(Clone, Copy)]
pub enum Width {
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
}

/// What a value is.
pub enum Value {
    Bool,
    Float64,
    Number(Width, Plain),
    Uuid(Option<Py<PyFrozenSet>>), // none of these
    String(Form),
    Bytes(Form),
    Records(Form),
    Never, // no element of its kind is plain
    Struct(Struct),
    List(Form, usize, Box<Value>), // the fewest bytes of an element, 1 or more
}

/// Which numbers are plain.
pub enum Plain {
    All,
    NotNegative,
    Known(Py<PyFrozenSet>),
}

/// The struct that `spec` describes: class, flexible, fields. Raises ValueError and TypeError for others.
pub fn structure(spec: &Bound<'_, PyAny>, depth: usize) -> PyResult<Struct> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err("structs are nested too deep"));
    }
    let (class, flexible, fields): (Py<PyAny>, bool, Vec<Bound<'_, PyTuple>>) = spec.extract()?;
    let fields = fields.iter().map(|found| field(found, depth)).collect::<PyResult<_>>()?;
    Ok(Struct { class, flexible, fields })
}

fn field(spec: &Bound<'_, PyTuple>, depth: usize) -> PyResult<Field> {
    let (name, part, kind): (Py<PyString>, Option<usize>, Bound<'_, PyTuple>) = spec.extract()?;
    if part.is_some_and(|part| part >= SECTION_PARTS) {
        return Err(PyValueError::new_err("a section has no such part"));
    }
    Ok(Field { name, part, value: value(&kind, depth)? })
}

fn value(kind: &Bound<'_, PyTuple>, depth: usize) -> PyResult<Value> {
    let name: String = kind.get_item(0)?.extract()?;
    let form = || -> PyResult<Form> {
        Ok(Form { compact: kind.get_item(1)?.extract()?, nullable: kind.get_item(2)?.extract()? })
    };
    Ok(match name.as_str() {
        "?" => Value::Bool,
        "d" => Value::Float64,
        "16s" => Value::Uuid(kind.get_item(1)?.extract()?),
        "never" => Value::Never,
        "string" => Value::String(form()?),
        "bytes" => Value::Bytes(form()?),
        "records" => Value::Records(form()?),
        "struct" => Value::Struct(structure(&kind.get_item(1)?, depth + 1)?),
        "list" => {
            let element = value(kind.get_item(4)?.cast::<PyTuple>()?, depth + 1)?;
            Value::List(form()?, kind.get_item(3)?.extract::<usize>()?.max(1), Box::new(element))
        }
        code => Value::Number(width(code)?, plain(&kind.get_item(1)?)?),
    })
}

fn width(code: &str) -> PyResult<Width> {
    Ok(match code {
        "b" => Width::Int8,
        "h" => Width::Int16,
        "H" => Width::Uint16,
        "i" => Width::Int32,
        "I" => Width::Uint32,
        "q" => Width::Int64,
        _ => return Err(PyValueError::new_err("no such kind of value")),
    })
}

/// None: all of them; True: those that are not negative; a set: these.
fn plain(spec: &Bound<'_, PyAny>) -> PyResult<Plain> {
    if spec.is_none() {
        return Ok(Plain::All);
    }
    match spec.cast::<PyFrozenSet>() {
        Ok(known) => Ok(Plain::Known(known.clone().unbind())),
        Err(_) => Ok(Plain::NotNegative),
    }
}
