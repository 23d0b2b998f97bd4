//! Walks a body to its records fields by a program that `decoders.records.programs` makes of the schema: twin of
//! the functions that `decoders.records.sections` emits, for bodies that fit and are whole.

use std::ops::Range;

use crate::wire::{Form, Wire};

/// Loops within one another; a program with more is not taken.
const MAX_DEPTH: usize = 8;

/// One step, as `decoders.records.programs` numbers them.
#[derive(Clone, Copy)]
pub enum Step {
    Skip(usize),
    /// A text, and whether it is wanted.
    Text(Form, bool),
    Bytes(Form),
    Records(Form),
    Partition,
    TopicId,
    /// Elements of a fixed width, nothing of which is wanted.
    Pass(Form, usize),
    /// Elements of at least `least` bytes; the loop ends before the step `end`.
    Loop {
        form: Form,
        least: usize,
        end: usize,
    },
    Next,
    /// What follows up to the step of this number is there unless a marker says null.
    Maybe(usize),
    Tags,
}

impl Step {
    /// A step as Python has it: kind, flags (1 compact, 2 nullable, 4 wanted), two numbers.
    pub fn of((kind, flags, first, second): (u8, u8, usize, usize)) -> Option<Step> {
        let form = Form { compact: flags & 1 != 0, nullable: flags & 2 != 0 };
        Some(match kind {
            0 => Step::Skip(first),
            1 => Step::Text(form, flags & 4 != 0),
            2 => Step::Bytes(form),
            3 => Step::Records(form),
            4 => Step::Partition,
            5 => Step::TopicId,
            6 => Step::Pass(form, first),
            7 => Step::Loop { form, least: first.max(1), end: second },
            8 => Step::Next,
            9 => Step::Maybe(first),
            10 => Step::Tags,
            _ => return None,
        })
    }
}

/// The name of a topic: in the frame, told by Python, or not on the wire.
#[derive(Clone, Default)]
pub enum Topic {
    #[default]
    None,
    Wire(Range<usize>),
    Told(Box<[u8]>),
}

/// A records field that is not null: `decoders.records.sections.Section`, places in the frame.
#[derive(Clone, Default)]
pub struct Section {
    pub topic: Topic,
    pub topic_id: Option<[u8; 16]>,
    pub partition: Option<i32>,
    pub start: usize,
    pub end: usize,
}

/// Goes over one body.
struct Walk<'a> {
    wire: Wire<'a>,
    now: Section,
    /// First step of the body, rounds to come.
    loops: [(usize, usize); MAX_DEPTH],
    depth: usize,
}

/// The records fields of the body at `offset`, added to `found`; None where anything does not fit.
pub fn run(program: &[Step], data: &[u8], offset: usize, found: &mut Vec<Section>) -> Option<()> {
    let mut walk = Walk {
        wire: Wire { data, at: offset },
        now: Section::default(),
        loops: Default::default(),
        depth: 0,
    };
    let mut place = 0;
    while let Some(step) = program.get(place) {
        place = walk.step(*step, place + 1, found)?;
    }
    (walk.wire.at <= data.len()).then_some(())
}

impl Walk<'_> {
    /// Do one step; the number of the next.
    fn step(&mut self, step: Step, next: usize, found: &mut Vec<Section>) -> Option<usize> {
        match step {
            Step::Skip(width) => self.wire.skip(width)?,
            Step::Text(form, wanted) => {
                let text = self.content(form, true)?;
                if wanted {
                    let place = text?;
                    std::str::from_utf8(self.wire.data.get(place.clone())?).ok()?;
                    self.now.topic = Topic::Wire(place);
                }
            }
            Step::Bytes(form) => {
                self.content(form, false)?;
            }
            Step::Records(form) => {
                if let Some(place) = self.content(form, false)? {
                    (self.now.start, self.now.end) = (place.start, place.end);
                    found.push(self.now.clone());
                }
            }
            Step::Partition => self.now.partition = Some(i32::from_be_bytes(self.wire.fixed()?)),
            Step::TopicId => self.now.topic_id = Some(self.wire.fixed()?),
            Step::Pass(form, width) => {
                let count = self.wire.length(form, false)?.unwrap_or(0);
                self.wire.skip(count.checked_mul(width)?)?;
            }
            Step::Loop { form, least, end } => return self.begin(form, least, (next, end)),
            Step::Next => return self.again(next),
            Step::Maybe(behind) => {
                if self.wire.byte()? > 0x7F {
                    return Some(behind);
                }
            }
            Step::Tags => self.tags()?,
        }
        Some(next)
    }

    fn content(&mut self, form: Form, is_text: bool) -> Option<Option<Range<usize>>> {
        let Some(length) = self.wire.length(form, is_text)? else { return Some(None) };
        let start = self.wire.at;
        self.wire.skip(length)?;
        Some(Some(start..self.wire.at))
    }

    fn begin(&mut self, form: Form, least: usize, (next, end): (usize, usize)) -> Option<usize> {
        let count = self.wire.length(form, false)?.unwrap_or(0);
        if count.checked_mul(least)? > self.wire.left() {
            return None;
        }
        if count == 0 {
            return Some(end);
        }
        *self.loops.get_mut(self.depth)? = (next, count);
        self.depth += 1;
        Some(next)
    }

    /// The end of a loop's body: once more, or on.
    fn again(&mut self, next: usize) -> Option<usize> {
        let (begin, left) = self.loops.get_mut(self.depth.checked_sub(1)?)?;
        *left -= 1;
        if *left > 0 {
            return Some(*begin);
        }
        self.depth -= 1;
        Some(next)
    }

    /// Tagged fields, none of which is wanted (KIP-482).
    fn tags(&mut self) -> Option<()> {
        for _ in 0..self.unsigned()? {
            self.unsigned()?;
            let size = self.unsigned()?;
            self.wire.skip(size as usize)?;
        }
        Some(())
    }

    /// A varint of 31 bits, which is all that tags and their sizes may have.
    fn unsigned(&mut self) -> Option<u32> {
        self.wire.uvarint().filter(|value| i32::try_from(*value).is_ok())
    }
}
