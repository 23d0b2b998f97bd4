//! Requests that name a group, answered without an error.

use pyo3::prelude::*;

use crate::bodies::partition_rows::{Body, PartitionRows};
use crate::bodies::plan::{Field, Layout, Role};
use crate::bodies::summaries::NO_ERROR;
use crate::bodies::visitor::{Look, Program, What};
use crate::engine::completed::{Content, Row};
use crate::judging::members::{Member, Members};

/// `history.sessions.share_sessions.FINAL`: the fact of a ShareFetch request.
const FINAL_EPOCH: i64 = -1;

/// `kdissect.history.member_rows.MemberRows`: the layout of requests and the fields that say who sent one, the layout of
/// responses, how the offsets that one commits are read, how both bodies of a ShareFetch are.
pub type MemberRow = (
    Py<Layout>,
    [String; 3],
    Py<Layout>,
    Option<Py<PartitionRows>>,
    Option<(Py<PartitionRows>, Py<PartitionRows>)>,
);

/// How requests of members are read in one version.
pub struct MemberRequests {
    who: Members,
    errors: Program,
    commits: Option<Py<PartitionRows>>,
    pub fetched: Option<(Py<PartitionRows>, Py<PartitionRows>)>,
}

impl From<MemberRow> for MemberRequests {
    fn from((request, fields, response, commits, fetched): MemberRow) -> Self {
        let (who, errors) = (Members::of(request.get(), &fields), Program::of::<NoErrors>(response.get()));
        MemberRequests { who, errors, commits, fetched }
    }
}

impl MemberRequests {
    /// Sender of a request. None without a response, for a response with an error, or if a body
    /// does not fit.
    pub fn sender<'a>(&self, py: Python<'a>, row: &'a Row) -> Option<Member<'a>> {
        row.response.as_ref().filter(|_| has_no_error(py, &self.errors, row))?;
        let Content { data, body, .. } = &row.request.content;
        if *body == 0 {
            return None;
        }
        self.who.read(data.as_bytes(py), *body)
    }

    /// The epoch of a ShareFetch if neither body lists a partition, and the session goes on. None for other APIs.
    pub fn idle_epoch(&self, py: Python<'_>, row: &Row) -> Option<i64> {
        let ((asked, answered), answer) = self.fetched.as_ref().zip(row.response.as_ref())?;
        let empty = |rows: &Py<PartitionRows>, content: &Content| {
            let body = rows.get().read(content.data.as_bytes(py), content.body)?;
            body.rows.is_empty().then_some(body.facts[0])
        };
        let epoch = empty(asked, &row.request.content)?.filter(|epoch| *epoch != FINAL_EPOCH)?;
        empty(answered, answer).map(|_| epoch)
    }

    /// The offsets that a request commits: Some(None) of one that commits none, None where Python has to read them.
    pub fn commits<'a>(&self, py: Python<'a>, row: &'a Row) -> Option<Option<Body<'a>>> {
        let Some(rows) = &self.commits else { return Some(None) };
        let Content { data, body, .. } = &row.request.content;
        Some(Some(rows.get().read(data.as_bytes(py), *body)?))
    }
}

/// Whether a response fits and has no error code. True without a response.
pub fn has_no_error(py: Python<'_>, errors: &Program, row: &Row) -> bool {
    row.response.as_ref().is_none_or(|answer| {
        let back = answer.data.as_bytes(py);
        answer.body > 0 && errors.walk(back, answer.body, &mut NoErrors) == Some(back.len())
    })
}

/// Stops at an error code that is set.
pub struct NoErrors;

impl Look for NoErrors {
    fn wants(field: &Field) -> bool {
        field.role == Role::Error
    }

    fn see(&mut self, data: &[u8], place: std::ops::Range<usize>, _: What) -> Option<()> {
        (data.get(place)? == NO_ERROR).then_some(())
    }
}
