//! The group member that sent a request: fields of its root.

use std::ops::Range;

use crate::bodies::plan::{Kind, Layout};
use crate::bodies::visitor::{Look, Program, What};

/// The way to the ids of the group and the member, and to the generation.
pub struct Members(Program);

/// The values of the fields; None for null, or for a field that the version lacks.
pub struct Member<'a> {
    pub group: Option<&'a str>,
    pub member: Option<&'a str>,
    pub generation: Option<i64>,
}

impl Members {
    /// By the names of the fields.
    pub fn of(layout: &Layout, names: &[String; 3]) -> Members {
        let slot = |part: What| {
            let is_root = part.structure == 0 && !part.is_tag;
            names.iter().position(|name| is_root && part.name() == name.as_str())
        };
        Members(Program::to(layout, &slot))
    }

    /// Of the body at `offset`; None where it does not fit, or an id is no text.
    pub fn read<'a>(&self, data: &'a [u8], offset: usize) -> Option<Member<'a>> {
        let mut reading = Reading::default();
        if self.0.walk(data, offset, &mut reading)? != data.len() {
            return None;
        }
        let text = |place: Option<Range<usize>>| match place {
            Some(place) => Some(Some(std::str::from_utf8(data.get(place)?).ok()?)),
            None => Some(None),
        };
        let [group, member] = reading.texts;
        Some(Member { group: text(group)?, member: text(member)?, generation: reading.generation })
    }
}

#[derive(Default)]
struct Reading {
    texts: [Option<Range<usize>>; 2],
    generation: Option<i64>,
}

impl Look for Reading {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        match what.kind {
            Kind::Number(number) => self.generation = Some(number.of(data.get(place)?)?),
            _ => *self.texts.get_mut(what.slot?)? = Some(place),
        }
        Some(())
    }
}
