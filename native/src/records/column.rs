//! Columns as Arrow has them (Arrow columnar format, "Physical Memory Layout"), little-endian, while rows come.
//!
//! The content of a column is copied once, and its memory reused for the next rows.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::bulk::Bulk;
use super::quick::QuickMap;
use crate::wire::are_same;

/// Maximum rows whose memory is reused, some 100 bytes each: few groups (`held_records.rs`) have
/// more.
const KEPT_ROWS: usize = 1 << 18;
/// Places of texts that are remembered.
const MOST_PLACES: usize = 1024;
/// Maximum bytes of short values whose memory is reused.
const KEPT_BYTES: usize = 32 << 20;

/// Bits, the lowest first. Those of a bitmap without zeros are not there.
#[derive(Default)]
pub struct Bits {
    len: usize,
    bytes: Vec<u8>,
    zeros: bool,
}

impl Bits {
    #[inline]
    pub fn push(&mut self, is_set: bool, count: u32) {
        let from = self.len;
        self.len += count as usize;
        if !is_set || self.zeros {
            self.fill(is_set, from);
        }
    }

    fn fill(&mut self, is_set: bool, from: usize) {
        if !self.zeros {
            self.zeros = true;
            self.bytes.resize(from / 8, 0xFF);
            self.bytes.push((1_u16 << (from % 8)).wrapping_sub(1) as u8);
        }
        self.bytes.resize(self.len / 8 + 1, 0);
        if is_set {
            for place in from..self.len {
                if let Some(byte) = self.bytes.get_mut(place / 8) {
                    *byte |= 1 << (place % 8);
                }
            }
        }
    }

    fn is_set(&self, place: usize) -> bool {
        !self.zeros || self.bytes.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }

    /// A bitmap, None where all bits are set.
    fn take<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let found = self.zeros.then(|| bytes(py, &self.bytes));
        self.bytes.clear();
        (self.len, self.zeros) = (0, false);
        found
    }
}

/// The buffers of a column as Arrow has them. For repeated texts, the dictionary's buffers follow
/// the column's own.
pub type Buffers<'py> = Vec<Option<Bound<'py, PyAny>>>;

fn bytes<'py>(py: Python<'py>, found: &[u8]) -> Bound<'py, PyAny> {
    PyBytes::new(py, found).into_any()
}

/// Integers of `WIDTH` bytes, 8 at most.
#[derive(Default)]
pub struct Numbers<const WIDTH: usize> {
    valid: Bits,
    values: Vec<[u8; WIDTH]>,
}

impl<const WIDTH: usize> Numbers<WIDTH> {
    /// `count` rows with a value, or null.
    #[inline]
    pub fn push(&mut self, value: Option<i64>, count: u32) {
        self.valid.push(value.is_some(), count);
        let bytes = value.unwrap_or(0).to_le_bytes();
        let Some(&own) = bytes.first_chunk::<WIDTH>() else { return };
        match count {
            1 => self.values.push(own), // hot, once a column and record
            _ => self.values.resize(self.values.len() + count as usize, own),
        }
    }

    /// Validity, values.
    pub fn take<'py>(&mut self, py: Python<'py>) -> Buffers<'py> {
        let values = bytes(py, self.values.as_flattened());
        vec![self.take_valid(py), Some(values)]
    }

    /// Validity alone.
    fn take_valid<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.values.clear();
        self.values.shrink_to(KEPT_ROWS);
        self.valid.take(py)
    }
}

/// Booleans without null.
#[derive(Default)]
pub struct Flags(Bits);

impl Flags {
    pub fn push(&mut self, value: bool, count: u32) {
        self.0.push(value, count);
    }

    pub fn take<'py>(&mut self, py: Python<'py>) -> Buffers<'py> {
        let size = self.0.len / 8 + 1;
        vec![None, self.0.take(py).or_else(|| Some(bytes(py, &vec![0xFF; size])))]
    }
}

/// Texts that repeat, as numbers of a dictionary in the order of their first rows.
#[derive(Default)]
pub struct Repeated {
    codes: Numbers<4>,
    texts: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32>,
    /// The first ones by where they stood: most stand there again.
    places: QuickMap<usize, u32>,
    last: u32,
}

impl Repeated {
    /// `count` rows with a text, or null.
    #[inline]
    pub fn push(&mut self, text: Option<&[u8]>, count: u32) {
        if count > 0 {
            let code = text.map(|text| i64::from(self.code(text)));
            self.codes.push(code, count);
        }
    }

    /// The number of a text.
    #[inline]
    fn code(&mut self, text: &[u8]) -> u32 {
        match self.texts.get(self.last as usize) {
            Some(last) if are_same(last, text) => self.last,
            _ => self.other(text),
        }
    }

    /// The number of a text that is not the last one.
    fn other(&mut self, text: &[u8]) -> u32 {
        let place = text.as_ptr() as usize;
        if let Some(&number) = self.places.get(&place) {
            if self.texts.get(number as usize).is_some_and(|known| are_same(known, text)) {
                self.last = number;
                return number;
            }
        }
        self.last = match self.numbers.get(text) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(text.into());
                self.numbers.insert(text.into(), number);
                number
            }
        };
        if self.places.len() < MOST_PLACES {
            self.places.insert(place, self.last);
        }
        self.last
    }

    fn forget_texts(&mut self) {
        self.texts.clear();
        self.numbers.clear();
        self.places.clear();
        self.last = 0;
    }

    /// Validity and numbers, then ends and bytes of the dictionary.
    pub fn take<'py>(&mut self, py: Python<'py>) -> Buffers<'py> {
        let mut texts = Blobs::default();
        self.texts.iter().for_each(|text| texts.push(Some(text)));
        self.forget_texts();
        let mut found = self.codes.take(py);
        found.extend(texts.take(py).into_iter().skip(1));
        found
    }
}

/// Repeated texts, with a copy in each row: the writer of the column then needs no dictionary.
#[derive(Default)]
pub struct Spelled(Repeated);

impl Spelled {
    /// `count` rows with a text, or null.
    #[inline]
    pub fn push(&mut self, text: Option<&[u8]>, count: u32) {
        self.0.push(text, count);
    }

    /// Validity, ends, bytes.
    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Buffers<'py>> {
        let Repeated { codes, texts, .. } = &self.0;
        let mut ends = Ends::default();
        let mut end = 0;
        let text_of = |(row, code): (usize, &[u8; 4])| -> &[u8] {
            match texts.get(u32::from_le_bytes(*code) as usize) {
                Some(text) if codes.valid.is_set(row) => text,
                _ => &[],
            }
        };
        for row in codes.values.iter().enumerate() {
            end += text_of(row).len();
            ends.push(end);
        }
        let found = PyBytes::new_with(py, end, |room| {
            let mut rest = room;
            for row in codes.values.iter().enumerate() {
                let text = text_of(row);
                let Some((own, behind)) = rest.split_at_mut_checked(text.len()) else { break };
                own.copy_from_slice(text);
                rest = behind;
            }
            Ok(())
        })?;
        self.0.forget_texts();
        Ok(vec![self.0.codes.take_valid(py), ends.take(py), Some(found.into_any())])
    }
}

/// Where values end, from 0 on.
#[derive(Default)]
struct Ends(Vec<[u8; 4]>);

impl Ends {
    #[inline]
    fn push(&mut self, end: usize) {
        if self.0.is_empty() {
            self.0.push([0; 4]);
        }
        self.0.push((end as u32).to_le_bytes());
    }

    fn take<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let found = if self.0.is_empty() { &[0; 4] } else { self.0.as_flattened() };
        let found = bytes(py, found);
        self.0.clear();
        self.0.shrink_to(KEPT_ROWS);
        Some(found)
    }
}

/// Short values; `None` is null.
#[derive(Default)]
pub struct Blobs {
    valid: Bits,
    ends: Ends,
    bytes: Vec<u8>,
}

impl Blobs {
    #[inline]
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.valid.push(value.is_some(), 1);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.ends.push(self.bytes.len());
    }

    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Validity, ends, bytes.
    pub fn take<'py>(&mut self, py: Python<'py>) -> Buffers<'py> {
        let found = vec![self.valid.take(py), self.ends.take(py), Some(bytes(py, &self.bytes))];
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        found
    }
}

/// Values that may be long; `None` is null.
#[derive(Default)]
pub struct Values {
    valid: Bits,
    ends: Ends,
    bytes: Bulk,
}

impl Values {
    #[inline]
    pub fn push(&mut self, py: Python<'_>, value: Option<&[u8]>) -> PyResult<()> {
        self.valid.push(value.is_some(), 1);
        self.bytes.push(py, value.unwrap_or_default())?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Validity, ends, bytes.
    pub fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Buffers<'py>> {
        Ok(vec![self.valid.take(py), self.ends.take(py), Some(self.bytes.take(py)?.into_any())])
    }
}

/// Where lists end among their elements.
#[derive(Default)]
pub struct Lists(Ends);

impl Lists {
    pub fn push(&mut self, end: usize) {
        self.0.push(end);
    }

    /// Validity, ends.
    pub fn take<'py>(&mut self, py: Python<'py>) -> Buffers<'py> {
        vec![None, self.0.take(py)]
    }
}
