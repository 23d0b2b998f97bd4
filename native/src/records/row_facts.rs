//! Common values of rows, cached for a row group: connections, files, topics.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::asked::{Asked, Frame, Texts};
use super::batch::Batch;
use super::program::{Base, RecordsField, Topic};
use super::quick::QuickMap;
use crate::places::{FILE_SHIFT, NUMBER_MASK};

/// Common values of all records in a field.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    pub connection: &'a Texts,
    pub ordinal: i64,
    pub direction: &'a str,
    pub client_id: Option<&'a str>,
    pub file: &'a str,
    pub packet: i64,
    pub time_ns: i64,
    pub topic: Option<&'a str>,
    pub topic_id: Option<[u8; 16]>,
    pub partition: Option<i32>,
    /// The log offset of the next batch's first record.
    pub base: Base,
}

impl Shared<'_> {
    /// The log offset of a record whose bytes have another one; None if it is unknown.
    pub fn log_offset(&self, batch: &Batch, raw: Option<i64>) -> Option<i64> {
        match self.base {
            Base::InRecords => raw,
            Base::Unknown => None,
            Base::Assigned(base) => raw?.checked_sub(batch.base_offset)?.checked_add(base),
        }
    }
}

/// Use of a field's records.
#[derive(Clone, Copy, PartialEq)]
pub enum Use {
    Read,
    /// They are not wanted.
    Skip,
    /// Python reads them.
    Leave,
}

#[derive(Default)]
pub struct Known {
    /// By the address of the object, which stays alive.
    connections: QuickMap<usize, (Py<PyAny>, Option<Texts>)>,
    files: QuickMap<i64, Option<Box<str>>>,
    names: HashMap<(usize, [u8; 16]), Option<Box<str>>>,
    topics: HashMap<Box<str>, Use>,
    /// The topic that was requested last, if its records are read here.
    last: String,
}

impl Known {
    /// Know connection and file of a frame.
    pub fn learn(&mut self, py: Python<'_>, asked: &Asked, frame: &Frame) -> PyResult<()> {
        let place = frame.connection.as_ptr() as usize;
        if let Entry::Vacant(free) = self.connections.entry(place) {
            free.insert((frame.connection.clone_ref(py), asked.connection(py, &frame.connection)?));
        }
        let file = frame.first_ref >> FILE_SHIFT;
        if let Entry::Vacant(free) = self.files.entry(file) {
            free.insert(asked.file(py, file)?);
        }
        Ok(())
    }

    /// Know the name of a field's topic id, and what is to be done with its records.
    pub fn usage(
        &mut self,
        py: Python<'_>,
        asked: &Asked,
        frame: &Frame,
        field: &RecordsField,
    ) -> PyResult<Use> {
        if let (Topic::None, Some(id)) = (&field.topic, field.topic_id) {
            let key = (frame.connection.as_ptr() as usize, id);
            if let Entry::Vacant(free) = self.names.entry(key) {
                free.insert(asked.name(py, frame, &id)?);
            }
        }
        let topic = self.topic(py, frame, field).unwrap_or_default();
        if self.last == topic && !topic.is_empty() {
            return Ok(Use::Read);
        }
        let topic = topic.to_owned();
        let usage = match self.topics.get(&*topic) {
            Some(&usage) => usage,
            None => {
                let usage = match asked.topic(py, &topic)? {
                    (false, _) => Use::Skip,
                    (true, true) => Use::Leave,
                    (true, false) => Use::Read,
                };
                *self.topics.entry(topic.as_str().into()).or_insert(usage)
            }
        };
        if usage == Use::Read {
            self.last = topic;
        }
        Ok(usage)
    }

    /// The name of a field's topic, as far as it is known.
    fn topic<'a>(&'a self, py: Python<'a>, frame: &'a Frame, field: &'a RecordsField) -> Option<&'a str> {
        match (&field.topic, field.topic_id) {
            (Topic::Told(text), _) => Some(text),
            (Topic::Wire(place), _) => {
                let bytes = frame.data.as_bytes(py).get(place.clone())?;
                std::str::from_utf8(bytes).ok()
            }
            (Topic::None, Some(id)) => self.names.get(&(frame.connection.as_ptr() as usize, id))?.as_deref(),
            (Topic::None, None) => None,
        }
    }

    /// Common values of a field's records, once they are cached; None if a text has no bytes.
    pub fn shared<'a>(
        &'a self,
        py: Python<'a>,
        frame: &'a Frame,
        direction: &'a str,
        field: &'a RecordsField,
    ) -> Option<Shared<'a>> {
        let client_id = frame.client_id.bind(py);
        Some(Shared {
            connection: self.connections.get(&(frame.connection.as_ptr() as usize))?.1.as_ref()?,
            ordinal: frame.ordinal,
            direction,
            client_id: match client_id.cast::<PyString>() {
                Ok(text) => Some(text.to_str().ok()?),
                Err(_) => None,
            },
            file: self.files.get(&(frame.first_ref >> FILE_SHIFT))?.as_deref()?,
            packet: frame.first_ref & NUMBER_MASK,
            time_ns: frame.time_ns,
            topic: self.topic(py, frame, field),
            topic_id: field.topic_id,
            partition: field.partition,
            base: field.base,
        })
    }
}
