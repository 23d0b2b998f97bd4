//! The bytes of a payload that belong to stored frames: `kdissect.excerpt.cutter.StreamCutter`
//! without lost, overwritten or delayed bytes.

use crate::excerpt::plan::Plan;

/// A frame of which a part passed.
pub struct UnderWay {
    /// As it was packed.
    pub plan: Vec<u8>,
    pub at: u64,
    length: u64,
}

impl UnderWay {
    /// None for what is no plan.
    pub fn of(plan: Vec<u8>, at: u64) -> Option<UnderWay> {
        let length = Plan::unpack(&plan)?.length;
        Some(UnderWay { plan, at, length })
    }

    /// Whether all of a payload belongs to it, and more.
    pub fn goes_beyond(&self, payload: &[u8]) -> bool {
        payload.len() <= self.left()
    }

    fn left(&self) -> usize {
        usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX)
    }
}

/// Bytes of the payload from `start` up to `end`; they begin the frame of that number among those given.
pub struct Piece {
    pub start: usize,
    pub end: usize,
    pub begins: Option<usize>,
}

/// Parts of a payload for the excerpt.
#[derive(Default)]
pub struct Cut {
    pub pieces: Vec<Piece>,
    /// The frame that continues after the payload: its number, None for the one that was
    /// incomplete, and the number of its bytes that had passed by then.
    pub goes_on: Option<(Option<usize>, u64)>,
}

/// Cut a payload; `plans` are of the frames that begin in its packet. None where Python is to do that.
pub fn cut(payload: &[u8], under_way: Option<&UnderWay>, plans: &[Vec<u8>]) -> Option<Cut> {
    let mut cut = Cut::default();
    let mut at = 0;
    if let Some(frame) = under_way {
        let end = frame.left().min(payload.len());
        cut.pieces.push(Piece { start: 0, end, begins: None });
        if end < frame.left() {
            cut.goes_on = Some((None, frame.at + end as u64));
            return Some(cut);
        }
        at = end;
    }
    let mut waiting: Vec<(usize, Plan<'_>)> = Vec::with_capacity(plans.len());
    for (number, plan) in plans.iter().enumerate() {
        waiting.push((number, Plan::unpack(plan).filter(|plan| !plan.is_changed)?));
    }
    while at < payload.len() {
        let Some((order, start)) = next(payload, at, &waiting) else { break };
        let (number, plan) = waiting.remove(order);
        if is_doubtful(payload.get(start..)?, plan.mark) {
            return None;
        }
        let left = payload.len() - start;
        let length = usize::try_from(plan.length).ok()?;
        let end = start + length.min(left);
        cut.pieces.push(Piece { start, end, begins: Some(number) });
        if left < length {
            cut.goes_on = Some((Some(number), left as u64));
            break;
        }
        at = end;
    }
    Some(cut)
}

/// Which of the frames that wait begins next from `at` on, and where.
fn next(payload: &[u8], at: usize, waiting: &[(usize, Plan<'_>)]) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    for (order, (_, plan)) in waiting.iter().enumerate() {
        let before = found.map_or(payload.len(), |(_, start)| start);
        if let Some(start) = find(payload, plan.mark, at, before) {
            found = Some((order, start));
            if start == at {
                break; // none begins before it
            }
        }
    }
    found
}

/// `cutter._find`, but for what begins from `stop` on. A whole mark goes before what the payload's end cuts.
fn find(payload: &[u8], mark: &[u8], at: usize, stop: usize) -> Option<usize> {
    let first = *mark.first()?;
    let begins = |start: &usize| payload.get(*start) == Some(&first);
    let whole = (at..stop.min((payload.len() + 1).saturating_sub(mark.len())))
        .filter(begins)
        .find(|&start| payload[start..].starts_with(mark));
    whole.or_else(|| {
        (at.max((payload.len() + 1).saturating_sub(mark.len()))..stop)
            .filter(begins)
            .find(|&start| mark.starts_with(&payload[start..]))
    })
}

/// `cutter._is_doubtful`.
fn is_doubtful(tail: &[u8], mark: &[u8]) -> bool {
    tail.len() < mark.len() && (1..tail.len()).any(|at| mark.starts_with(&tail[at..]))
}
