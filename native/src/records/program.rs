//! Walks a body to its records fields by a program that `decoders.records.programs` makes of the schema: twin of
//! the functions that `decoders.records.sections` emits, for bodies that fit and are whole.

use std::ops::Range;

/// Loops within one another; a program with more is not taken.
const MAX_DEPTH: usize = 8;

/// One step, as `decoders.records.programs` numbers them.
#[derive(Clone, Copy)]
pub enum Step {
    Skip(usize),
    Text {
        compact: bool,
        nullable: bool,
        wanted: bool,
    },
    Bytes {
        compact: bool,
        nullable: bool,
    },
    Records {
        compact: bool,
        nullable: bool,
    },
    Partition,
    TopicId,
    /// Elements of a fixed width, nothing of which is wanted.
    Pass {
        compact: bool,
        nullable: bool,
        width: usize,
    },
    /// Elements of at least `least` bytes; the loop ends before the step `end`.
    Loop {
        compact: bool,
        nullable: bool,
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
        let (compact, nullable, wanted) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        Some(match kind {
            0 => Step::Skip(first),
            1 => Step::Text { compact, nullable, wanted },
            2 => Step::Bytes { compact, nullable },
            3 => Step::Records { compact, nullable },
            4 => Step::Partition,
            5 => Step::TopicId,
            6 => Step::Pass { compact, nullable, width: first },
            7 => Step::Loop { compact, nullable, least: first.max(1), end: second },
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
    data: &'a [u8],
    at: usize,
    now: Section,
    /// First step of the body, rounds to come.
    loops: [(usize, usize); MAX_DEPTH],
    depth: usize,
}

/// The records fields of the body at `offset`, added to `found`; None where anything does not fit.
pub fn run(program: &[Step], data: &[u8], offset: usize, found: &mut Vec<Section>) -> Option<()> {
    let mut walk = Walk { data, at: offset, now: Section::default(), loops: Default::default(), depth: 0 };
    let mut place = 0;
    while let Some(step) = program.get(place) {
        place = walk.step(*step, place + 1, found)?;
    }
    (walk.at <= data.len()).then_some(())
}

impl Walk<'_> {
    /// Do one step; the number of the next.
    fn step(&mut self, step: Step, next: usize, found: &mut Vec<Section>) -> Option<usize> {
        match step {
            Step::Skip(width) => self.skip(width)?,
            Step::Text { compact, nullable, wanted } => {
                let text = self.content(compact, nullable, true)?;
                if wanted {
                    let place = text?;
                    std::str::from_utf8(self.data.get(place.clone())?).ok()?;
                    self.now.topic = Topic::Wire(place);
                }
            }
            Step::Bytes { compact, nullable } => {
                self.content(compact, nullable, false)?;
            }
            Step::Records { compact, nullable } => {
                if let Some(place) = self.content(compact, nullable, false)? {
                    (self.now.start, self.now.end) = (place.start, place.end);
                    found.push(self.now.clone());
                }
            }
            Step::Partition => self.now.partition = Some(i32::from_be_bytes(self.take()?)),
            Step::TopicId => self.now.topic_id = Some(self.take()?),
            Step::Pass { compact, nullable, width } => {
                let count = self.length(compact, nullable, false)?.unwrap_or(0);
                self.skip(count.checked_mul(width)?)?;
            }
            Step::Loop { compact, nullable, least, end } => {
                return self.begin((compact, nullable), least, (next, end));
            }
            Step::Next => return self.again(next),
            Step::Maybe(behind) => {
                if self.take::<1>()?[0] > 0x7F {
                    return Some(behind);
                }
            }
            Step::Tags => self.tags()?,
        }
        Some(next)
    }

    fn skip(&mut self, width: usize) -> Option<()> {
        self.at = self.at.checked_add(width)?;
        (self.at <= self.data.len()).then_some(())
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let at = self.at;
        self.skip(N)?;
        self.data.get(at..self.at)?.try_into().ok()
    }

    /// An unsigned number of 7 bits a byte (KIP-482), of 32 bits at most.
    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.take::<1>()?[0];
            if shift == 28 && byte > 0x07 {
                return None;
            }
            value |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value as usize);
            }
        }
        None
    }

    /// Length or count of what comes, None for null; texts have two bytes where they are not compact.
    fn length(&mut self, compact: bool, nullable: bool, is_text: bool) -> Option<Option<usize>> {
        let length = if compact {
            self.varint()? as i64 - 1
        } else if is_text {
            i64::from(i16::from_be_bytes(self.take()?))
        } else {
            i64::from(i32::from_be_bytes(self.take()?))
        };
        match length {
            -1 if nullable => Some(None),
            _ => Some(Some(usize::try_from(length).ok()?)),
        }
    }

    fn content(&mut self, compact: bool, nullable: bool, is_text: bool) -> Option<Option<Range<usize>>> {
        let Some(length) = self.length(compact, nullable, is_text)? else {
            return Some(None);
        };
        let start = self.at;
        self.skip(length)?;
        Some(Some(start..self.at))
    }

    fn begin(
        &mut self,
        (compact, nullable): (bool, bool),
        least: usize,
        (next, end): (usize, usize),
    ) -> Option<usize> {
        let count = self.length(compact, nullable, false)?.unwrap_or(0);
        if count.checked_mul(least)? > self.data.len() - self.at {
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
        for _ in 0..self.varint()? {
            self.varint()?;
            let size = self.varint()?;
            self.skip(size)?;
        }
        Some(())
    }
}
