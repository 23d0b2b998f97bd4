//! One way through a body for all who want a few of its fields. What does not fit is left to Python.

use std::ops::Range;

use crate::bodies::plan::{Field, Kind, Layout, Role, Struct};
use crate::wire::{Form, Wire};

/// Takes what a walk finds.
pub trait Look {
    /// Whether tags that a message knows are Python's, whatever stands in them.
    const LEAVES_TAGS: bool = false;

    /// Whether a field is to be found.
    fn wants(field: &Field) -> bool;

    /// The value of such a field stands there in the body; of an array, that of an element. None where Python
    /// is to look at it.
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()>;
}

/// Of which field a value is.
#[derive(Clone, Copy)]
pub struct What {
    pub kind: Kind,
    pub role: Role,
    pub is_element: bool,
}

/// A text, or bytes, behind its length.
#[derive(Clone, Copy)]
struct Sized {
    is_short: bool,
    nullable: bool,
}

enum Step {
    Pass(usize),
    PassEach(usize, bool),
    Skip(Sized),
    Fixed(usize, What),
    Sized(Sized, What),
    Struct(usize, bool),
    Each(Box<Step>, bool),
}

struct Steps {
    steps: Box<[Step]>,
    /// Tags that are Python's.
    tags: Box<[u32]>,
}

/// The way through the bodies of one version of a message.
pub struct Program {
    flexible: bool,
    structs: Box<[Steps]>,
}

impl Program {
    /// To all that `L` wants.
    pub fn of<L: Look>(layout: &Layout) -> Program {
        let structs = vec![false; layout.structs.len()];
        let mut wanted = Wanted { layout, wants: L::wants, leaves_tags: L::LEAVES_TAGS, structs };
        for (number, of) in layout.structs.iter().enumerate().rev() {
            let found = of.fields.iter().chain(&of.tagged).any(|field| wanted.is_in(field));
            wanted.structs[number] = found;
        }
        let structs = layout.structs.iter().map(|of| wanted.steps(of)).collect();
        Program { flexible: layout.flexible, structs }
    }

    /// Look at the body at `offset` of `data`; where it ends. None where it does not fit.
    pub fn walk<L: Look>(&self, data: &[u8], offset: usize, look: &mut L) -> Option<usize> {
        let mut walk = Walk { program: self, wire: Wire { data, at: offset }, look };
        walk.of_struct(0)?;
        (walk.wire.at <= data.len()).then_some(walk.wire.at)
    }
}

/// What is wanted of a message: which fields, and which structs for something in them.
struct Wanted<'a> {
    layout: &'a Layout,
    wants: fn(&Field) -> bool,
    leaves_tags: bool,
    structs: Vec<bool>,
}

impl Wanted<'_> {
    fn is_in(&self, field: &Field) -> bool {
        match field.kind {
            Kind::Struct(number) => self.structs.get(number) == Some(&true),
            _ => (self.wants)(field),
        }
    }

    fn steps(&self, of: &Struct) -> Steps {
        let mut steps = Vec::new();
        for field in &of.fields {
            match (self.step(field), steps.last_mut()) {
                (Step::Pass(more), Some(Step::Pass(width))) => *width += more,
                (step, _) => steps.push(step),
            }
        }
        let tags =
            of.tagged.iter().filter(|field| self.leaves_tags || self.is_in(field)).map(|field| field.tag);
        Steps { steps: steps.into(), tags: tags.collect() }
    }

    fn step(&self, field: &Field) -> Step {
        if !field.is_array {
            return self.one(field, field.nullable);
        }
        match self.layout.width(field.kind) {
            Some(width) if !self.is_in(field) => Step::PassEach(width, field.nullable),
            _ => Step::Each(Box::new(self.one(field, false)), field.nullable),
        }
    }

    /// Through a value, or an element.
    fn one(&self, field: &Field, nullable: bool) -> Step {
        let what = What { kind: field.kind, role: field.role, is_element: field.is_array };
        let sized = Sized { is_short: field.kind == Kind::String, nullable };
        match (field.kind, self.layout.width(field.kind), self.is_in(field)) {
            (Kind::Struct(number), _, _) => Step::Struct(number, nullable),
            (_, Some(width), true) => Step::Fixed(width, what),
            (_, Some(width), false) => Step::Pass(width),
            (_, None, true) => Step::Sized(sized, what),
            (_, None, false) => Step::Skip(sized),
        }
    }
}

struct Walk<'a, L> {
    program: &'a Program,
    wire: Wire<'a>,
    look: &'a mut L,
}

impl<L: Look> Walk<'_, L> {
    fn of_struct(&mut self, number: usize) -> Option<()> {
        let program = self.program;
        let of = program.structs.get(number)?;
        for step in &of.steps {
            self.step(step)?;
        }
        if program.flexible {
            self.tags(&of.tags)
        } else {
            Some(())
        }
    }

    fn step(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Pass(width) => self.wire.skip(*width),
            Step::PassEach(width, nullable) => {
                let count = self.count(*nullable)?;
                self.wire.skip(count.checked_mul(*width)?)
            }
            Step::Skip(sized) => match self.length(*sized)? {
                Some(size) => self.wire.skip(size),
                None => Some(()),
            },
            Step::Fixed(width, what) => self.see(*width, *what),
            Step::Sized(sized, what) => match self.length(*sized)? {
                Some(size) => self.see(size, *what),
                None => Some(()),
            },
            Step::Struct(number, nullable) => {
                if *nullable && self.is_null()? {
                    return Some(());
                }
                self.of_struct(*number)
            }
            Step::Each(one, nullable) => self.each(one, *nullable),
        }
    }

    /// Every element takes a byte at least: more elements than bytes are refused before the first.
    fn each(&mut self, one: &Step, nullable: bool) -> Option<()> {
        let count = self.count(nullable)?;
        if count > self.wire.left() {
            return None;
        }
        for _ in 0..count {
            self.step(one)?;
        }
        Some(())
    }

    fn see(&mut self, size: usize, what: What) -> Option<()> {
        let start = self.wire.at;
        self.wire.skip(size)?;
        self.look.see(self.wire.data, start..self.wire.at, what)
    }

    fn is_null(&mut self) -> Option<bool> {
        Some(self.wire.byte()? > 127) // a signed byte below 0 (`quirks.is_null_marker`)
    }

    /// Elements of an array, none in one that is null.
    fn count(&mut self, nullable: bool) -> Option<usize> {
        Some(self.length(Sized { is_short: false, nullable })?.unwrap_or(0))
    }

    /// Some(None) for null.
    fn length(&mut self, sized: Sized) -> Option<Option<usize>> {
        self.wire.length(Form { compact: self.program.flexible, nullable: sized.nullable }, sized.is_short)
    }

    fn tags(&mut self, wanted: &[u32]) -> Option<()> {
        for _ in 0..self.wire.uvarint()? {
            let (tag, size) = (self.wire.uvarint()?, self.wire.uvarint()?);
            if wanted.contains(&tag) {
                return None;
            }
            self.wire.skip(size as usize)?;
        }
        Some(())
    }
}
