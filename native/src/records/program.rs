//! The records fields of a body, as `kdissect.decoders.records.records_fields` finds them in bodies that fit and are whole.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::bodies::plan::{Field, Kind, Role};
use crate::bodies::visitor::{Look, Program, What};

/// The name of a topic: in the frame, from Python, or not on the wire.
#[derive(Clone, Default)]
pub enum Topic {
    #[default]
    None,
    Wire(Range<usize>),
    Told(Box<str>),
}

/// A records field that is not null: `decoders.records.records_fields.RecordsField`, places in the frame.
#[derive(Clone, Default)]
pub struct RecordsField {
    pub topic: Topic,
    pub topic_id: Option<[u8; 16]>,
    pub partition: Option<i32>,
    pub start: usize,
    pub end: usize,
    pub base: Base,
}

/// The log offset of a field's first record.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Base {
    /// The records have their offsets in the log.
    #[default]
    InRecords,
    /// A producer sends the records, and no response says where the broker put them.
    Unknown,
    Assigned(i64),
}

/// A `RecordsField` of Python: topic, its id, partition, position, start, end, snapshot.
pub type FieldRow<'py> = (
    Option<Bound<'py, PyString>>,
    Option<[u8; 16]>,
    Option<i32>,
    Bound<'py, PyAny>,
    usize,
    usize,
    Bound<'py, PyAny>,
);

impl RecordsField {
    /// One that Python found; None for one whose topic has no bytes.
    pub fn of((topic, topic_id, partition, _, start, end, _): FieldRow<'_>) -> Option<Self> {
        let topic = match topic {
            None => Topic::None,
            Some(text) => Topic::Told(text.to_str().ok()?.into()),
        };
        Some(RecordsField { topic, topic_id, partition, start, end, base: Base::InRecords })
    }
}

/// The values read last identify the owner of the next records.
pub struct RecordsFields<'a> {
    now: RecordsField,
    found: &'a mut Vec<RecordsField>,
}

impl Look for RecordsFields<'_> {
    fn wants(field: &Field) -> bool {
        field.is_part || field.kind == Kind::Records
    }

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place.clone())?;
        match what.role {
            Role::Topic => {
                std::str::from_utf8(raw).ok()?;
                self.now.topic = Topic::Wire(place);
            }
            Role::TopicId => self.now.topic_id = Some(raw.try_into().ok()?),
            Role::Partition => self.now.partition = Some(i32::from_be_bytes(raw.try_into().ok()?)),
            _ => {
                (self.now.start, self.now.end) = (place.start, place.end);
                self.found.push(self.now.clone());
            }
        }
        Some(())
    }
}

/// The records fields of the body at `offset`, added to `found`; None where anything does not fit.
pub fn run(program: &Program, data: &[u8], offset: usize, found: &mut Vec<RecordsField>) -> Option<()> {
    program.walk(data, offset, &mut RecordsFields { now: RecordsField::default(), found }).map(drop)
}
