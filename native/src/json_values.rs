//! JSON text in the styles of the libraries that write it in Python, for values that are numbers and text.

use std::fmt::Arguments;
use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::PyResult;

use crate::json_out;

/// Decimals of so many digits have no other that is as near to a number (DBL_DIG of C).
const MAX_UNIQUE: usize = 15;

/// Decimal digits of a number.
struct Digits {
    room: [u8; 32],
    count: usize,
}

impl Digits {
    /// Of a number in scientific form, and its exponent.
    fn of(text: Arguments<'_>) -> (Digits, i32) {
        let mut room = [0; 32]; // 17 digits, a point and an exponent
        let mut left = &mut room[..];
        let _ = left.write_fmt(text);
        let left = left.len();
        let size = room.len() - left;
        let text = &room[..size];
        let end = text.iter().position(|&byte| byte == b'e').unwrap_or(size);
        let exponent = std::str::from_utf8(text.get(end + 1..).unwrap_or_default());
        let exponent = exponent.ok().and_then(|text| text.parse().ok()).unwrap_or_default();
        let mut found = Digits { room: [0; 32], count: 0 };
        for &byte in text[..end].iter().filter(|&&byte| byte != b'.') {
            found.room[found.count] = byte;
            found.count += 1;
        }
        (found, exponent)
    }

    fn all(&self) -> &[u8] {
        &self.room[..self.count]
    }

    /// The number with an exponent.
    fn number(&self, exponent: i32) -> Option<f64> {
        let digits = std::str::from_utf8(self.all()).ok()?;
        format!("{digits}e{}", exponent - self.count as i32 + 1).parse().ok()
    }
}

/// A way to write JSON.
pub struct Json {
    pub comma: &'static [u8],
    pub colon: &'static [u8],
    /// Whether controls of the writing direction are escaped.
    is_inert: bool,
    reals: Reals,
}

/// How numbers with a fraction are written.
#[derive(Clone, Copy, PartialEq)]
enum Reals {
    /// As `repr` does.
    Python,
    /// As orjson does, with a plus before an exponent or without.
    Orjson { plus: bool },
}

impl Json {
    /// Of a name: `orjson`, `orjson+` (with a plus before exponents), `compact` and `spaced` (both of Python's json).
    pub fn of(name: &str) -> PyResult<Json> {
        let orjson = |plus| Json { comma: b",", colon: b":", is_inert: true, reals: Reals::Orjson { plus } };
        Ok(match name {
            "orjson" => orjson(false),
            "orjson+" => orjson(true),
            "compact" => Json { comma: b",", colon: b":", is_inert: true, reals: Reals::Python },
            "spaced" => Json { comma: b", ", colon: b": ", is_inert: false, reals: Reals::Python },
            _ => return Err(PyValueError::new_err(format!("no style of JSON: {name}"))),
        })
    }

    /// A string, in quotes.
    pub fn string(&self, out: &mut Vec<u8>, text: &str) {
        if self.is_inert {
            json_out::string(out, text);
        } else {
            json_out::plain_string(out, text);
        }
    }

    /// `kdissect.serdes.json_values.number`.
    pub fn real(&self, out: &mut Vec<u8>, value: f64) {
        if !value.is_finite() {
            let name = if value.is_nan() { "NaN" } else { "Infinity" };
            out.extend_from_slice(if value < 0.0 { b"\"-" } else { b"\"" });
            out.extend_from_slice(name.as_bytes());
            out.push(b'"');
            return;
        }
        if value.is_sign_negative() {
            out.push(b'-');
        }
        let (mut digits, mut exponent) = Digits::of(format_args!("{:e}", value.abs()));
        if digits.count >= MAX_UNIQUE {
            // Two numbers of this length may be equally near. Python and orjson write the even one.
            let more = digits.count - 1;
            let exact = Digits::of(format_args!("{:.more$e}", value.abs()));
            if exact.0.number(exact.1) == Some(value.abs()) {
                (digits, exponent) = exact;
            }
        }
        self.digits(out, digits.all(), exponent + 1);
    }

    /// Digits of a number, the first `point` of which are before the point.
    fn digits(&self, out: &mut Vec<u8>, digits: &[u8], point: i32) {
        let least = if self.reals == Reals::Python { -4 } else { -5 };
        let count = digits.len() as i32;
        if point > 16 || point <= least {
            let (first, others) = digits.split_at(1);
            out.extend_from_slice(first);
            if !others.is_empty() {
                out.push(b'.');
                out.extend_from_slice(others);
            }
            self.exponent(out, point - 1);
        } else if point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else if point >= count {
            out.extend_from_slice(digits);
            out.resize(out.len() + (point - count) as usize, b'0');
            out.extend_from_slice(b".0");
        } else {
            let (whole, fraction) = digits.split_at(point as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    }

    fn exponent(&self, out: &mut Vec<u8>, exponent: i32) {
        out.push(b'e');
        if exponent < 0 {
            out.push(b'-');
        } else if self.reals != (Reals::Orjson { plus: false }) {
            out.push(b'+');
        }
        if self.reals == Reals::Python && exponent.abs() < 10 {
            out.push(b'0');
        }
        crate::decimal::put(out, exponent.abs().into());
    }
}
