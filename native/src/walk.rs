//! `kdissect.decoders.walk.Walk` over one body for what a summary tells, along a program of
//! `kdissect.decoders.program`. What is not exactly one ordinary body is left to Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::wire::{Form, Wire};

/// Kinds of steps as `kdissect.decoders.program` numbers them; those of array elements stand `OF_ARRAY` higher.
const PASS: u8 = 0;
const ERROR: u8 = 1;
const ACKS: u8 = 2;
const ID: u8 = 3;
const TEXT: u8 = 4;
const STRING: u8 = 5;
const BYTES: u8 = 6;
const STRUCT: u8 = 7;
const OF_ARRAY: u8 = 8;

/// Structs in structs; Kafka's messages have 5 at most. A walk takes a frame of the stack for each.
const MOST_NESTED: usize = 32;
const ID_BYTES: usize = 16;

/// What is found stands behind one of these. A topic's bytes stand behind their number, an int32.
pub const FOUND_ERROR: u8 = 1;
pub const FOUND_ACKS: u8 = 2;
pub const FOUND_ID: u8 = 3;
pub const FOUND_TOPIC: u8 = 4;

/// A step as Python has it: its kind, a width or the number of a struct, whether it may be null.
pub type StepRow = (u8, usize, bool);
/// A struct as Python has it: its steps, and the tags that are not passed over.
pub type StructRow = (Vec<StepRow>, Vec<u32>);

/// Where something stands whose length or count is read first; an int16 where `short` and not compact.
#[derive(Clone, Copy)]
struct Sized {
    short: bool,
    nullable: bool,
}

#[derive(Clone, Copy)]
enum Step {
    Pass(usize),
    Error,
    Acks,
    Id,
    Text(Sized),
    Skip(Sized),
    Struct(usize, bool),
    PassEach(usize, bool),
    IdEach(bool),
    TextEach(Sized, bool),
    SkipEach(Sized, bool),
    StructEach(usize, bool),
}

impl Step {
    fn of(row: StepRow) -> Option<Step> {
        let (kind, number, nullable) = row;
        let sized = Sized { short: kind & 7 != BYTES, nullable };
        // Elements are never null (Apache Kafka's generated readers refuse it).
        let each = Sized { nullable: false, ..sized };
        Some(match kind {
            PASS => Step::Pass(number),
            ERROR => Step::Error,
            ACKS => Step::Acks,
            ID => Step::Id,
            TEXT => Step::Text(sized),
            STRING | BYTES => Step::Skip(sized),
            STRUCT => Step::Struct(number, nullable),
            _ => match kind.checked_sub(OF_ARRAY)? {
                PASS => Step::PassEach(number, nullable),
                ID => Step::IdEach(nullable),
                TEXT => Step::TextEach(each, nullable),
                STRING | BYTES => Step::SkipEach(each, nullable),
                STRUCT => Step::StructEach(number, nullable),
                _ => return None,
            },
        })
    }

    fn inner(&self) -> Option<usize> {
        match self {
            Step::Struct(number, _) | Step::StructEach(number, _) => Some(*number),
            _ => None,
        }
    }
}

struct Struct {
    steps: Box<[Step]>,
    tags: Box<[u32]>,
}

/// What there is to know of one version of a message to walk its bodies. The first struct is the root; those
/// in a struct have larger numbers than it.
pub struct Program {
    flexible: bool,
    structs: Box<[Struct]>,
}

impl Program {
    /// Raises ValueError for rows that are none of `kdissect.decoders.program`.
    pub fn new(flexible: bool, rows: Vec<StructRow>) -> PyResult<Program> {
        let structs: Option<Vec<Struct>> = rows.into_iter().map(struct_of).collect();
        let structs = structs.filter(|structs| is_bounded(structs));
        let structs = structs.ok_or_else(|| PyValueError::new_err("no program"))?;
        Ok(Program { flexible, structs: structs.into_boxed_slice() })
    }

    /// Put what the body from `offset` to the end of `data` tells behind what is in `found`. None where it is
    /// not exactly one body, or one that Python is to look at.
    pub fn walk(&self, data: &[u8], offset: usize, found: &mut Vec<u8>) -> Option<()> {
        let mut walk = Walk { program: self, wire: Wire { data, at: offset }, found };
        walk.of_struct(0)?;
        (walk.wire.left() == 0).then_some(())
    }
}

fn struct_of(row: StructRow) -> Option<Struct> {
    let steps: Option<Box<[Step]>> = row.0.into_iter().map(Step::of).collect();
    Some(Struct { steps: steps?, tags: row.1.into_boxed_slice() })
}

/// Whether every struct is there, none holds itself, and none lies too deep.
fn is_bounded(structs: &[Struct]) -> bool {
    let mut depths = vec![0; structs.len()];
    for (number, of) in structs.iter().enumerate() {
        for inner in of.steps.iter().filter_map(Step::inner) {
            if inner <= number || inner >= structs.len() {
                return false;
            }
            depths[inner] = depths[inner].max(depths[number] + 1);
        }
    }
    !structs.is_empty() && depths.iter().all(|depth| *depth < MOST_NESTED)
}

struct Walk<'a> {
    program: &'a Program,
    wire: Wire<'a>,
    found: &'a mut Vec<u8>,
}

impl Walk<'_> {
    fn of_struct(&mut self, number: usize) -> Option<()> {
        let program = self.program;
        let of = program.structs.get(number)?;
        for step in &of.steps {
            self.step(*step)?;
        }
        if program.flexible {
            self.tags(&of.tags)
        } else {
            Some(())
        }
    }

    fn step(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Pass(width) => self.pass(width),
            Step::Error => self.error(),
            Step::Acks => self.keep(FOUND_ACKS, 2),
            Step::Id => self.id(),
            Step::Text(sized) => self.text(sized),
            Step::Skip(sized) => self.skip(sized),
            Step::Struct(number, nullable) => {
                if nullable && self.is_null()? {
                    Some(())
                } else {
                    self.of_struct(number)
                }
            }
            Step::PassEach(width, nullable) => {
                let count = self.count(nullable)?;
                self.pass(count.checked_mul(width)?)
            }
            Step::IdEach(nullable) => self.each(nullable, |walk| walk.keep(FOUND_ID, ID_BYTES)),
            Step::TextEach(sized, nullable) => self.each(nullable, |walk| walk.text(sized)),
            Step::SkipEach(sized, nullable) => self.each(nullable, |walk| walk.skip(sized)),
            Step::StructEach(number, nullable) => self.each(nullable, |walk| walk.of_struct(number)),
        }
    }

    /// Every element takes a byte at least: more elements than bytes are refused before the first.
    fn each(&mut self, nullable: bool, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let count = self.count(nullable)?;
        if count > self.wire.left() {
            return None;
        }
        for _ in 0..count {
            one(self)?;
        }
        Some(())
    }

    fn pass(&mut self, size: usize) -> Option<()> {
        self.wire.skip(size)
    }

    fn keep(&mut self, kind: u8, width: usize) -> Option<()> {
        let raw = self.wire.take(width)?;
        self.found.push(kind);
        self.found.extend_from_slice(raw);
        Some(())
    }

    fn error(&mut self) -> Option<()> {
        if self.wire.data.get(self.wire.at..)?.starts_with(&[0, 0]) {
            return self.pass(2);
        }
        self.keep(FOUND_ERROR, 2)
    }

    fn id(&mut self) -> Option<()> {
        if self.wire.data.get(self.wire.at..)?.starts_with(&[0; ID_BYTES]) {
            return self.pass(ID_BYTES); // the topic has no id
        }
        self.keep(FOUND_ID, ID_BYTES)
    }

    fn text(&mut self, sized: Sized) -> Option<()> {
        let Some(size) = self.length(sized)? else { return Some(()) };
        self.found.push(FOUND_TOPIC);
        self.found.extend_from_slice(&u32::try_from(size).ok()?.to_be_bytes());
        self.found.extend_from_slice(self.wire.take(size)?);
        Some(())
    }

    fn skip(&mut self, sized: Sized) -> Option<()> {
        match self.length(sized)? {
            Some(size) => self.pass(size),
            None => Some(()),
        }
    }

    fn is_null(&mut self) -> Option<bool> {
        Some(self.wire.byte()? > 127) // a signed byte below 0 (`quirks.is_null_marker`)
    }

    /// Elements of an array, none in one that is null.
    fn count(&mut self, nullable: bool) -> Option<usize> {
        Some(self.length(Sized { short: false, nullable })?.unwrap_or(0))
    }

    /// Some(None) for null.
    fn length(&mut self, sized: Sized) -> Option<Option<usize>> {
        self.wire.length(Form { compact: self.program.flexible, nullable: sized.nullable }, sized.short)
    }

    /// Tags with something wanted in them are Python's.
    fn tags(&mut self, known: &[u32]) -> Option<()> {
        for _ in 0..self.wire.uvarint()? {
            let (tag, size) = (self.wire.uvarint()?, self.wire.uvarint()?);
            if known.contains(&tag) {
                return None;
            }
            self.pass(size as usize)?;
        }
        Some(())
    }
}
