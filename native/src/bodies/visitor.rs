//! One way through a body: for who shows all of it, and for who wants a few of its fields. What does not fit is
//! left to Python.

use std::ops::{Deref, Range};

use crate::bodies::plan::{Field, Kind, Layout, Struct};
use crate::wire::{Form, Wire};

/// Takes what a walk finds, in the order of the bytes. Fields that it does not want are passed
/// over; `at` is a position in the bytes. A method that returns None leaves the body to Python.
pub trait Look {
    /// Whether a body in another form than writers give it is left to Python: a length or the mark of a struct that
    /// could be written otherwise, a tag that the schema does not know or that holds its default.
    const CANONICAL: bool = false;

    /// Whether the value of a field is wanted, for a reader with one rule for every layout.
    fn wants(_field: &Field) -> bool {
        false
    }

    /// The value of such a field is there in the body; for an array, an element's value.
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()>;
    /// It is null. Not called for an array or a struct.
    fn null(&mut self, _what: What) {}
    /// This number of elements of such an array comes next, or of such a struct that may be null;
    /// None for null.
    fn count(&mut self, _what: What, _count: Option<usize>) -> Option<()> {
        Some(())
    }
    /// A field begins, and its value comes next.
    fn field(&mut self, _what: What, _at: usize) {}
    /// An element of the array begins, and its value comes next.
    fn element(&mut self, _what: What, _index: usize, _at: usize) {}
    /// The field, or the element, that began last is over.
    fn end(&mut self, _at: usize) {}
    /// The value is a struct, by its number, and its fields come next.
    fn structure(&mut self, _number: usize) -> Option<()> {
        Some(())
    }
    /// The root is of no field.
    fn structure_end(&mut self, _what: Option<What>) -> Option<()> {
        Some(())
    }
    /// The elements of an array are over.
    fn array_end(&mut self, _what: What) -> Option<()> {
        Some(())
    }
    /// Tags of a struct come next. Not called without tags.
    fn tags(&mut self, _at: usize) {}
    /// A tag that the schema knows, whose field comes next.
    fn tag(&mut self, _tag: u32, _at: usize) -> Option<()> {
        Some(())
    }
    /// A tag that the schema does not know.
    fn unknown_tag(&mut self, _tag: u32, _value: &[u8], _is_first: bool) -> Option<()> {
        Some(())
    }
    /// The tag is over.
    fn tag_end(&mut self, _at: usize) {}
    /// All tags of a struct are over, including this number of unknown ones.
    fn tags_end(&mut self, _unknown: usize, _at: usize) {}
}

/// Of which field a value is.
pub type What<'p> = &'p Part;

/// A field and its position in its layout: the number of its struct, its index among the fields or
/// the tags.
pub struct Part {
    field: Field,
    pub structure: usize,
    pub index: usize,
    pub is_tag: bool,
    /// The slot from `Program::to`.
    pub slot: Option<usize>,
}

impl Deref for Part {
    type Target = Field;

    fn deref(&self) -> &Field {
        &self.field
    }
}

enum Step {
    Pass(usize),
    PassEach(usize, bool),
    One(Value),
    /// With the fewest bytes of an element.
    Each(Value, usize),
}

struct Value {
    part: Part,
    read: Read,
}

enum Read {
    Pass(usize),
    Fixed(usize),
    /// A text, or bytes, after its length: whether the length is a short one.
    Sized(bool),
    Struct(usize),
}

struct Steps {
    steps: Box<[Step]>,
    tagged: Box<[Step]>,
    /// The tags of these steps, and the bytes of their defaults.
    tags: Box<[u32]>,
    defaults: Box<[Box<[u8]>]>,
}

/// The steps through one message version's bodies.
pub struct Program {
    flexible: bool,
    structs: Box<[Steps]>,
}

impl Program {
    /// To all that `L` wants.
    pub fn of<L: Look>(layout: &Layout) -> Program {
        Program::to(layout, &|part| L::wants(part).then_some(0))
    }

    /// To the fields that have a slot. That of an array, or of a struct that may be null, is for `count`, too.
    pub fn to(layout: &Layout, slot: &dyn Fn(What) -> Option<usize>) -> Program {
        let mut wanted = Wanted { layout, slot, structs: vec![false; layout.structs.len()] };
        let mut structs: Vec<Steps> = Vec::with_capacity(layout.structs.len());
        for (number, of) in layout.structs.iter().enumerate().rev() {
            let (steps, is_wanted) = wanted.steps(number, of);
            wanted.structs[number] = is_wanted;
            structs.push(steps);
        }
        structs.reverse();
        Program { flexible: layout.flexible, structs: structs.into() }
    }

    /// Look at the body at `offset` of `data`; where it ends. None where it does not fit.
    pub fn walk<L: Look>(&self, data: &[u8], offset: usize, look: &mut L) -> Option<usize> {
        let mut walk = Walk { program: self, wire: Wire { data, at: offset }, look };
        walk.of_struct(0)?;
        walk.look.structure_end(None)?;
        (walk.wire.at <= data.len()).then_some(walk.wire.at)
    }
}

/// The wanted parts of a message: fields, and structs that contain such fields.
struct Wanted<'a> {
    layout: &'a Layout,
    slot: &'a dyn Fn(What) -> Option<usize>,
    structs: Vec<bool>,
}

impl Wanted<'_> {
    /// The steps of a struct, and whether one of them is to something wanted.
    fn steps(&self, structure: usize, of: &Struct) -> (Steps, bool) {
        let mut steps = Vec::new();
        let (fields, mut is_wanted) = self.parts(structure, &of.fields, false);
        let (tagged, is_in_tag) = self.parts(structure, &of.tagged, true);
        is_wanted |= is_in_tag;
        for part in fields {
            match (self.step(part), steps.last_mut()) {
                (Step::Pass(more), Some(Step::Pass(width))) => *width += more,
                (step, _) => steps.push(step),
            }
        }
        let tags = of.tagged.iter().map(|field| field.tag).collect();
        let defaults = of.tagged.iter().map(|field| field.default.clone()).collect();
        let tagged = tagged.into_iter().map(|part| self.step(part)).collect();
        (Steps { steps: steps.into(), tagged, tags, defaults }, is_wanted)
    }

    /// The fields with their slots, and whether one is wanted.
    fn parts(&self, structure: usize, fields: &[Field], is_tag: bool) -> (Vec<Part>, bool) {
        let fields = fields.iter().cloned().enumerate();
        let mut parts: Vec<Part> =
            fields.map(|(index, field)| Part { field, structure, index, is_tag, slot: None }).collect();
        for part in &mut parts {
            part.slot = (self.slot)(part);
        }
        let is_wanted = parts.iter().any(|part| self.is_in(part));
        (parts, is_wanted)
    }

    fn is_in(&self, part: What) -> bool {
        part.slot.is_some()
            || matches!(part.kind, Kind::Struct(number) if self.structs.get(number) == Some(&true))
    }

    fn step(&self, part: Part) -> Step {
        match (self.read(&part), part.is_array) {
            (Read::Pass(width), true) => Step::PassEach(width, part.nullable),
            (Read::Pass(width), false) => Step::Pass(width),
            (read, true) => {
                let least = self.layout.least_element(part.kind);
                Step::Each(Value { part, read }, least)
            }
            (read, false) => Step::One(Value { part, read }),
        }
    }

    fn read(&self, part: What) -> Read {
        let is_marked = part.nullable && !part.is_array;
        match (part.kind, self.layout.width(part.kind), self.is_in(part)) {
            (Kind::Struct(_), Some(width), false) if !is_marked => Read::Pass(width),
            (Kind::Struct(number), _, _) => Read::Struct(number),
            (_, Some(width), true) => Read::Fixed(width),
            (_, Some(width), false) => Read::Pass(width),
            (kind, None, _) => Read::Sized(kind == Kind::String),
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
        self.look.structure(number)?;
        for step in &of.steps {
            self.step(step)?;
        }
        if program.flexible {
            let start = self.wire.at;
            let count = self.uvarint()?;
            if count > 0 {
                self.tags(count, of, start)?;
            }
        }
        Some(())
    }

    #[inline(always)]
    fn step(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Pass(width) => self.wire.skip(*width),
            Step::PassEach(width, nullable) => {
                let count = self.length(*nullable, false)?.unwrap_or(0);
                self.wire.skip(count.checked_mul(*width)?)
            }
            Step::One(value) => {
                self.look.field(&value.part, self.wire.at);
                self.value(value, value.part.nullable)?;
                self.look.end(self.wire.at);
                Some(())
            }
            Step::Each(value, least) => {
                self.look.field(&value.part, self.wire.at);
                self.each(value, *least)?;
                self.look.end(self.wire.at);
                Some(())
            }
        }
    }

    fn each(&mut self, value: &Value, least: usize) -> Option<()> {
        let found = self.length(value.part.nullable, false)?;
        let count = found.unwrap_or(0);
        if count.checked_mul(least)? > self.wire.left() {
            return None; // before the first
        }
        self.count(&value.part, found)?;
        if found.is_none() {
            return Some(());
        }
        for index in 0..count {
            self.look.element(&value.part, index, self.wire.at);
            self.value(value, false)?;
            self.look.end(self.wire.at);
        }
        self.look.array_end(&value.part)
    }

    /// A value, or an element of an array.
    #[inline(always)] // hot, as are those that are called here
    fn value(&mut self, value: &Value, nullable: bool) -> Option<()> {
        match value.read {
            Read::Pass(width) => self.wire.skip(width),
            Read::Fixed(width) => self.see(width, &value.part),
            Read::Sized(is_short) => match (self.length(nullable, is_short)?, value.part.slot) {
                (Some(size), Some(_)) => self.see(size, &value.part),
                (Some(size), None) => self.wire.skip(size),
                (None, Some(_)) => {
                    self.look.null(&value.part);
                    Some(())
                }
                (None, None) => Some(()),
            },
            Read::Struct(number) => {
                if nullable {
                    let is_null = self.is_null(value.part.is_tag)?;
                    self.count(&value.part, (!is_null).then_some(1))?;
                    if is_null {
                        return Some(());
                    }
                }
                self.of_struct(number)?;
                self.look.structure_end(Some(&value.part))
            }
        }
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        match what.slot {
            Some(_) => self.look.count(what, count),
            None => Some(()),
        }
    }

    #[inline(always)]
    fn see(&mut self, size: usize, what: What) -> Option<()> {
        let start = self.wire.at;
        self.wire.skip(size)?;
        self.look.see(self.wire.data, start..self.wire.at, what)
    }

    /// The marker before a struct, which differs in a tag: `tree_decoder._nullable_struct`.
    fn is_null(&mut self, is_tag: bool) -> Option<bool> {
        if is_tag {
            let mark = self.uvarint()?;
            return (!L::CANONICAL || mark <= 1).then_some(mark == 0);
        }
        let mark = self.wire.byte()?;
        (!L::CANONICAL || matches!(mark, 1 | 255)).then_some(mark > 127) // a signed byte below 0
    }

    /// Some(None) for null.
    fn length(&mut self, nullable: bool, is_short: bool) -> Option<Option<usize>> {
        let (start, compact) = (self.wire.at, self.program.flexible);
        let found = self.wire.length(Form { compact, nullable }, is_short)?;
        self.fits_form(start, compact)?;
        Some(found)
    }

    fn uvarint(&mut self) -> Option<u32> {
        let start = self.wire.at;
        let found = self.wire.uvarint()?;
        self.fits_form(start, true)?;
        Some(found)
    }

    /// None for a varint that could be shorter, where that matters.
    fn fits_form(&self, start: usize, is_varint: bool) -> Option<()> {
        let is_longer =
            L::CANONICAL && is_varint && matches!(self.wire.data.get(start..self.wire.at)?, [_, .., 0]);
        (!is_longer).then_some(())
    }

    /// The tags at the end of a struct, in ascending order (KIP-482), with unknown tags after the
    /// known ones.
    fn tags(&mut self, count: u32, of: &Steps, start: usize) -> Option<()> {
        let (mut least, mut unknown) = (0, 0);
        self.look.tags(start);
        for _ in 0..count {
            let at = self.wire.at;
            let (tag, size) = (self.uvarint()?, self.uvarint()? as usize);
            if u64::from(tag) < least {
                return None;
            }
            least = u64::from(tag) + 1;
            let start = self.wire.at;
            let stop = start.checked_add(size)?;
            match of.tags.iter().position(|known| *known == tag) {
                Some(index) if unknown == 0 => {
                    self.look.tag(tag, at)?;
                    self.step(of.tagged.get(index)?)?;
                    (self.wire.at == stop).then_some(())?;
                    let is_default =
                        || self.wire.data.get(start..stop) == of.defaults.get(index).map(|of| &of[..]);
                    (!L::CANONICAL || !is_default()).then_some(())?;
                    self.look.tag_end(stop);
                }
                Some(_) => return None,
                None if L::CANONICAL => return None,
                None => {
                    let value = self.wire.take(size)?;
                    self.look.unknown_tag(tag, value, unknown == 0)?;
                    unknown += 1;
                }
            }
        }
        self.look.tags_end(unknown, self.wire.at);
        Some(())
    }
}
