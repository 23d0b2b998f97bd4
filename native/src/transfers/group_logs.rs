//! Additions of requests that name groups to the logs of these: native-owned until Python reads them
//! (`stats.by_group.lent_logs`).

use pyo3::prelude::*;

use super::connections::given_to;
use super::lent_members::LentMembers;
use super::topics::ByKey;
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::judging::members::Member;

/// A used entry, by its number, and its last use.
struct Log {
    number: u32,
    touched: u64,
}

/// How often a client named a group by an API, and when first.
struct Named {
    number: u32,
    count: i64,
    first: u64,
}

/// Heartbeats of a member (`group_log.MemberLog`).
struct Beats {
    number: u32,
    last_ns: i64,
    count: i64,
    gaps: Vec<i64>,
    /// On which the last one came.
    connection: Option<Py<PyAny>>,
    touched: u64,
}

/// A client id on a connection during its handover, and the client's number; None for one that is
/// Python's.
type Sender = (Py<PyAny>, Option<u32>);
/// Of requests by one client and API for one member: the places of the group, of who named it, of the member, and whose
/// machine learns from them.
type Place = (usize, usize, Option<usize>, u8);
/// The numbers of the group, of who named it, and of the member, with its last heartbeat, and `lent_logs.CLASSIC` and so
/// on.
type LogRow = (u32, u32, Option<(u32, i64)>, u8);

/// `lent_logs.CLASSIC`, `lent_logs.MODERN` and `lent_logs.SHARES`.
const CLASSIC: u8 = 1;
const MODERN: u8 = 2;
const SHARES: u8 = 3;
/// Heartbeats of a member, the gaps before them, the last one, and on which connection it came.
type BeatsRow = (u32, i64, Vec<i64>, i64, Option<Py<PyAny>>);
/// Groups in the order of last use, the clients that named them, with counts, in the order of first
/// use, and members in the order of last use.
type Taken = (Vec<u32>, Vec<(u32, i64)>, Vec<BeatsRow>);

/// `packets.packet.NEVER_NS`.
const NEVER_NS: i64 = i64::MIN;

#[pyclass(module = "kdissect._native")]
pub struct GroupLogs {
    members: Py<LentMembers>,
    go_on: Py<PyAny>,
    deliver: Py<PyAny>,
    client_of: Py<PyAny>,
    log_of: Py<PyAny>,
    /// By the handover of a connection and the address of a client id.
    senders: Mixed<(u64, usize), Sender>,
    /// By client, API, group and member.
    places: Mixed<Box<[u8]>, Place>,
    logs: ByKey<u32, Log>,
    named: ByKey<u32, Named>,
    beats: ByKey<u32, Beats>,
    gaps: usize,
    key: Vec<u8>,
    touches: u64,
}

#[pymethods]
impl GroupLogs {
    /// `go_on` takes a heartbeat of a modern group, if it has no facts to report
    /// (`history.groups.repeated_heartbeats`), `deliver` an exchange of a share session with records or
    /// acknowledgements (`history.sessions.share_deliveries`). `client_of(connection, client_id)` returns the number
    /// of a client, None if its requests are Python's. `log_of(client, api_key, group, member)`
    /// returns the numbers of both in the logs, None if there may be more facts to report.
    #[new]
    fn new(
        members: Py<LentMembers>,
        go_on: Py<PyAny>,
        deliver: Py<PyAny>,
        client_of: Py<PyAny>,
        log_of: Py<PyAny>,
    ) -> Self {
        GroupLogs {
            members,
            go_on,
            deliver,
            client_of,
            log_of,
            senders: Mixed::default(),
            places: Mixed::default(),
            logs: ByKey::default(),
            named: ByKey::default(),
            beats: ByKey::default(),
            gaps: 0,
            key: Vec::new(),
            touches: 0,
        }
    }

    fn __len__(&self) -> usize {
        self.senders.len() + self.places.len() + self.gaps
    }

    /// Return and forget everything that passed.
    fn take(&mut self) -> Taken {
        self.senders.clear();
        self.places.clear();
        self.gaps = 0;
        let mut logs = self.logs.take();
        logs.retain(|log| log.touched > 0);
        logs.sort_unstable_by_key(|log| log.touched);
        let mut named = self.named.take();
        named.retain(|named| named.count > 0);
        named.sort_unstable_by_key(|named| named.first);
        let mut beats = self.beats.take();
        beats.retain(|beats| beats.touched > 0);
        beats.sort_unstable_by_key(|beats| beats.touched);
        (
            logs.into_iter().map(|log| log.number).collect(),
            named.into_iter().map(|named| (named.number, named.count)).collect(),
            beats.into_iter().map(|of| (of.number, of.count, of.gaps, of.last_ns, of.connection)).collect(),
        )
    }
}

impl GroupLogs {
    /// Take a request that was answered without an error and has no facts to report, and
    /// return True. Otherwise nothing changes. `loan` is that of its connection. `is_idle`: neither body
    /// lists a partition.
    pub fn take_next(
        &mut self,
        info: &Bound<'_, PyAny>,
        loan: u64,
        row: &Row,
        (who, is_idle): (&Member<'_>, bool),
    ) -> PyResult<bool> {
        let py = info.py();
        let Some(client) = self.client(info, loan, &row.request.client_id)? else { return Ok(false) };
        let Some((log, named, member, machine)) = self.place(py, client, row, who)? else { return Ok(false) };
        let sent_ns = row.request.content.span.first_time;
        let beats = member.and_then(|place| self.beats.found.get(place));
        let Some(gap) = beats.map_or(Some(None), |beats| beats.gap(sent_ns)) else { return Ok(false) };
        let is_taken = match machine {
            CLASSIC => self.members.bind(py).borrow_mut().take_next(info, row, who)?,
            MODERN => given_to(self.go_on.bind(py), info, row)?,
            SHARES if !is_idle => given_to(self.deliver.bind(py), info, row)?,
            _ => true,
        };
        if !is_taken {
            return Ok(false);
        }
        self.touches += 1;
        if let Some(log) = self.logs.found.get_mut(log) {
            log.touched = self.touches;
        }
        if let Some(named) = self.named.found.get_mut(named) {
            named.first = if named.count == 0 { self.touches } else { named.first };
            named.count += 1;
        }
        if let Some(beats) = member.and_then(|place| self.beats.found.get_mut(place)) {
            beats.touched = self.touches;
            beats.add(info, sent_ns, gap);
            self.gaps += usize::from(gap.is_some());
        }
        Ok(true)
    }

    fn client(&mut self, info: &Bound<'_, PyAny>, loan: u64, client_id: &Py<PyAny>) -> PyResult<Option<u32>> {
        let key = (loan, client_id.as_ptr() as usize);
        if let Some((_, client)) = self.senders.get(&key) {
            return Ok(*client);
        }
        let client = self.client_of.bind(info.py()).call1((info, client_id))?.extract()?;
        self.senders.insert(key, (client_id.clone_ref(info.py()), client));
        Ok(client)
    }

    fn place(&mut self, py: Python<'_>, client: u32, row: &Row, who: &Member<'_>) -> PyResult<Option<Place>> {
        let Some(group_id) = who.group else { return Ok(None) };
        let (api_key, member_id) = (row.request.kind.api_key, who.member.unwrap_or_default());
        self.key.clear();
        self.key.extend_from_slice(&client.to_le_bytes());
        self.key.extend_from_slice(&api_key.to_le_bytes());
        self.key.extend_from_slice(&group_id.len().to_le_bytes());
        self.key.extend_from_slice(group_id.as_bytes());
        self.key.extend_from_slice(member_id.as_bytes());
        if let Some(place) = self.places.get(self.key.as_slice()) {
            return Ok(Some(*place));
        }
        let found: Option<LogRow> =
            self.log_of.bind(py).call1((client, api_key, group_id, member_id))?.extract()?;
        let Some((log, named, member, machine)) = found else { return Ok(None) };
        let log = self.logs.place(log, || Log { number: log, touched: 0 });
        let named = self.named.place(named, || Named { number: named, count: 0, first: 0 });
        let member = member.map(|row| self.beats.place(row.0, || Beats::from(row)));
        let place = (log, named, member, machine);
        self.places.insert(self.key.as_slice().into(), place);
        Ok(Some(place))
    }
}

impl From<(u32, i64)> for Beats {
    fn from((number, last_ns): (u32, i64)) -> Self {
        Beats { number, last_ns, count: 0, gaps: Vec::new(), connection: None, touched: 0 }
    }
}

impl Beats {
    /// The time since the last heartbeat, Some(None) before the first one; None if a number exceeds
    /// 64 bits.
    fn gap(&self, sent_ns: i64) -> Option<Option<i64>> {
        if self.last_ns == NEVER_NS {
            return Some(None);
        }
        sent_ns.checked_sub(self.last_ns).map(Some)
    }

    /// `MemberLog.beat` for a heartbeat on a connection, after a gap.
    fn add(&mut self, info: &Bound<'_, PyAny>, sent_ns: i64, gap: Option<i64>) {
        self.gaps.extend(gap);
        self.last_ns = self.last_ns.max(sent_ns);
        self.count += 1;
        if self.connection.as_ref().is_none_or(|last| !last.is(info)) {
            self.connection = Some(info.clone().unbind());
        }
    }
}
