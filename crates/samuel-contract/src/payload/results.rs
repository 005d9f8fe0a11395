//! What repository hooks report, merged.

use super::HookResults;

impl HookResults {
    /// Says whether nothing is reported.
    pub fn is_empty(&self) -> bool {
        let Self {
            logs,
            messages_to_user,
            suggested_abilities,
            suggested_documents,
            follow_up_actions,
            new_intent,
            usage_recorded,
            block_execution,
        } = self;
        logs.is_empty()
            && messages_to_user.is_empty()
            && suggested_abilities.is_empty()
            && suggested_documents.is_empty()
            && follow_up_actions.is_empty()
            && new_intent.is_none()
            && !usage_recorded
            && !block_execution
    }

    /// Merges what a later handler reports (docs/hooks.md): logs,
    /// messages and actions are concatenated, suggestions deduplicated keeping
    /// the highest confidence, the first intent wins with a warning.
    pub fn merge(&mut self, later: HookResults) -> Vec<String> {
        let mut warnings = Vec::new();
        self.logs.extend(later.logs);
        self.messages_to_user.extend(later.messages_to_user);
        self.follow_up_actions.extend(later.follow_up_actions);
        for ability in later.suggested_abilities {
            match self.suggested_abilities.iter_mut().find(|known| known.id == ability.id) {
                Some(known) if known.confidence < ability.confidence => *known = ability,
                Some(_) => {}
                None => self.suggested_abilities.push(ability),
            }
        }
        for document in later.suggested_documents {
            match self.suggested_documents.iter_mut().find(|known| known.path == document.path) {
                Some(known) if known.confidence < document.confidence => *known = document,
                Some(_) => {}
                None => self.suggested_documents.push(document),
            }
        }
        match (&self.new_intent, later.new_intent) {
            (Some(_), Some(_)) => {
                warnings.push("a second new_intent was ignored; the first one stands".to_owned())
            }
            (None, intent) => self.new_intent = intent,
            (Some(_), None) => {}
        }
        self.usage_recorded |= later.usage_recorded;
        self.block_execution |= later.block_execution;
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::SuggestedAbility;

    #[test]
    fn a_suggestion_given_twice_keeps_the_higher_confidence() {
        let suggest = |confidence| HookResults {
            suggested_abilities: vec![SuggestedAbility {
                id: "x".into(),
                confidence: Some(confidence),
                ..Default::default()
            }],
            new_intent: Some("{}".into()),
            ..Default::default()
        };
        let mut results = suggest(0.4);
        let warnings = results.merge(suggest(0.9));
        assert_eq!(results.suggested_abilities.len(), 1);
        assert_eq!(results.suggested_abilities.first().and_then(|a| a.confidence), Some(0.9));
        assert_eq!(warnings.len(), 1);
    }
}
