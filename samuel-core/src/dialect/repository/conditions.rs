//! Reading the `match` of a repository hook's file.

use super::{
    EventType,
    file::Reader,
    matching::Matching,
    patterns::{MAX_PATTERNS, Patterns},
};
use crate::{
    config::ProblemKind,
    dialect::yaml::{Node, Value},
};

const MATCH_KEYS: [&str; 3] = ["ability_scope", "min_duration_ms", "only_if_changed_paths"];

/// Reads a list of patterns.
type ReadPatterns = fn(&[&str]) -> Result<Patterns, (usize, String)>;

impl Reader<'_> {
    /// Reads the conditions of a hook, of an event where that is known.
    pub(super) fn matching(&mut self, event_type: Option<EventType>, node: &Node) -> Option<Matching> {
        let mapping = match &node.value {
            Value::Mapping(mapping) => mapping.as_slice(),
            Value::Null => &[],
            _ => {
                self.problems.wrong_type(node, "match", "a mapping of conditions");
                return None;
            }
        };
        let [scope, duration, paths] = self
            .problems
            .keys(mapping, "match", &MATCH_KEYS, |_| None)
            .map(|entry| entry.map(|(_, value)| value));
        let read = |reader: &mut Self, node: Option<&Node>, key: &str, read: ReadPatterns| match node {
            None => Some(None),
            Some(node) => reader.patterns(node, key, read).map(Some),
        };
        let ability_scope = read(self, scope, "match.ability_scope", Patterns::of_abilities);
        let changed = read(self, paths, "match.only_if_changed_paths", Patterns::of_paths);
        let min_duration_ms = duration.map_or(Some(0), |node| self.milliseconds(node));
        let found = Matching {
            ability_scope: ability_scope?,
            min_duration_ms: min_duration_ms?,
            only_if_changed_paths: changed?,
        };
        if let Some(event_type) = event_type {
            self.tell_in_vain(event_type, &found, [scope, duration, paths]);
        }
        Some(found)
    }

    /// Warns of conditions that an event knows nothing of.
    fn tell_in_vain(&mut self, event_type: EventType, found: &Matching, nodes: [Option<&Node>; 3]) {
        let limits_scope = found.ability_scope.as_ref().is_some_and(|scope| !scope.is_everything());
        let is_after = event_type == EventType::PostAbilityCall;
        let in_vain = [
            limits_scope && !event_type.is_of_ability(),
            found.min_duration_ms > 0 && !is_after,
            found.only_if_changed_paths.is_some() && !event_type.has_changed_files(),
        ];
        for ((key, node), in_vain) in MATCH_KEYS.into_iter().zip(nodes).zip(in_vain) {
            if let Some(node) = node.filter(|_| in_vain) {
                let what = format!("has no effect at {}, which knows nothing of it", event_type.as_str());
                self.problems.warn(node, &format!("match.{key}"), what, "Remove the key.");
            }
        }
    }

    /// Reads a pattern, or a list of them.
    fn patterns(&mut self, node: &Node, key: &str, read: ReadPatterns) -> Option<Patterns> {
        let one = [node.clone()];
        let nodes = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => &one,
        };
        if nodes.is_empty() {
            self.problems.add(node, key, ProblemKind::Empty);
            return None;
        }
        if nodes.len() > MAX_PATTERNS {
            let what = format!("has more than {MAX_PATTERNS} patterns");
            self.problems.tell(node, key, what, "Use fewer patterns that match more.");
            return None;
        }
        let texts: Option<Vec<&str>> = nodes.iter().map(|node| self.problems.text(node, key)).collect();
        read(&texts?)
            .map_err(|(place, why)| {
                let at = nodes.get(place).unwrap_or(node);
                let what = format!("is no pattern: {why}");
                self.problems.tell(at, key, what, "Write a glob such as \"edit_*\" or \"services/**\".");
            })
            .ok()
    }

    fn milliseconds(&mut self, node: &Node) -> Option<u64> {
        let key = "match.min_duration_ms";
        let Value::Integer(found) = node.value else {
            self.problems.wrong_type(node, key, "a whole number of milliseconds");
            return None;
        };
        let read = u64::try_from(found).ok();
        if read.is_none() {
            let (found, expected) = (found.to_string(), "0 or more milliseconds".to_owned());
            self.problems.add(node, key, ProblemKind::OutOfRange { found, expected });
        }
        read
    }
}
