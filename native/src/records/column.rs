//! Columns as Arrow has them (Arrow columnar format, "Physical Memory Layout"), little-endian, while rows come.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
            self.bytes = vec![0xFF; from / 8];
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

    /// A bitmap, None where all bits are set.
    fn some<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.zeros.then(|| PyBytes::new(py, &self.bytes))
    }

    /// A bitmap in any case.
    fn all<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.some(py).unwrap_or_else(|| PyBytes::new(py, &vec![0xFF; self.len / 8 + 1]))
    }
}

/// The buffers of a column as Arrow has them; of texts that repeat those of the dictionary behind its own.
pub type Buffers<'py> = Vec<Option<Bound<'py, PyBytes>>>;

/// Integers of 1, 2, 4 or 8 bytes.
pub struct Numbers {
    width: usize,
    valid: Bits,
    bytes: Vec<u8>,
}

impl Numbers {
    pub fn new(width: usize) -> Self {
        Numbers { width, valid: Bits::default(), bytes: Vec::new() }
    }

    /// `count` rows with a value, or null.
    #[inline]
    pub fn push(&mut self, value: Option<i64>, count: u32) {
        // Hot, once a column and record. Widths that are known make stores of calls.
        self.valid.push(value.is_some(), count);
        let value = value.unwrap_or(0);
        for _ in 0..count {
            match self.width {
                8 => self.bytes.extend_from_slice(&value.to_le_bytes()),
                4 => self.bytes.extend_from_slice(&(value as i32).to_le_bytes()),
                _ => self.bytes.extend(value.to_le_bytes().iter().take(self.width)),
            }
        }
    }

    /// Validity, values.
    pub fn buffers<'py>(&self, py: Python<'py>) -> Buffers<'py> {
        vec![self.valid.some(py), Some(PyBytes::new(py, &self.bytes))]
    }
}

/// Booleans, none of them null.
#[derive(Default)]
pub struct Flags(Bits);

impl Flags {
    pub fn push(&mut self, value: bool, count: u32) {
        self.0.push(value, count);
    }

    pub fn buffers<'py>(&self, py: Python<'py>) -> Buffers<'py> {
        vec![None, Some(self.0.all(py))]
    }
}

/// Texts that repeat, as numbers of a dictionary.
pub struct Repeated {
    codes: Numbers,
    texts: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32>,
    last: u32,
}

impl Repeated {
    pub fn new() -> Self {
        Repeated { codes: Numbers::new(4), texts: Vec::new(), numbers: HashMap::new(), last: 0 }
    }

    /// The number of a text among those of these rows.
    pub fn code(&mut self, text: &[u8]) -> u32 {
        if self.texts.get(self.last as usize).is_some_and(|last| **last == *text) {
            return self.last;
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
        self.last
    }

    /// `count` rows with the text of a number that `code` gave.
    pub fn coded(&mut self, code: u32, count: u32) {
        self.codes.push(Some(i64::from(code)), count);
    }

    /// `count` rows with a text, or null.
    pub fn push(&mut self, text: Option<&[u8]>, count: u32) {
        let code = text.map(|text| i64::from(self.code(text)));
        self.codes.push(code, count);
    }

    /// Validity and numbers; ends and bytes of the dictionary.
    pub fn buffers<'py>(&self, py: Python<'py>) -> Buffers<'py> {
        let mut texts = Blobs::default();
        self.texts.iter().for_each(|text| texts.push(Some(text)));
        let mut found = self.codes.buffers(py);
        found.extend(texts.buffers(py).into_iter().skip(1));
        found
    }
}

/// Where values end, from 0 on.
struct Ends(Vec<u8>);

impl Default for Ends {
    fn default() -> Self {
        Ends(vec![0; 4])
    }
}

impl Ends {
    fn push(&mut self, end: usize) {
        self.0.extend_from_slice(&(end as u32).to_le_bytes());
    }

    fn buffer<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        Some(PyBytes::new(py, &self.0))
    }
}

/// Short values, copied as they come; `None` is null.
#[derive(Default)]
pub struct Blobs {
    valid: Bits,
    ends: Ends,
    bytes: Vec<u8>,
}

impl Blobs {
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.valid.push(value.is_some(), 1);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        self.ends.push(self.bytes.len());
    }

    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Validity, ends, bytes.
    pub fn buffers<'py>(&self, py: Python<'py>) -> Buffers<'py> {
        vec![self.valid.some(py), self.ends.buffer(py), Some(PyBytes::new(py, &self.bytes))]
    }
}

/// Values that may be long: where they stand, so that each is copied once, in the end.
#[derive(Default)]
pub struct Places {
    valid: Bits,
    ends: Ends,
    /// Number of the bytes they stand in, start, length.
    places: Vec<(u32, u32, u32)>,
    size: usize,
}

impl Places {
    pub fn push(&mut self, content: u32, place: Option<(usize, usize)>) {
        self.valid.push(place.is_some(), 1);
        let (start, end) = place.unwrap_or_default();
        self.size += end - start;
        self.places.push((content, start as u32, (end - start) as u32));
        self.ends.push(self.size);
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Validity, ends, bytes.
    pub fn buffers<'py>(&self, py: Python<'py>, contents: &[Py<PyBytes>]) -> PyResult<Buffers<'py>> {
        let bytes = PyBytes::new_with(py, self.size, |buffer| {
            let mut left = buffer;
            for &(content, start, length) in &self.places {
                let Some(own) = contents.get(content as usize) else {
                    continue;
                };
                let (start, end) = (start as usize, start as usize + length as usize);
                let source = own.as_bytes(py).get(start..end).unwrap_or_default();
                let Some((target, others)) = left.split_at_mut_checked(source.len()) else {
                    break;
                };
                target.copy_from_slice(source);
                left = others;
            }
            Ok(())
        })?;
        Ok(vec![self.valid.some(py), self.ends.buffer(py), Some(bytes)])
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
    pub fn buffers<'py>(&self, py: Python<'py>) -> Buffers<'py> {
        vec![None, self.0.buffer(py)]
    }
}
