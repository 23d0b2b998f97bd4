//! Facts about a kind of request: an API in a version, the first four bytes of a frame.

use crate::wire::are_same;

/// Bytes of acks, timeout and an array's size.
const FIXED: usize = 10;

/// A kind from Python (`kdissect.session.request_kind.kind_row`): the bytes that nearly always end
/// a request's header, and a response's. Then flags: its frames are for the engine, it is Produce,
/// it is ApiVersions, it may be news (`kdissect.session.identities.is_telling`).
pub type Row = (Vec<u8>, Vec<u8>, bool, bool, bool, bool);

/// One API in one version.
pub struct Kind {
    pub api_key: i16,
    pub version: i16,
    pub tags: Box<[u8]>,
    pub response_tags: Box<[u8]>,
    pub is_ordinary: bool,
    is_produce: bool,
    /// ApiVersions: the request says what the client is, and is for the engine as the first of a connection alone.
    pub is_api_versions: bool,
    /// Its exchanges may name a cluster or the id of a topic.
    pub may_be_news: bool,
}

/// API key and version in one number, as they begin a request (spec/004 "Complete Request Format").
pub fn number_of(data: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*data.first_chunk()?))
}

/// The same of a pair.
pub fn number(api_key: i16, version: i16) -> u32 {
    u32::from(api_key as u16) << 16 | u32::from(version as u16)
}

/// API key and version of a number.
pub fn pair(number: u32) -> (i16, i16) {
    ((number >> 16) as i16, number as i16)
}

impl Kind {
    pub fn of(number: u32, row: Row) -> Kind {
        let (tags, response_tags, is_ordinary, is_produce, is_api_versions, may_be_news) = row;
        let (api_key, version) = pair(number);
        let (tags, response_tags) = (tags.into(), response_tags.into());
        Kind { api_key, version, tags, response_tags, is_ordinary, is_produce, is_api_versions, may_be_news }
    }

    pub fn number(&self) -> u32 {
        number(self.api_key, self.version)
    }

    /// How many acknowledgements a request with this body asks for, not 0 but in a Produce request; None where that
    /// is not certain.
    ///
    /// Versions before 3 begin with it. Later versions begin with a transactional id, which may be
    /// null and from version 9 on is compact (spec/003 "Produce API").
    pub fn acks(&self, body: &[u8]) -> Option<i16> {
        if !self.is_produce {
            return Some(-1);
        }
        let at = match self.version {
            0..=2 => 0,
            3..=8 => 2 + usize::try_from(i16::from_be_bytes(*body.first_chunk()?).max(0)).ok()?,
            _ => match body.first()? {
                length @ 0..=0x7F => 1 + usize::from(length.saturating_sub(1)),
                _ => return None,
            },
        };
        // With timeout and number of topics after it: a shorter body is cut, and acks are unknown.
        let fixed = body.get(at..at + FIXED)?;
        Some(i16::from_be_bytes(*fixed.first_chunk()?))
    }

    /// The start of a response's body: after its correlation id and the tags that its kind has.
    /// None where other tags stand there, or Python is to look at it.
    pub fn body_offset(&self, response: &[u8]) -> Option<usize> {
        let offset = AFTER_ID + self.response_tags.len();
        let is_known =
            self.is_ordinary || self.is_api_versions && !self.may_be_refused(response.get(offset..)?);
        (is_known && are_same(response.get(AFTER_ID..offset)?, &self.response_tags)).then_some(offset)
    }

    /// Whether the body of an ApiVersions response may be of another version than its request (KIP-511).
    fn may_be_refused(&self, body: &[u8]) -> bool {
        self.version > 0 && body.starts_with(&UNSUPPORTED_VERSION)
    }
}

/// The error of a broker that does not know the version of the request (KIP-511).
const UNSUPPORTED_VERSION: [u8; 2] = [0, 35];

/// A response's header: its correlation id, then tags or nothing.
const AFTER_ID: usize = 4;
