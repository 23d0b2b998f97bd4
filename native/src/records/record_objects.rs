//! The records of a batch as tuples of Python, equal to the result of
//! `kdissect.decoders.records.records_v2`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::record_reader::{bytes, record, Header, Record};

/// The records in `data[start..end]`, all of class `record_class`; None where they do not fit, or are not `count`.
///
/// `base` are the offset and the time of the batch, `append_time` that of all records if it has one; `new` is
/// `tuple.__new__`.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // as many as there are to say
pub fn record_objects<'py>(
    record_class: &Bound<'py, PyAny>,
    new: &Bound<'py, PyAny>,
    data: &Bound<'py, PyBytes>,
    start: usize,
    end: usize,
    count: i64,
    base: (i64, i64),
    append_time: Option<i64>,
) -> PyResult<Option<Bound<'py, PyList>>> {
    let py = record_class.py();
    let Some(bytes) = data.as_bytes().get(..end) else { return Ok(None) };
    let made = PyList::empty(py);
    let (mut at, mut headers) = (start, Vec::new());
    while at < end {
        headers.clear();
        let Some(found) = record(bytes, at, &mut headers) else { return Ok(None) };
        let offset = base.0.checked_add(found.offset_delta);
        let time = base.1.checked_add(found.timestamp_delta);
        let (Some(offset), Some(time)) = (offset, time) else { return Ok(None) };
        let object = tuple(py, bytes, &found, &headers, (offset, append_time.unwrap_or(time)))?;
        made.append(new.call1((record_class, object))?)?;
        at = found.end;
    }
    Ok((i64::try_from(made.len()) == Ok(count)).then_some(made))
}

fn tuple<'py>(
    py: Python<'py>,
    data: &[u8],
    record: &Record,
    headers: &[Header],
    (offset, time): (i64, i64),
) -> PyResult<Bound<'py, PyTuple>> {
    let content = |place| bytes(data, place).map(|found| PyBytes::new(py, found));
    let pairs = headers.iter().map(|&(key, value)| {
        let key = data.get(key.0..key.1).unwrap_or_default();
        let key = match std::str::from_utf8(key) {
            Ok(text) => PyString::new(py, text).into_any(),
            Err(_) => PyBytes::new(py, key).into_any(),
        };
        (key, content(value)).into_pyobject(py)
    });
    let pairs = PyTuple::new(py, pairs.collect::<PyResult<Vec<_>>>()?)?;
    (offset, time, content(record.key), content(record.value), pairs, record.attributes).into_pyobject(py)
}
