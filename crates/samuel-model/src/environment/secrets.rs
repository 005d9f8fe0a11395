//! The secrets of an environment, kept out of what is written.

use serde_json::Value;

use super::is_secret;
use crate::redacted;

/// How long the value of a variable is that is taken for a secret; shorter ones stand in any text.
const MIN_SECRET_CHARS: usize = 6;
/// What stands in the place of a secret.
const HIDDEN: &str = "***";

/// The values of variables that no log shows.
#[derive(Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Knows those of an environment: the variables whose names say that they are secrets.
    pub fn of(env: &[(String, String)]) -> Self {
        let values = env.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.trim());
        let mut secrets: Vec<String> =
            values.filter(|value| value.chars().count() >= MIN_SECRET_CHARS).map(str::to_owned).collect();
        // One that is part of another is hidden behind it.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Hides them in a text, and the passwords of its URLs.
    pub fn hide(&self, text: &str) -> String {
        let text = redacted(text).into_owned();
        self.0.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, HIDDEN),
            false => text,
        })
    }

    /// Hides them in every text of a document, and what stands under a name that is one of a secret.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(text) if is_secret(name) => HIDDEN.clone_into(text),
                        value => self.hide_in(value),
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_hidden_by_value_and_by_name_wherever_they_stand() {
        let env = [("API_TOKEN", "abc123secret"), ("SHORT_TOKEN", "abc"), ("HOME", "/home/me")];
        let secrets = Secrets::of(&env.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut value = json!({
            "input": {"command": "curl -H abc123secret https://me:pw@host/x", "DB_PASSWORD": "hunter2"},
            "list": [["abc123secret"], "abc"],
            "home": "/home/me",
        });
        secrets.hide_in(&mut value);
        let hidden = json!({
            "input": {"command": "curl -H *** https://***@host/x", "DB_PASSWORD": "***"},
            "list": [["***"], "abc"],
            "home": "/home/me",
        });
        assert_eq!(value, hidden);
    }
}
