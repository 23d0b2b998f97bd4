//! Values of Avro (specification 1.12, "Binary Encoding") as JSON text: what `kdissect.serdes.avro` makes of them,
//! as `kdissect.serdes.json_values` writes it. A value that is anomalous in any way is left to Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::decimal::put;
use crate::json_out;
use crate::json_values::Json;
use crate::wire::Wire;

/// `kdissect.serdes.bounds`, and `avro_walk.MAX_EMPTY_ITEMS`.
const MAX_VALUE_BYTES: usize = 4 << 20;
const MAX_DEPTH: usize = 100;
const MAX_EMPTY_ITEMS: usize = 100_000;
/// Maximum text of one value: names of fields and symbols make it longer than the bytes.
const MAX_TEXT: usize = 64 << 20;
/// Map entries that are compared with each other for a name that comes twice.
const MAX_COMPARED: usize = 32;
/// Days from 0001-01-01 to 1970-01-01, and to the day after 9999-12-31: the dates that Python has.
const DAYS_BEFORE: i64 = 719_162;
const DAYS: i64 = 3_652_059;
const DAY_S: i64 = 86_400;
const MICROS: i64 = 1_000_000;

/// Type of a value. Other nodes are known by their number.
enum Node {
    Null,
    Boolean,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(usize),
    Enum(Vec<Box<str>>),
    Array(u32),
    Map(u32),
    Record(Vec<(Box<str>, u32)>),
    Union(Vec<u32>),
    Date,
    /// With the number of units in a second, and whether the text has an offset of UTC.
    Timestamp(i64, bool),
    TimeOfDay(i64),
    Decimal {
        size: Option<usize>,
        precision: usize,
        scale: usize,
    },
    Uuid,
}

impl Node {
    fn of((kind, numbers, names): (String, Vec<u32>, Vec<String>)) -> Option<Node> {
        let first = numbers.first().copied();
        Some(match (kind.as_str(), first) {
            ("null", _) => Node::Null,
            ("boolean", _) => Node::Boolean,
            ("long", _) => Node::Long,
            ("float", _) => Node::Float,
            ("double", _) => Node::Double,
            ("bytes", _) => Node::Bytes,
            ("string", _) => Node::Text,
            ("fixed", Some(size)) => Node::Fixed(size as usize),
            ("enum", _) => Node::Enum(names.into_iter().map(String::into_boxed_str).collect()),
            ("array", Some(items)) => Node::Array(items),
            ("map", Some(values)) => Node::Map(values),
            ("record", _) => {
                Node::Record(names.into_iter().map(String::into_boxed_str).zip(numbers).collect())
            }
            ("union", _) => Node::Union(numbers),
            ("date", _) => Node::Date,
            ("timestamp-millis", _) => Node::Timestamp(1000, true),
            ("timestamp-micros", _) => Node::Timestamp(MICROS, true),
            ("local-timestamp-millis", _) => Node::Timestamp(1000, false),
            ("local-timestamp-micros", _) => Node::Timestamp(MICROS, false),
            ("time-millis", _) => Node::TimeOfDay(1000),
            ("time-micros", _) => Node::TimeOfDay(MICROS),
            ("decimal", Some(precision)) => Node::Decimal {
                size: numbers.get(2).map(|&size| size as usize),
                precision: precision as usize,
                scale: *numbers.get(1)? as usize,
            },
            ("uuid", _) => Node::Uuid,
            _ => return None,
        })
    }
}

/// A schema; the first node is that of the whole value.
#[pyclass(module = "kdissect._native", frozen)]
pub struct AvroProgram {
    nodes: Vec<Node>,
}

#[pymethods]
impl AvroProgram {
    /// Kinds of nodes, their numbers and names, from `kdissect.serdes.avro_program`. Raises ValueError.
    #[new]
    fn new(nodes: Vec<(String, Vec<u32>, Vec<String>)>) -> PyResult<Self> {
        let nodes: Option<Vec<Node>> = nodes.into_iter().map(Node::of).collect();
        nodes.map(|nodes| AvroProgram { nodes }).ok_or_else(|| PyValueError::new_err("no such type"))
    }

    /// The JSON text of a value, in a style of `Json`; None if Python reads it.
    fn text(&self, data: &[u8], style: &str) -> PyResult<Option<String>> {
        let json = Json::of(style)?;
        let mut out = Vec::new();
        if self.write(data, &json, &mut out).is_none() {
            return Ok(None);
        }
        Ok(Some(String::from_utf8(out)?))
    }
}

impl AvroProgram {
    /// Write the value that is all of `data`; None if Python reads it. `out` then has a part of it.
    pub fn write(&self, data: &[u8], json: &Json, out: &mut Vec<u8>) -> Option<()> {
        if data.len() > MAX_VALUE_BYTES {
            return None;
        }
        let most = out.len() + MAX_TEXT;
        let mut walk = Walk { nodes: &self.nodes, json, wire: Wire { data, at: 0 }, empty: 0, most, out };
        walk.value(0, 0)?;
        (walk.wire.left() == 0).then_some(())
    }
}

struct Walk<'a> {
    nodes: &'a [Node],
    json: &'a Json,
    wire: Wire<'a>,
    /// Items without bytes so far.
    empty: usize,
    /// Length of `out` that is too long.
    most: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, node: u32, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > self.most {
            return None;
        }
        let nodes = self.nodes;
        match nodes.get(node as usize)? {
            Node::Null => self.out.extend_from_slice(b"null"),
            Node::Boolean => {
                let is_true = *self.wire.take(1)?.first()? != 0;
                self.out.extend_from_slice(if is_true { b"true" } else { b"false" });
            }
            Node::Long => {
                let number = self.wire.varlong()?;
                put(self.out, number);
            }
            Node::Float => {
                let number = f32::from_le_bytes(*self.wire.take(4)?.first_chunk()?);
                self.json.real(self.out, f64::from(number));
            }
            Node::Double => {
                let number = f64::from_le_bytes(*self.wire.take(8)?.first_chunk()?);
                self.json.real(self.out, number);
            }
            Node::Bytes => {
                let found = self.sized()?;
                self.binary(found);
            }
            Node::Fixed(size) => {
                let found = self.wire.take(*size)?;
                self.binary(found);
            }
            Node::Text => {
                let text = std::str::from_utf8(self.sized()?).ok()?;
                self.json.string(self.out, text);
            }
            Node::Enum(symbols) => {
                let symbol = symbols.get(usize::try_from(self.wire.varlong()?).ok()?)?;
                self.json.string(self.out, symbol);
            }
            Node::Array(items) => self.array(*items, depth)?,
            Node::Map(values) => self.map(*values, depth)?,
            Node::Record(fields) => {
                self.out.push(b'{');
                for (at, (name, node)) in fields.iter().enumerate() {
                    self.comma(at);
                    self.name(name);
                    self.value(*node, depth + 1)?;
                }
                self.out.push(b'}');
            }
            Node::Union(branches) => {
                let branch = *branches.get(usize::try_from(self.wire.varlong()?).ok()?)?;
                self.value(branch, depth)?;
            }
            Node::Date => {
                let days = self.wire.varlong()?;
                self.out.push(b'"');
                date(self.out, days)?;
                self.out.push(b'"');
            }
            Node::Timestamp(units, is_utc) => {
                let time = self.wire.varlong()?;
                let (second, part) = (time.div_euclid(*units), time.rem_euclid(*units));
                self.out.push(b'"');
                date(self.out, second.div_euclid(DAY_S))?;
                self.out.push(b'T');
                clock(self.out, second.rem_euclid(DAY_S), part * (MICROS / units));
                self.out.extend_from_slice(if *is_utc { b"Z\"" } else { b"\"" });
            }
            Node::TimeOfDay(units) => {
                let time = self.wire.varlong()?;
                if !(0..DAY_S * units).contains(&time) {
                    return None;
                }
                self.out.push(b'"');
                clock(self.out, time / units, time % units * (MICROS / units));
                self.out.push(b'"');
            }
            Node::Decimal { size, precision, scale } => {
                let found = match size {
                    Some(size) => self.wire.take(*size)?,
                    None => self.sized()?,
                };
                decimal(self.out, found, *precision, *scale)?;
            }
            Node::Uuid => {
                let text = self.sized()?;
                uuid(self.out, text)?;
            }
        }
        Some(())
    }

    fn array(&mut self, items: u32, depth: usize) -> Option<()> {
        self.out.push(b'[');
        let mut number = 0;
        while let Some(count) = self.block()? {
            for _ in 0..count {
                let before = self.wire.at;
                self.comma(number);
                number += 1;
                self.value(items, depth + 1)?;
                self.empty += usize::from(self.wire.at == before);
                if self.empty > MAX_EMPTY_ITEMS {
                    return None;
                }
            }
        }
        self.out.push(b']');
        Some(())
    }

    fn map(&mut self, values: u32, depth: usize) -> Option<()> {
        self.out.push(b'{');
        let mut names: Vec<&'a [u8]> = Vec::new();
        while let Some(count) = self.block()? {
            for _ in 0..count {
                let name = self.sized()?;
                if names.len() >= MAX_COMPARED || names.contains(&name) {
                    return None;
                }
                self.comma(names.len());
                names.push(name);
                self.name(std::str::from_utf8(name).ok()?);
                self.value(values, depth + 1)?;
            }
        }
        self.out.push(b'}');
        Some(())
    }

    /// The number of items in the next block; Some(None) at the end.
    fn block(&mut self) -> Option<Option<u64>> {
        match self.wire.varlong()? {
            0 => Some(None),
            count if count < 0 => {
                self.wire.varlong()?; // the bytes of the block
                Some(Some(count.unsigned_abs()))
            }
            count => Some(Some(count.unsigned_abs())),
        }
    }

    fn comma(&mut self, number: usize) {
        if number > 0 {
            self.out.extend_from_slice(self.json.comma);
        }
    }

    fn name(&mut self, name: &str) {
        self.json.string(self.out, name);
        self.out.extend_from_slice(self.json.colon);
    }

    fn binary(&mut self, found: &[u8]) {
        if self.json.colon.len() == 1 {
            json_out::bytes(self.out, found);
            return;
        }
        self.out.push(b'{');
        self.name("base64");
        let start = self.out.len();
        json_out::bytes(self.out, found);
        // `"..."` of `{"base64":"..."}`
        self.out.drain(start..start + b"{\"base64\":".len());
    }

    /// Bytes after their length.
    fn sized(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.wire.varlong()?).ok()?;
        self.wire.take(size)
    }
}

/// `YYYY-MM-DD` of a number of days since 1970; None for a date that Python does not have.
fn date(out: &mut Vec<u8>, days: i64) -> Option<()> {
    let day = days.checked_add(DAYS_BEFORE).filter(|day| (0..DAYS).contains(day))?;
    // The calendar repeats after 400 years. A year begins in March here, so that the leap day ends it.
    let day = day + 306;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    padded(out, year, 4);
    out.push(b'-');
    padded(out, month, 2);
    out.push(b'-');
    padded(out, of_year - (153 * from_march + 2) / 5 + 1, 2);
    Some(())
}

/// `HH:MM:SS`, and microseconds unless there are none.
fn clock(out: &mut Vec<u8>, second: i64, micros: i64) {
    padded(out, second / 3600, 2);
    out.push(b':');
    padded(out, second / 60 % 60, 2);
    out.push(b':');
    padded(out, second % 60, 2);
    if micros > 0 {
        out.push(b'.');
        padded(out, micros, 6);
    }
}

fn padded(out: &mut Vec<u8>, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        out.push(b'0' + (number / 10_i64.pow(place) % 10) as u8);
    }
}

/// A decimal as text, in quotes; None for one that the precision rounds, or that has more than 16 bytes.
fn decimal(out: &mut Vec<u8>, data: &[u8], precision: usize, scale: usize) -> Option<()> {
    if data.len() > 16 {
        return None;
    }
    let is_negative = data.first().is_some_and(|&byte| byte >= 0x80);
    let mut number: i128 = if is_negative { -1 } else { 0 };
    for &byte in data {
        number = number << 8 | i128::from(byte);
    }
    let digits = number.unsigned_abs().to_string();
    if digits.len() > precision {
        return None;
    }
    out.push(b'"');
    if number < 0 {
        out.push(b'-');
    }
    let zeros = (scale + 1).saturating_sub(digits.len());
    let start = out.len();
    out.resize(start + zeros, b'0');
    out.extend_from_slice(digits.as_bytes());
    if scale > 0 {
        out.insert(out.len() - scale, b'.');
    }
    out.push(b'"');
    Some(())
}

/// A UUID, in quotes; None unless it is in the usual form.
fn uuid(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    if text.len() != 36 {
        return None;
    }
    out.push(b'"');
    for (place, &byte) in text.iter().enumerate() {
        let is_dash = matches!(place, 8 | 13 | 18 | 23);
        if is_dash != (byte == b'-') || !(is_dash || byte.is_ascii_hexdigit()) {
            return None;
        }
        out.push(byte.to_ascii_lowercase());
    }
    out.push(b'"');
    Some(())
}
