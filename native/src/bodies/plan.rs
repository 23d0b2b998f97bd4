//! One version of a message, in rows from `kdissect.decoders.generated.native_plan`: all facts that
//! the readers of bodies need. Native counterpart of `kdissect.decoders.generated.struct_layout`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

/// Structs in structs; Kafka's messages have 5 at most. Readers take a frame of the stack for each.
pub const MOST_NESTED: usize = 32;

/// A field as Python has it: its name, kind and role, whether it is an array, may be null, its tag, its default.
type FieldRow = (PyBackedStr, PyBackedStr, PyBackedStr, bool, bool, u32, PyBackedBytes);
/// A struct as Python has it: whether it contains records, its fields, and the fields that may be
/// among its tags.
type StructRow = (bool, Vec<FieldRow>, Vec<FieldRow>);

/// Numbers by their width and sign.
#[derive(Clone, Copy, PartialEq)]
pub enum Number {
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
}

impl Number {
    /// That in these bytes.
    pub fn of(self, raw: &[u8]) -> Option<i64> {
        Some(match self {
            Number::Int8 => i8::from_be_bytes(raw.try_into().ok()?).into(),
            Number::Int16 => i16::from_be_bytes(raw.try_into().ok()?).into(),
            Number::Uint16 => u16::from_be_bytes(raw.try_into().ok()?).into(),
            Number::Int32 => i32::from_be_bytes(raw.try_into().ok()?).into(),
            Number::Uint32 => u32::from_be_bytes(raw.try_into().ok()?).into(),
            Number::Int64 => i64::from_be_bytes(raw.try_into().ok()?),
        })
    }
}

/// Type of a value.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    Number(Number),
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Struct(usize), // by its number
}

/// Role of a field for a reader.
#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    None,
    Error,
    Acks,
    Topic,
    TopicId,
    Partition,
    Group,
    Throttle,
    Rack,
    Payload, // bytes whose contents Python tells
}

/// A field. For an array, `kind` is the type of its elements, which are never null (Apache Kafka's
/// generated readers refuse it).
#[derive(Clone)]
pub struct Field {
    /// `,"name":`, as in JSON.
    pub label: Box<[u8]>,
    pub kind: Kind,
    pub role: Role,
    pub is_array: bool,
    pub nullable: bool,
    pub tag: u32,
    /// The bytes of its default in a tag, which writers leave out.
    pub default: Box<[u8]>,
    /// It says whose the records are that come next: by its role.
    pub is_part: bool,
}

/// A struct: its fields in the order of the wire, and the fields that may be among its tags.
pub struct Struct {
    pub fields: Box<[Field]>,
    pub tagged: Box<[Field]>,
    least: usize,
    width: Option<usize>,
}

/// The first struct is the root. Structs inside a struct have larger numbers than it.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Layout {
    /// Whether lengths are compact, and tags end a struct (KIP-482).
    pub flexible: bool,
    /// Whether it has records in some version.
    pub has_records: bool,
    pub structs: Vec<Struct>,
}

#[pymethods]
impl Layout {
    /// Raises ValueError for rows that do not fit together.
    #[new]
    fn new(flexible: bool, rows: Vec<StructRow>) -> PyResult<Layout> {
        let made = Layout::of(flexible, &rows);
        made.ok_or_else(|| PyValueError::new_err("these are not the rows of a message"))
    }
}

impl Layout {
    fn of(flexible: bool, rows: &[StructRow]) -> Option<Layout> {
        let mut depths = vec![0];
        let mut structs = Vec::with_capacity(rows.len());
        for (number, (holds_records, fields, tagged)) in rows.iter().enumerate() {
            let depth = depths.get(number)? + 1; // of a struct that some field before has
            let mut make = |rows: &[FieldRow]| -> Option<Box<[Field]>> {
                rows.iter().map(|row| Field::of(row, *holds_records, depth, &mut depths)).collect()
            };
            let (fields, tagged) = (make(fields)?, make(tagged)?);
            structs.push(Struct { fields, tagged, least: 0, width: None });
        }
        let fits = depths.len() == rows.len() && depths.iter().all(|depth| *depth < MOST_NESTED);
        let has_records = rows.first()?.0;
        let mut made = Layout { flexible, has_records, structs };
        made.measure();
        fits.then_some(made)
    }

    /// Those that are in others first.
    fn measure(&mut self) {
        for number in (0..self.structs.len()).rev() {
            let fields = &self.structs[number].fields;
            let tags = usize::from(self.flexible);
            let least = fields.iter().map(|field| self.least_of(field)).sum::<usize>() + tags;
            let width: Option<usize> = fields.iter().map(|field| self.width_of(field)).sum();
            let width = width.filter(|width| *width > 0 && !self.flexible);
            let of = &mut self.structs[number];
            (of.least, of.width) = (least, width);
        }
    }

    fn least_of(&self, field: &Field) -> usize {
        match field {
            Field { is_array: true, .. } if !self.flexible => 4,
            Field { is_array: false, nullable: false, kind, .. } => self.least(*kind),
            _ => 1,
        }
    }

    fn width_of(&self, field: &Field) -> Option<usize> {
        let is_other = field.is_array || field.nullable && matches!(field.kind, Kind::Struct(_));
        self.width(field.kind).filter(|_| !is_other)
    }

    /// The fewest bytes that a value takes.
    fn least(&self, kind: Kind) -> usize {
        match kind {
            Kind::Struct(number) => self.structs.get(number).map_or(1, |of| of.least),
            Kind::String | Kind::Bytes | Kind::Records if self.flexible => 1,
            Kind::String => 2,
            Kind::Bytes | Kind::Records => 4,
            _ => self.width(kind).unwrap_or(1),
        }
    }

    /// The fewest bytes that an element of an array takes, which are 1 or more: `Layout.min_element`.
    pub fn least_element(&self, kind: Kind) -> usize {
        self.least(kind).max(1)
    }

    /// The bytes that every value takes, None where that varies: `Layout.fixed_size`.
    pub fn width(&self, kind: Kind) -> Option<usize> {
        match kind {
            Kind::Bool | Kind::Number(Number::Int8) => Some(1),
            Kind::Number(Number::Int16 | Number::Uint16) => Some(2),
            Kind::Number(Number::Int32 | Number::Uint32) => Some(4),
            Kind::Number(Number::Int64) | Kind::Float64 => Some(8),
            Kind::Uuid => Some(16),
            Kind::String | Kind::Bytes | Kind::Records => None,
            Kind::Struct(number) => self.structs.get(number)?.width,
        }
    }
}

impl Field {
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.label[2..self.label.len() - 2]).unwrap_or_default()
    }

    /// A struct has the next number: `depths` are the depths of the structs so far.
    fn of(row: &FieldRow, holds_records: bool, depth: usize, depths: &mut Vec<usize>) -> Option<Field> {
        let (name, kind, role, is_array, nullable, tag, default) = row;
        let kind = match &**kind {
            "struct" => {
                depths.push(depth);
                Kind::Struct(depths.len() - 1)
            }
            name => kind_of(name)?,
        };
        let role = role_of(role)?;
        let tells = matches!(role, Role::Topic | Role::TopicId | Role::Partition);
        Some(Field {
            label: format!(",\"{name}\":").into_bytes().into(),
            kind,
            role,
            is_array: *is_array,
            nullable: *nullable,
            tag: *tag,
            default: default.to_vec().into(),
            is_part: holds_records && tells && !is_array,
        })
    }
}

fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "bool" => Kind::Bool,
        "int8" => Kind::Number(Number::Int8),
        "int16" => Kind::Number(Number::Int16),
        "uint16" => Kind::Number(Number::Uint16),
        "int32" => Kind::Number(Number::Int32),
        "uint32" => Kind::Number(Number::Uint32),
        "int64" => Kind::Number(Number::Int64),
        "float64" => Kind::Float64,
        "uuid" => Kind::Uuid,
        "string" => Kind::String,
        "bytes" => Kind::Bytes,
        "records" => Kind::Records,
        _ => return None,
    })
}

fn role_of(name: &str) -> Option<Role> {
    Some(match name {
        "" => Role::None,
        "error" => Role::Error,
        "acks" => Role::Acks,
        "topic" => Role::Topic,
        "topic_id" => Role::TopicId,
        "partition" => Role::Partition,
        "group" => Role::Group,
        "throttle" => Role::Throttle,
        "rack" => Role::Rack,
        "payload" => Role::Payload,
        _ => return None,
    })
}
