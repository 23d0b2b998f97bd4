//! One way through a body for all who want a few of its fields. What does not fit is left to Python.

use std::ops::Range;

use crate::bodies::plan::{Field, Kind, Layout, Role, Struct};
use crate::bodies::visit::Spot;
use crate::wire::{Form, Wire};

/// Takes what a walk finds.
pub trait Look {
    /// Whether tags that a message knows are Python's, whatever stands in them.
    const LEAVES_TAGS: bool = false;

    /// Whether a field is to be found, for one who asks the same of every layout.
    fn wants(_field: &Field) -> bool {
        false
    }

    /// The value of such a field stands there in the body; of an array, that of an element. None where Python
    /// is to look at it.
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()>;

    /// Such a field is null; not called for an array.
    fn null(&mut self, _what: What) {}

    /// So many elements of such an array come next, or of such a struct that may be null; None for null.
    fn count(&mut self, _what: What, _count: Option<usize>) -> Option<()> {
        Some(())
    }
}

/// Of which field a value is.
#[derive(Clone, Copy)]
pub struct What {
    pub kind: Kind,
    pub role: Role,
    pub is_element: bool,
    /// What `Program::to` was given for it.
    pub slot: usize,
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
    Struct(usize),
    /// One that may be null.
    Maybe(usize, Option<What>),
    Each(Box<Step>, bool, Option<What>),
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
        Program::to::<L>(layout, &|spot| L::wants(spot.field).then_some(0))
    }

    /// To the fields that have a slot. One of an array of structs, or of a struct that may be null, is for `count`.
    pub fn to<L: Look>(layout: &Layout, slot: &dyn Fn(Spot<'_>) -> Option<usize>) -> Program {
        let structs = vec![false; layout.structs.len()];
        let mut wanted = Wanted { layout, slot, leaves_tags: L::LEAVES_TAGS, structs };
        for (number, of) in layout.structs.iter().enumerate().rev() {
            let found = spots(of, number).any(|spot| wanted.is_in(spot));
            wanted.structs[number] = found;
        }
        let structs =
            layout.structs.iter().enumerate().map(|(number, of)| wanted.steps(of, number)).collect();
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
    slot: &'a dyn Fn(Spot<'_>) -> Option<usize>,
    leaves_tags: bool,
    structs: Vec<bool>,
}

impl Wanted<'_> {
    fn is_in(&self, spot: Spot<'_>) -> bool {
        match spot.field.kind {
            Kind::Struct(number) if self.structs.get(number) == Some(&true) => true,
            _ => (self.slot)(spot).is_some(),
        }
    }

    fn steps(&self, of: &Struct, number: usize) -> Steps {
        let mut steps = Vec::new();
        let (tagged, fields): (Vec<_>, Vec<_>) = spots(of, number).partition(|spot| spot.is_tag);
        for spot in fields {
            match (self.step(spot), steps.last_mut()) {
                (Step::Pass(more), Some(Step::Pass(width))) => *width += more,
                (step, _) => steps.push(step),
            }
        }
        let tags = tagged.iter().filter(|spot| self.leaves_tags || self.is_in(**spot));
        Steps { steps: steps.into(), tags: tags.map(|spot| spot.field.tag).collect() }
    }

    fn step(&self, spot: Spot<'_>) -> Step {
        let field = spot.field;
        if !field.is_array {
            return self.one(spot, field.nullable);
        }
        match self.layout.width(field.kind) {
            Some(width) if !self.is_in(spot) => Step::PassEach(width, field.nullable),
            _ => Step::Each(Box::new(self.one(spot, false)), field.nullable, self.what(spot)),
        }
    }

    /// Through a value, or an element.
    fn one(&self, spot: Spot<'_>, nullable: bool) -> Step {
        let kind = spot.field.kind;
        let sized = Sized { is_short: kind == Kind::String, nullable };
        match (kind, self.layout.width(kind), self.what(spot)) {
            (Kind::Struct(number), _, _) if !nullable => Step::Struct(number),
            (Kind::Struct(number), _, what) => Step::Maybe(number, what),
            (_, Some(width), Some(what)) => Step::Fixed(width, what),
            (_, Some(width), None) => Step::Pass(width),
            (_, None, Some(what)) => Step::Sized(sized, what),
            (_, None, None) => Step::Skip(sized),
        }
    }

    fn what(&self, spot: Spot<'_>) -> Option<What> {
        let field = spot.field;
        let slot = (self.slot)(spot)?;
        Some(What { kind: field.kind, role: field.role, is_element: field.is_array, slot })
    }
}

/// All fields of a struct, those that may stand among its tags last.
fn spots(of: &Struct, structure: usize) -> impl Iterator<Item = Spot<'_>> {
    let spot = move |is_tag| move |(index, field)| Spot { field, structure, index, is_tag };
    let tagged = of.tagged.iter().enumerate().map(spot(true));
    of.fields.iter().enumerate().map(spot(false)).chain(tagged)
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
                None => {
                    self.look.null(*what);
                    Some(())
                }
            },
            Step::Struct(number) => self.of_struct(*number),
            Step::Maybe(number, what) => {
                let is_null = self.is_null()?;
                if let Some(what) = what {
                    self.look.count(*what, (!is_null).then_some(1))?;
                }
                if is_null {
                    Some(())
                } else {
                    self.of_struct(*number)
                }
            }
            Step::Each(one, nullable, what) => self.each(one, *nullable, *what),
        }
    }

    /// Every element takes a byte at least: more elements than bytes are refused before the first.
    fn each(&mut self, one: &Step, nullable: bool, what: Option<What>) -> Option<()> {
        let count = self.length(Sized { is_short: false, nullable })?;
        if count.unwrap_or(0) > self.wire.left() {
            return None;
        }
        if let Some(what) = what {
            self.look.count(what, count)?;
        }
        for _ in 0..count.unwrap_or(0) {
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
