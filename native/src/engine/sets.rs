//! The capture sets of a block's packets: the native-owned part of each, and the time up to which
//! the engine may take its packets.

use pyo3::prelude::*;

use crate::records::quick::QuickMap;

/// The native-owned part of a capture set: its name, the time, and the object itself.
type Row<T> = (String, Py<PyAny>, T);

pub struct OfSet<T> {
    name: String,
    pub until_ns: i64,
    pub lent: T,
}

/// By the files of the capture sets.
pub struct Sets<T> {
    lend: Py<PyAny>,
    sets: Vec<OfSet<T>>,
    by_file: QuickMap<i64, usize>,
}

impl<T: for<'py> FromPyObject<'py>> Sets<T> {
    /// `lend` is called with the index of a file, and returns a row, or None if the set has no part
    /// yet.
    pub fn new(lend: Py<PyAny>) -> Self {
        Sets { lend, sets: Vec::new(), by_file: QuickMap::default() }
    }

    pub fn get(&self, number: usize) -> Option<&OfSet<T>> {
        self.sets.get(number)
    }

    /// The number of a file's set; None if it has no native-owned part yet.
    pub fn number_of(&mut self, py: Python<'_>, file: i64) -> PyResult<Option<usize>> {
        if let Some(&number) = self.by_file.get(&file) {
            return Ok(Some(number));
        }
        let Some((name, until_ns, lent)) = self.lend.bind(py).call1((file,))?.extract::<Option<Row<T>>>()?
        else {
            return Ok(None);
        };
        let until_ns = time(until_ns.bind(py));
        let number = self.sets.iter().position(|of| of.name == name).unwrap_or(self.sets.len());
        if number == self.sets.len() {
            self.sets.push(OfSet { name, until_ns, lent });
        }
        self.by_file.insert(file, number);
        Ok(Some(number))
    }

    /// Allow packets of a file's set up to another time.
    pub fn go_on_to(&mut self, file: i64, until_ns: &Bound<'_, PyAny>) {
        let number = self.by_file.get(&file);
        if let Some(of) = number.and_then(|&number| self.sets.get_mut(number)) {
            of.until_ns = time(until_ns);
        }
    }
}

/// A time from Python. Some round numbers are beyond the last possible time.
fn time(time_ns: &Bound<'_, PyAny>) -> i64 {
    time_ns.extract().unwrap_or(i64::MAX)
}
