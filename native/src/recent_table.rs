//! `kdissect.history.state_table.Table`: values by key that forget the one that was used longest ago.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

const NOWHERE: usize = usize::MAX;

/// An entry, and its neighbours by when they were used.
struct Entry<K, V> {
    key: K,
    value: V,
    before: usize,
    behind: usize,
}

pub struct RecentTable<K, V> {
    most: usize,
    places: HashMap<K, usize>,
    entries: Vec<Entry<K, V>>,
    oldest: usize,
    newest: usize,
}

impl<K: Clone + Eq + Hash, V> RecentTable<K, V> {
    /// For this number of entries, at least one.
    pub fn of(most: usize) -> Self {
        let (oldest, newest) = (NOWHERE, NOWHERE);
        RecentTable { most: most.max(1), places: HashMap::new(), entries: Vec::new(), oldest, newest }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The value of a key, without counting it as used.
    pub fn peek<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = *self.places.get(key)?;
        self.entries.get(place).map(|of| &of.value)
    }

    /// The value of a key, which is used now.
    pub fn used<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = *self.places.get(key)?;
        if place != self.newest {
            self.take_out(place);
            self.put_last(place);
        }
        self.entries.get_mut(place).map(|of| &mut of.value)
    }

    /// The value of the key that was used last.
    pub fn newest(&mut self) -> Option<&mut V> {
        self.entries.get_mut(self.newest).map(|of| &mut of.value)
    }

    /// Set the value of a key that has none, and return what was forgotten for it.
    pub fn begin(&mut self, key: K, value: V) -> Option<(K, V)> {
        let made = Entry { key: key.clone(), value, before: NOWHERE, behind: NOWHERE };
        let mut forgotten = None;
        let place = if self.entries.len() < self.most {
            self.entries.push(made);
            self.entries.len() - 1
        } else {
            let place = self.oldest;
            self.take_out(place);
            if let Some(of) = self.entries.get_mut(place) {
                let former = std::mem::replace(of, made);
                self.places.remove(&former.key);
                forgotten = Some((former.key, former.value));
            }
            place
        };
        self.places.insert(key, place);
        self.put_last(place);
        forgotten
    }

    /// Keys and values, the one unused for longest first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let of = self.entries.get(next)?;
            next = of.behind;
            Some((&of.key, &of.value))
        })
    }

    fn take_out(&mut self, place: usize) {
        let Some((before, behind)) = self.entries.get(place).map(|of| (of.before, of.behind)) else {
            return;
        };
        match self.entries.get_mut(before) {
            Some(of) => of.behind = behind,
            None => self.oldest = behind,
        }
        match self.entries.get_mut(behind) {
            Some(of) => of.before = before,
            None => self.newest = before,
        }
    }

    fn put_last(&mut self, place: usize) {
        let newest = std::mem::replace(&mut self.newest, place);
        match self.entries.get_mut(newest) {
            Some(of) => of.behind = place,
            None => self.oldest = place,
        }
        if let Some(of) = self.entries.get_mut(place) {
            (of.before, of.behind) = (newest, NOWHERE);
        }
    }
}
