//! One way through every field of a body, for all who show it whole. What does not fit is left to Python.

use pyo3::prelude::*;

use crate::bodies::plan::{Field, Kind, Layout};
use crate::wire::{Form, Wire};

/// Why a body is left to Python.
pub enum Stop {
    Unusual,
    Raised(PyErr),
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Stop::Raised(error)
    }
}

pub type Done<T = ()> = Result<T, Stop>;

pub fn fit<T>(found: Option<T>) -> Done<T> {
    found.ok_or(Stop::Unusual)
}

/// A field of a layout, and where it stands in it: the number of its struct, and its place among the fields or
/// among the tags.
#[derive(Clone, Copy)]
pub struct Spot<'l> {
    pub field: &'l Field,
    pub structure: usize,
    pub index: usize,
    pub is_tag: bool,
}

/// Takes the parts of a body in the order of its bytes. `at` is a position in them.
pub trait Visitor<'a> {
    /// Whether a body in another form than writers give it stops the visit: a varint or a marker that could be
    /// written otherwise, a boolean that is neither 0 nor 1, any tag.
    const CANONICAL: bool = false;

    /// A field begins; its value comes next.
    fn field(&mut self, spot: Spot<'_>, at: usize);
    /// The field, or the element, that began last is over.
    fn end(&mut self, _at: usize) {}
    /// The value is a struct; its fields come next.
    fn structure(&mut self) {}
    fn structure_end(&mut self) {}
    /// The value is an array.
    fn array(&mut self, _count: usize) {}
    /// An element begins; its value comes next.
    fn element(&mut self, _spot: Spot<'_>, _index: usize, _at: usize) {}
    fn array_end(&mut self) {}
    fn null(&mut self, spot: Spot<'_>);
    fn boolean(&mut self, spot: Spot<'_>, value: bool);
    fn number(&mut self, spot: Spot<'_>, value: i64);
    fn uuid(&mut self, spot: Spot<'_>, value: &'a [u8; 16]) -> Done;
    fn text(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done;
    fn bytes(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done;
    /// A records field whose bytes begin at `at`.
    fn records(&mut self, spot: Spot<'_>, at: usize, value: &'a [u8]) -> Done;
    /// Tags of a struct come next; not called where there are none.
    fn tags(&mut self, _at: usize) {}
    /// A tag that the schema knows; its field comes next.
    fn tag(&mut self, _tag: u32, _at: usize) {}
    /// A tag that the schema does not know.
    fn unknown_tag(&mut self, tag: u32, value: &'a [u8], is_first: bool) -> Done;
    /// The tag, or the tags, that began last are over.
    fn tag_end(&mut self, _at: usize) {}
    /// All tags of a struct are over, so many unknown ones among them.
    fn tags_end(&mut self, _unknown: usize, _at: usize) {}
}

/// Show a body that begins at `at` to a visitor; where it ends.
pub fn visit<'a, V: Visitor<'a>>(layout: &Layout, data: &'a [u8], at: usize, visitor: &mut V) -> Done<usize> {
    let mut visit = Visit { layout, wire: Wire { data, at }, visitor };
    visit.structure(0)?;
    Ok(visit.wire.at)
}

struct Visit<'a, 'l, V> {
    layout: &'l Layout,
    wire: Wire<'a>,
    visitor: &'l mut V,
}

impl<'a, 'l, V: Visitor<'a>> Visit<'a, 'l, V> {
    fn structure(&mut self, number: usize) -> Done {
        let layout = self.layout;
        let of = fit(layout.structs.get(number))?;
        self.visitor.structure();
        for (index, field) in of.fields.iter().enumerate() {
            self.field(Spot { field, structure: number, index, is_tag: false })?;
        }
        if layout.flexible {
            let start = self.wire.at;
            let count = fit(self.wire.uvarint())?;
            if count > 0 || self.is_other_form(start) {
                self.tags(count, number, start)?;
            }
        }
        self.visitor.structure_end();
        Ok(())
    }

    fn field(&mut self, spot: Spot<'l>) -> Done {
        self.visitor.field(spot, self.wire.at);
        match spot.field.kind {
            _ if spot.field.is_array => self.array(spot)?,
            Kind::Struct(number) if spot.field.nullable => {
                // Its marker is another in a tag: `tree_decoder._nullable_struct`.
                let is_null = match spot.is_tag {
                    true => fit(self.wire.uvarint())? == 0,
                    false => {
                        let marker = i8::from_be_bytes(fit(self.wire.fixed())?);
                        fit((!V::CANONICAL || matches!(marker, -1 | 1)).then_some(()))?;
                        marker < 0
                    }
                };
                match is_null {
                    true => self.visitor.null(spot),
                    false => self.structure(number)?,
                }
            }
            _ => self.value(spot, spot.field.nullable)?,
        }
        self.visitor.end(self.wire.at);
        Ok(())
    }

    /// A value, or an element of an array.
    fn value(&mut self, spot: Spot<'l>, nullable: bool) -> Done {
        match spot.field.kind {
            Kind::Bool => {
                let value = fit(self.wire.byte())?;
                fit((!V::CANONICAL || value < 2).then_some(()))?;
                self.visitor.boolean(spot, value != 0);
            }
            Kind::Number(kind) => self.visitor.number(spot, fit(kind.read(&mut self.wire))?),
            Kind::Float64 if V::CANONICAL => fit(self.wire.skip(8))?, // no condition asks for it
            Kind::Float64 => return Err(Stop::Unusual),
            Kind::Uuid => {
                let found = fit(self.wire.take(16).and_then(|found| found.first_chunk()))?;
                self.visitor.uuid(spot, found)?;
            }
            Kind::Struct(number) => self.structure(number)?,
            kind => self.sized(spot, kind, nullable)?,
        }
        Ok(())
    }

    /// A text, bytes or records, behind their length.
    fn sized(&mut self, spot: Spot<'l>, kind: Kind, nullable: bool) -> Done {
        let Some(length) = self.length(nullable, kind == Kind::String)? else {
            self.visitor.null(spot);
            return Ok(());
        };
        let start = self.wire.at;
        let found = fit(self.wire.take(length))?;
        match kind {
            Kind::String => self.visitor.text(spot, found),
            Kind::Records => self.visitor.records(spot, start, found),
            _ => self.visitor.bytes(spot, found),
        }
    }

    /// Some(None) for null.
    fn length(&mut self, nullable: bool, is_short: bool) -> Done<Option<usize>> {
        let start = self.wire.at;
        let form = Form { compact: self.layout.flexible, nullable };
        let found = fit(self.wire.length(form, is_short))?;
        fit((!form.compact || !self.is_other_form(start)).then_some(found))
    }

    /// Whether a varint that begins there, and was read, is longer than need be, where that matters.
    fn is_other_form(&self, start: usize) -> bool {
        let read = self.wire.data.get(start..self.wire.at).unwrap_or_default();
        V::CANONICAL && matches!(read, [_, .., 0])
    }

    fn array(&mut self, spot: Spot<'l>) -> Done {
        let Some(count) = self.length(spot.field.nullable, false)? else {
            self.visitor.null(spot);
            return Ok(());
        };
        if count > self.wire.left() / self.layout.least_element(spot.field.kind) {
            return Err(Stop::Unusual);
        }
        self.visitor.array(count);
        for index in 0..count {
            self.visitor.element(spot, index, self.wire.at);
            self.value(spot, false)?;
            self.visitor.end(self.wire.at);
        }
        self.visitor.array_end();
        Ok(())
    }

    /// The tags at the end of a struct, which stand in ascending order (KIP-482); those that the schema does not
    /// know behind the others.
    fn tags(&mut self, count: u32, structure: usize, start: usize) -> Done {
        fit((!V::CANONICAL).then_some(()))?;
        let layout = self.layout;
        let known = &fit(layout.structs.get(structure))?.tagged;
        let mut least = 0;
        let mut unknown = 0;
        self.visitor.tags(start);
        for _ in 0..count {
            let at = self.wire.at;
            let (tag, size) = (fit(self.wire.uvarint())?, fit(self.wire.uvarint())? as usize);
            if u64::from(tag) < least {
                return Err(Stop::Unusual);
            }
            least = u64::from(tag) + 1;
            let stop = self.wire.at.saturating_add(size);
            match known.iter().enumerate().find(|(_, field)| field.tag == tag) {
                Some((index, field)) if unknown == 0 => {
                    self.visitor.tag(tag, at);
                    self.field(Spot { field, structure, index, is_tag: true })?;
                    fit((self.wire.at == stop).then_some(()))?;
                    self.visitor.tag_end(stop);
                }
                Some(_) => return Err(Stop::Unusual),
                None => {
                    self.visitor.unknown_tag(tag, fit(self.wire.take(size))?, unknown == 0)?;
                    unknown += 1;
                }
            }
        }
        self.visitor.tags_end(unknown, self.wire.at);
        Ok(())
    }
}
