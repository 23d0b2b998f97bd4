//! The text of one cell: what `kdissect.cli.formats.tsv` makes for TSV, `kdissect.cli.formats.csv` for CSV, and
//! `kdissect.cli.formats.jsonl` for JSON.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::json_out::string;

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Number of characters in one request.
const BLOCK: u32 = 256;

#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    Tsv,
    Csv,
    Json,
}

impl Style {
    /// Of a name of `--format`.
    pub fn of(name: &str) -> PyResult<Self> {
        match name {
            "tsv" => Ok(Style::Tsv),
            "csv" => Ok(Style::Csv),
            "jsonl" => Ok(Style::Json),
            _ => Err(PyValueError::new_err(format!("no lines of cells: {name}"))),
        }
    }
}

/// Writes cells. What is no ASCII is printable or not as Python knows it.
pub struct Cells {
    pub style: Style,
    /// `(block) -> bytes`: for each of 256 characters whether `str.isprintable` holds for it, not 0 for yes.
    printables: Py<PyAny>,
    blocks: HashMap<u32, Py<PyBytes>>,
    room: Vec<u8>,
}

impl Cells {
    pub fn new(style: Style, printables: Py<PyAny>) -> Self {
        Cells { style, printables, blocks: HashMap::new(), room: Vec::new() }
    }

    /// A text.
    pub fn text(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: &str) -> PyResult<()> {
        match self.style {
            Style::Json => string(out, text),
            Style::Tsv => {
                self.mark(out, text);
                return self.field_text(py, out, text);
            }
            Style::Csv => {
                self.mark(out, text);
                return self.printable(py, out, text);
            }
        }
        Ok(())
    }

    /// `spreadsheet_text.formula_mark`: the apostrophe before a cell that a spreadsheet would take for a formula.
    #[inline(always)] // for each text
    pub fn mark(&self, out: &mut Vec<u8>, text: &str) {
        let begins_plainly = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if !begins_plainly && self.style != Style::Json && is_formula(text) {
            out.push(b'\'');
        }
    }

    /// A text in a list.
    pub fn listed(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: &str) -> PyResult<()> {
        match self.style {
            Style::Json => self.text(py, out, text),
            _ => self.field_text(py, out, text),
        }
    }

    /// A struct, which is JSON in every style.
    pub fn json(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: &str) -> PyResult<()> {
        if self.style == Style::Json {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        self.field_text(py, out, text)
    }

    /// End a cell that begins at `start`, and is alone on its line or not.
    pub fn end(&mut self, out: &mut Vec<u8>, start: usize, is_alone: bool) {
        if self.style != Style::Csv {
            return;
        }
        let cell = out.get(start..).unwrap_or_default();
        if cell.is_empty() && is_alone {
            out.extend_from_slice(b"\"\""); // else it were a line without cells
        } else if cell.iter().fold(false, |found, &byte| found | (byte == b',') | (byte == b'"')) {
            self.quote(out, start);
        }
    }

    /// RFC 4180 section 2, rules 5 to 7.
    fn quote(&mut self, out: &mut Vec<u8>, start: usize) {
        self.room.clear();
        self.room.extend_from_slice(out.get(start..).unwrap_or_default());
        out.truncate(start);
        out.push(b'"');
        for &byte in &self.room {
            if byte == b'"' {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(b'"');
    }

    /// `report.printable.field_text`.
    fn field_text(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: &str) -> PyResult<()> {
        let is_simple = |&byte: &u8| (b' '..=b'~').contains(&byte) && byte != b'\\';
        if text.as_bytes().iter().fold(true, |found, byte| found & is_simple(byte)) {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        for (at, part) in text.split('\\').enumerate() {
            if at > 0 {
                out.extend_from_slice(b"\\\\");
            }
            self.printable(py, out, part)?;
        }
        Ok(())
    }

    /// `report.printable.printable`.
    fn printable(&mut self, py: Python<'_>, out: &mut Vec<u8>, text: &str) -> PyResult<()> {
        let is_simple = |&byte: &u8| (b' '..=b'~').contains(&byte);
        if text.as_bytes().iter().fold(true, |found, byte| found & is_simple(byte)) {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        for char in text.chars() {
            if self.is_printable(py, char)? {
                out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                escape(out, char);
            }
        }
        Ok(())
    }

    fn is_printable(&mut self, py: Python<'_>, char: char) -> PyResult<bool> {
        if char.is_ascii() {
            return Ok((' '..='~').contains(&char));
        }
        let code = u32::from(char);
        let block = match self.blocks.get(&(code / BLOCK)) {
            Some(block) => block,
            None => {
                let found: Py<PyBytes> = self.printables.call1(py, (code / BLOCK,))?.extract(py)?;
                self.blocks.entry(code / BLOCK).or_insert(found)
            }
        };
        Ok(block.as_bytes(py).get((code % BLOCK) as usize).is_some_and(|&flag| flag != 0))
    }
}

/// `spreadsheet_text._formula`: whether a spreadsheet would take a text for a formula.
fn is_formula(text: &str) -> bool {
    let begins = |char: char| {
        char < ' '
            || matches!(char, '=' | '+' | '-' | '@' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff1d}' | '\u{ff20}')
    };
    for char in text.chars() {
        if begins(char) {
            return true;
        }
        if !char.is_whitespace() {
            return false;
        }
    }
    false
}

/// `report.printable._escape`.
fn escape(out: &mut Vec<u8>, char: char) {
    let code = u32::from(char);
    let (mark, digits) = match char {
        '\n' => return out.extend_from_slice(b"\\n"),
        '\r' => return out.extend_from_slice(b"\\r"),
        '\t' => return out.extend_from_slice(b"\\t"),
        '\0'..='\u{ff}' => (b'x', 2),
        '\u{100}'..='\u{ffff}' => (b'u', 4),
        _ => (b'U', 8),
    };
    out.extend_from_slice(&[b'\\', mark]);
    for digit in (0..digits).rev() {
        out.push(HEX[(code >> (4 * digit) & 15) as usize]);
    }
}
