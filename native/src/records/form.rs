//! Keys and values in the chosen form: `kdissect.engine.records.record_rows._text_of`.

use pyo3::exceptions::PyValueError;
use pyo3::PyResult;

const HEX: &[u8; 16] = b"0123456789abcdef";
/// RFC 4648 section 4.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[derive(Clone, Copy, Default)]
pub enum Form {
    /// The bytes themselves.
    #[default]
    Raw,
    /// UTF-8, with `\xNN` for bytes that are none.
    Text,
    Hex,
    Base64,
}

impl Form {
    /// Of a name of `--key-format` or `--value-format`: JSON is its text.
    pub fn of(name: Option<&str>) -> PyResult<Self> {
        match name {
            None => Ok(Form::Raw),
            Some("text" | "json") => Ok(Form::Text),
            Some("hex") => Ok(Form::Hex),
            Some("base64") => Ok(Form::Base64),
            Some(other) => Err(PyValueError::new_err(format!("no form: {other}"))),
        }
    }

    /// The bytes in this form: themselves, or what `room` holds then.
    pub fn of_bytes<'a>(self, bytes: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Form::Text if std::str::from_utf8(bytes).is_err() => escaped(bytes, room),
            Form::Raw | Form::Text => return bytes,
            Form::Hex => {
                room.clear();
                bytes.iter().for_each(|&byte| hex(byte, room));
            }
            Form::Base64 => base64(bytes, room),
        }
        room
    }
}

fn hex(byte: u8, room: &mut Vec<u8>) {
    room.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Result of `bytes.decode("utf-8", "backslashreplace")`.
fn escaped(bytes: &[u8], room: &mut Vec<u8>) {
    room.clear();
    for chunk in bytes.utf8_chunks() {
        room.extend_from_slice(chunk.valid().as_bytes());
        for &byte in chunk.invalid() {
            room.extend_from_slice(b"\\x");
            hex(byte, room);
        }
    }
}

fn base64(bytes: &[u8], room: &mut Vec<u8>) {
    room.clear();
    for three in bytes.chunks(3) {
        let byte = |place: usize| three.get(place).map_or(0, |&byte| u32::from(byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = BASE64[(bits >> (18 - 6 * place) & 63) as usize];
            room.push(if place <= three.len() { letter } else { b'=' });
        }
    }
}
