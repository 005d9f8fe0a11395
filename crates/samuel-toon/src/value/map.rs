//! An object of a [`Value`]: entries in the order they were written.

use std::{collections::HashMap, fmt};

use super::Value;

/// Keys and values in insertion order; a repeated key keeps its first place
/// and its last value.
///
/// Equality ignores the order, because a table may reorder the keys of its
/// rows (section 2).
#[derive(Clone, Default)]
pub struct Map {
    entries: Vec<(String, Value)>,
    /// Places by key, kept once searching one by one would be slow.
    #[expect(clippy::box_collection, reason = "rarely there, and every value has room for it")]
    places: Option<Box<HashMap<String, usize>>>,
}

/// Up to here a search one by one is fast enough.
const FEW: usize = 16;

impl Map {
    /// Makes an empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true when there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    /// Returns the value of a key for changing it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.place(key)?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Sets the value of a key and returns the one it had.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        let key = key.into();
        if let Some(old) = self.get_mut(&key) {
            return Some(std::mem::replace(old, value));
        }
        if let Some(places) = &mut self.places {
            places.insert(key.clone(), self.entries.len());
        }
        self.entries.push((key, value));
        if self.places.is_none() && self.entries.len() > FEW {
            self.index();
        }
        None
    }

    /// Removes a key and returns its value; later entries move up.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let (_, value) = self.entries.remove(self.place(key)?);
        self.places = None;
        if self.entries.len() > FEW {
            self.index();
        }
        Some(value)
    }

    /// Iterates over the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Iterates over the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    fn place(&self, key: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(key).copied(),
            None => self.entries.iter().position(|(candidate, _)| candidate == key),
        }
    }

    fn index(&mut self) {
        let places = self.entries.iter().enumerate().map(|(place, (key, _))| (key.clone(), place));
        self.places = Some(Box::new(places.collect()));
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value.into());
        }
        map
    }
}

impl<K: Into<String>, V: Into<Value>> Extend<(K, V)> for Map {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value.into());
        }
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
