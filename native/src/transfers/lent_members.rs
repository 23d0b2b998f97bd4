//! Members of classic groups, while requests without facts to report pass: native-owned until
//! Python reads them (`history.groups.lent_members`).

use pyo3::prelude::*;

use super::connections::{is_answered_before, Answer};
use super::topics::ByKey;
use crate::bodies::summaries::Mixed;
use crate::engine::completed::{Row, Span};
use crate::judging::members::Member;
use crate::records::quick::QuickMap;

/// `history.api_keys` OFFSET_COMMIT, and the generation of a commit outside any group.
const OFFSET_COMMIT: i16 = 8;
const NO_GENERATION: i64 = -1;
const NEVER_NS: i64 = i64::MIN;
const NS_IN_MS: i128 = 1_000_000;

/// A member, with the fields that decide whether there are facts to report
/// (`classic_group.ClassicMember`).
struct Lent {
    number: u32,
    generation: Option<i64>,
    /// The response with its generation.
    joined_by: Option<Answer>,
    /// Whether it was asked to join again.
    is_notified: bool,
    session_timeout_ms: i64,
    last_ns: i64,
    touched: u64,
}

/// Its number, its generation, and the response that named it, whether it was asked to join again,
/// session timeout, and the time of its last message.
type MemberRow = (u32, Option<i64>, Option<Answer>, bool, i64, i64);

/// The number of an entry, and the time of its last use.
struct Used {
    number: u32,
    touched: u64,
}

/// The places of a group and its member, None if unknown.
type Place = (Option<usize>, Option<usize>);

/// Answered connections, groups, and members with the time of their last message. Each in the order
/// of last use.
type Taken = (Vec<u32>, Vec<u32>, Vec<(u32, i64)>);

#[pyclass(module = "kdissect._native")]
pub struct LentMembers {
    number_of: Py<PyAny>,
    member_of: Py<PyAny>,
    connections: QuickMap<usize, usize>,
    answered: Vec<Used>,
    /// By connection, group and member.
    places: Mixed<Box<[u8]>, Place>,
    groups: ByKey<u32, Used>,
    members: ByKey<u32, Lent>,
    key: Vec<u8>,
    touches: u64,
}

#[pymethods]
impl LentMembers {
    /// `number_of` returns the number of a connection. `member_of(connection, group, member)`
    /// returns the number of the group and the member, None if unknown.
    #[new]
    fn new(number_of: Py<PyAny>, member_of: Py<PyAny>) -> Self {
        LentMembers {
            number_of,
            member_of,
            connections: QuickMap::default(),
            answered: Vec::new(),
            places: Mixed::default(),
            groups: ByKey::default(),
            members: ByKey::default(),
            key: Vec::new(),
            touches: 0,
        }
    }

    fn __len__(&self) -> usize {
        self.answered.len() + self.places.len() + self.members.found.len()
    }

    /// Return and forget everything that passed.
    fn take(&mut self) -> Taken {
        self.connections.clear();
        self.places.clear();
        let mut members = self.members.take();
        members.retain(|member| member.touched > 0);
        members.sort_unstable_by_key(|member| member.touched);
        (
            in_order(std::mem::take(&mut self.answered)),
            in_order(self.groups.take()),
            members.into_iter().map(|member| (member.number, member.last_ns)).collect(),
        )
    }
}

impl LentMembers {
    /// Take a Heartbeat that was answered without an error, or an answered OffsetCommit, as
    /// `ClassicGroups.feed` would, and return True if it has no facts to report. Otherwise nothing
    /// changes.
    pub fn take_next(&mut self, info: &Bound<'_, PyAny>, row: &Row, who: &Member<'_>) -> PyResult<bool> {
        let Some(group_id) = who.group else { return Ok(false) };
        let connection = self.number(info)?;
        let (group, member) = self.place(info.py(), connection, group_id, who.member.unwrap_or_default())?;
        let is_commit = row.request.kind.api_key == OFFSET_COMMIT;
        let generation = who.generation.filter(|number| !is_commit || *number != NO_GENERATION);
        // A commit outside any generation does not come from a member.
        let member = member.filter(|_| !is_commit || generation.is_some());
        let asked = &row.request.content.span;
        let sent_ns = asked.first_time;
        match member.and_then(|place| self.members.found.get(place)) {
            None if !is_commit => return Ok(false),
            Some(member) if !member.passes(is_commit, generation, asked) => return Ok(false),
            _ => {}
        }
        self.touches += 1;
        if let Some(used) = self.answered.get_mut(connection) {
            used.touched = self.touches;
        }
        if let Some(group) = group.and_then(|place| self.groups.found.get_mut(place)) {
            group.touched = self.touches;
        }
        if let Some(member) = member.and_then(|place| self.members.found.get_mut(place)) {
            member.last_ns = member.last_ns.max(sent_ns);
            member.touched = self.touches;
        }
        Ok(true)
    }

    fn number(&mut self, info: &Bound<'_, PyAny>) -> PyResult<usize> {
        let address = info.as_ptr() as usize;
        if let Some(place) = self.connections.get(&address) {
            return Ok(*place);
        }
        let number = self.number_of.bind(info.py()).call1((info,))?.extract()?;
        let place = self.answered.len();
        self.answered.push(Used { number, touched: 0 });
        self.connections.insert(address, place);
        Ok(place)
    }

    fn place(
        &mut self,
        py: Python<'_>,
        connection: usize,
        group_id: &str,
        member_id: &str,
    ) -> PyResult<Place> {
        self.key.clear();
        self.key.extend_from_slice(&connection.to_le_bytes());
        self.key.extend_from_slice(&group_id.len().to_le_bytes());
        self.key.extend_from_slice(group_id.as_bytes());
        self.key.extend_from_slice(member_id.as_bytes());
        if let Some(place) = self.places.get(self.key.as_slice()) {
            return Ok(*place);
        }
        let number = self.answered.get(connection).map(|used| used.number);
        let found = self.member_of.bind(py).call1((number, group_id, member_id))?;
        let (group, member): (Option<u32>, Option<MemberRow>) = found.extract()?;
        let group = group.map(|number| self.groups.place(number, || Used { number, touched: 0 }));
        let member = member.map(|row| self.members.place(row.0, || Lent::from(row)));
        self.places.insert(self.key.as_slice().into(), (group, member));
        Ok((group, member))
    }
}

impl From<MemberRow> for Lent {
    fn from(row: MemberRow) -> Self {
        let (number, generation, joined_by, is_notified, session_timeout_ms, last_ns) = row;
        Lent { number, generation, joined_by, is_notified, session_timeout_ms, last_ns, touched: 0 }
    }
}

impl Lent {
    /// Whether a member's request, in a generation if it names one, has no facts to report.
    fn passes(&self, is_commit: bool, generation: Option<i64>, asked: &Span) -> bool {
        let Some(named) = generation else { return true };
        let is_other = self.generation.is_some_and(|generation| generation != named)
            && self.joined_by.is_some_and(|answer| is_answered_before(Some(answer), asked));
        !is_other && (is_commit || !self.is_notified && !self.is_late(asked.first_time))
    }

    /// `classic_groups._is_late`.
    fn is_late(&self, sent_ns: i64) -> bool {
        let silent_ms = (i128::from(sent_ns) - i128::from(self.last_ns)).div_euclid(NS_IN_MS);
        let allowed_ms = self.session_timeout_ms;
        self.last_ns != NEVER_NS && allowed_ms != 0 && silent_ms > i128::from(allowed_ms)
    }
}

/// The numbers of what was used, in that order.
fn in_order(mut found: Vec<Used>) -> Vec<u32> {
    found.retain(|used| used.touched > 0);
    found.sort_unstable_by_key(|used| used.touched);
    found.into_iter().map(|used| used.number).collect()
}
