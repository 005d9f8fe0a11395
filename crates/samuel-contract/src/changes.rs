//! Changes of names and values, such as those of an environment.

use std::{collections::HashMap, mem};

/// Sets values and takes others away. What stays keeps its place; what was
/// taken away and is set again is a new one.
pub(crate) fn apply(pairs: &mut Vec<(String, String)>, changes: &[(String, Option<String>)]) {
    let mut places: HashMap<String, usize> =
        pairs.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
    let mut values: Vec<(String, Option<String>)> =
        mem::take(pairs).into_iter().map(|(name, value)| (name, Some(value))).collect();
    for (name, value) in changes {
        match places.get(name).and_then(|place| values.get_mut(*place)) {
            Some(known) if known.1.is_some() => known.1.clone_from(value),
            _ => {
                places.insert(name.clone(), values.len());
                values.push((name.clone(), value.clone()));
            }
        }
    }
    pairs.extend(values.into_iter().filter_map(|(name, value)| Some((name, value?))));
}
