//! Keys of flows, and what is looked up by them once a packet.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Addresses and ports as they stand in a packet: the 12 bytes of IPv4 and TCP, or the 36 of IPv6.
pub enum Flow<'a> {
    V4(&'a [u8; 12]),
    V6(&'a [u8; 36]),
}

impl<'a> Flow<'a> {
    /// The key that Python has as bytes; None for another length.
    pub fn of(key: &'a [u8]) -> Option<Flow<'a>> {
        match key.len() {
            12 => key.try_into().ok().map(Flow::V4),
            36 => key.try_into().ok().map(Flow::V6),
            _ => None,
        }
    }

    /// The key as Python has it.
    pub fn key(&self) -> &'a [u8] {
        match self {
            Flow::V4(key) => *key,
            Flow::V6(key) => *key,
        }
    }

    /// The key for both directions, and whether this one is the other of the two.
    pub fn either_way(&self) -> (EitherWay, bool) {
        match self {
            Flow::V4(key) => {
                let (key, is_turned) = lower_first::<12, 4>(key);
                (EitherWay::V4(key), is_turned)
            }
            Flow::V6(key) => {
                let (key, is_turned) = lower_first::<36, 16>(key);
                (EitherWay::V6(key), is_turned)
            }
        }
    }

    /// The key of the other direction (`kdissect.model.packets.segment.reverse_flow`).
    pub fn reverse(&self) -> Vec<u8> {
        match self {
            Flow::V4(key) => reversed::<12, 4>(key).to_vec(),
            Flow::V6(key) => reversed::<36, 16>(key).to_vec(),
        }
    }
}

/// One key for both directions of a connection.
pub enum EitherWay {
    V4([u8; 12]),
    V6([u8; 36]),
}

impl EitherWay {
    /// The key as one of its flows.
    pub fn flow(&self) -> Flow<'_> {
        match self {
            EitherWay::V4(key) => Flow::V4(key),
            EitherWay::V6(key) => Flow::V6(key),
        }
    }
}

/// The lower end first, and whether the ends changed places for that.
fn lower_first<const KEY: usize, const ADDRESS: usize>(key: &[u8; KEY]) -> ([u8; KEY], bool) {
    let (source, destination) = (&key[..ADDRESS], &key[ADDRESS..2 * ADDRESS]);
    let (from, to) = key[2 * ADDRESS..].split_at(PORTS / 2);
    if (source, from) <= (destination, to) {
        (*key, false)
    } else {
        (reversed::<KEY, ADDRESS>(key), true)
    }
}

/// The ends in the other order.
fn reversed<const KEY: usize, const ADDRESS: usize>(key: &[u8; KEY]) -> [u8; KEY] {
    let mut reversed = *key;
    reversed[..2 * ADDRESS].rotate_left(ADDRESS);
    reversed[2 * ADDRESS..].rotate_left(PORTS / 2);
    reversed
}

/// Two ports of two bytes end a key.
const PORTS: usize = 4;

/// Values by flow. Each map has a random seed in its hash, so that a sender cannot construct
/// colliding flows.
pub struct ByFlow<T> {
    v4: HashMap<[u8; 12], T, Seed>,
    v6: HashMap<[u8; 36], T, Seed>,
}

impl<T> Default for ByFlow<T> {
    fn default() -> Self {
        ByFlow { v4: HashMap::default(), v6: HashMap::default() }
    }
}

impl<T> ByFlow<T> {
    pub fn get(&self, flow: &Flow<'_>) -> Option<&T> {
        match flow {
            Flow::V4(key) => self.v4.get(*key),
            Flow::V6(key) => self.v6.get(*key),
        }
    }

    pub fn insert(&mut self, flow: &Flow<'_>, value: T) -> Option<T> {
        match flow {
            Flow::V4(key) => self.v4.insert(**key, value),
            Flow::V6(key) => self.v6.insert(**key, value),
        }
    }

    pub fn remove(&mut self, flow: &Flow<'_>) -> Option<T> {
        match flow {
            Flow::V4(key) => self.v4.remove(*key),
            Flow::V6(key) => self.v6.remove(*key),
        }
    }

    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Flow<'_>, &T)> {
        let v4 = self.v4.iter().map(|(key, value)| (Flow::V4(key), value));
        v4.chain(self.v6.iter().map(|(key, value)| (Flow::V6(key), value)))
    }
}

struct Seed(u64);

impl Default for Seed {
    fn default() -> Self {
        Seed(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seed {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { state: self.0, factor: self.0 ^ GOLDEN }
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15; // 2**64 divided by the golden ratio

/// Multiplies eight bytes at a time and folds the product's halves.
struct Folded {
    state: u64,
    factor: u64,
}

impl Folded {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        self.state = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        for word in words {
            self.add(word.try_into().map_or(0, u64::from_le_bytes));
        }
        if let Some(rest) = rest.first_chunk() {
            self.add(u64::from(u32::from_le_bytes(*rest)));
        }
    }

    fn write_usize(&mut self, _: usize) {
        // The length of the key, which is the same for all of a map.
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
