//! The secrets of an environment, hidden in every text that is kept or shown.
//!
//! Every value is a secret unless its name or its form says that it is harmless: a variable with a plain name can hold
//! a key as well.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use serde_json::Value;

use super::{forms::forms_of, general::is_harmless, is_secret};
use crate::{redact::credentials, redacted};

/// The shortest value that is hidden if the name says that it is a secret, in bytes.
const MIN_SECRET: usize = 6;
/// The shortest value that is hidden under any other name, in bytes.
const MIN_PLAIN: usize = 8;
/// The shortest beginning or end of a secret that is hidden where a text was cut, in bytes.
const MIN_CUT: usize = 6;
/// The text in place of a secret.
const HIDDEN: &str = "***";
/// The mark of texts that were cut.
const ELLIPSIS: char = '…';
/// The first components of paths that say nothing of the user.
const SYSTEM_DIRECTORIES: [&str; 22] = [
    "Applications",
    "Library",
    "System",
    "Users",
    "bin",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "tmp",
    "usr",
    "var",
];

/// The secrets of an environment.
///
/// ```
/// use samuel_model::environment::Secrets;
///
/// let secrets = Secrets::of(&[("MY_FLAG".to_owned(), "zq9xk7v2".to_owned())]);
/// assert_eq!(secrets.hide("sent zq9xk7v2"), "sent ***");
/// ```
#[derive(Default)]
pub struct Secrets(RwLock<Arc<Matcher>>);

impl Secrets {
    /// Returns the secrets of an environment. It has to be the whole one that the caller gave.
    pub fn of(env: &[(String, String)]) -> Self {
        let secrets = Self::default();
        secrets.learn(env);
        secrets
    }

    /// Adds the secrets of another environment, such as one that handlers changed.
    pub fn learn(&self, env: &[(String, String)]) {
        let found = patterns_of(env);
        let mut matcher = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if found.iter().any(|pattern| matcher.patterns.binary_search(pattern).is_err()) {
            let known = matcher.patterns.iter().cloned();
            *matcher = Arc::new(Matcher::of(known.chain(found).collect()));
        }
    }

    /// Hides the secrets in a text, and the passwords in its URLs. Where a text was cut, the beginning or the end of a
    /// secret is hidden too.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let matcher = Arc::clone(&*self.0.read().unwrap_or_else(PoisonError::into_inner));
        match redacted(text) {
            Cow::Borrowed(text) => matcher.hide(text),
            Cow::Owned(text) => Cow::Owned(matcher.hide(&text).into_owned()),
        }
    }

    /// Hides the secrets in every text of a document, and the texts under names of secrets.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text).into_owned(),
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

// No secret is shown.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Returns the texts to hide for an environment.
fn patterns_of(env: &[(String, String)]) -> BTreeSet<String> {
    let home = env.iter().rev().find(|(name, _)| name == "HOME").map(|(_, home)| home.as_str());
    let mut patterns = BTreeSet::new();
    for (name, value) in env {
        let value = value.trim();
        let is_hidden = match is_secret(name) {
            true => value.len() >= MIN_SECRET,
            false => !is_harmless(name) && !value.contains("://") && !is_plain(value, home),
        };
        let whole = is_hidden.then_some(value);
        let parts = credentials(value).into_iter().filter(|part| part.len() >= MIN_SECRET);
        patterns.extend(whole.into_iter().chain(parts).flat_map(forms_of));
    }
    patterns.retain(|pattern| pattern.len() >= MIN_CUT);
    patterns
}

/// Returns true for a value that could not be a secret: a short one, a word, a number, or paths of the system or the
/// user's home.
fn is_plain(value: &str, home: Option<&str>) -> bool {
    let of_home = home.and_then(first_component);
    let is_known = |path: &str| {
        first_component(path)
            .is_some_and(|first| SYSTEM_DIRECTORIES.contains(&first) || of_home == Some(first))
    };
    value.len() < MIN_PLAIN
        || value.chars().all(char::is_alphabetic)
        || value.parse::<f64>().is_ok()
        || value.split(':').all(|path| path.is_empty() || is_known(path))
}

/// Returns the first component of an absolute path.
fn first_component(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.split('/').next()
}

/// Finds texts.
#[derive(Default)]
struct Matcher {
    /// In their order.
    patterns: Vec<String>,
    search: Search,
}

/// A way to find texts.
#[derive(Default)]
enum Search {
    #[default]
    Nothing,
    /// By automata for the whole texts, their beginnings and their ends.
    By { whole: AhoCorasick, beginnings: AhoCorasick, ends: AhoCorasick },
    /// There are more texts than automata can hold, so everything is hidden.
    Everything,
}

impl Matcher {
    fn of(patterns: BTreeSet<String>) -> Self {
        let patterns: Vec<String> = patterns.into_iter().collect();
        let search = match patterns.as_slice() {
            [] => Search::Nothing,
            patterns => Search::of(patterns).unwrap_or(Search::Everything),
        };
        Self { patterns, search }
    }

    fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = match &self.search {
            Search::Nothing => return Cow::Borrowed(text),
            Search::Everything => return Cow::Borrowed(HIDDEN),
            Search::By { whole, beginnings, ends } => {
                let mut found: Vec<Range<usize>> =
                    whole.find_overlapping_iter(text).map(|found| found.range()).collect();
                found.extend(self.cut_short(beginnings, text));
                found.extend(self.cut_off(ends, text));
                found
            }
        };
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut shown = String::new();
        let mut done = 0;
        let mut found = found.into_iter().peekable();
        while let Some(first) = found.next() {
            let mut end = first.end;
            while let Some(next) = found.next_if(|next| next.start <= end) {
                end = end.max(next.end);
            }
            shown.push_str(text.get(done..first.start).unwrap_or_default());
            shown.push_str(HIDDEN);
            done = end;
        }
        shown.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// Returns the places where a text ends within one of the patterns, at its end or before an ellipsis.
    fn cut_short(&self, beginnings: &AhoCorasick, text: &str) -> Vec<Range<usize>> {
        let found = beginnings.find_overlapping_iter(text).filter_map(|found| {
            let pattern = self.patterns.get(found.pattern().as_usize())?;
            let same =
                text.bytes().skip(found.start()).zip(pattern.bytes()).take_while(|(a, b)| a == b).count();
            let end = found.start() + same;
            let rest = text.get(end..)?;
            let is_cut = rest.is_empty() || rest.trim_start_matches(' ').starts_with(ELLIPSIS);
            is_cut.then_some(found.start()..end)
        });
        found.collect()
    }

    /// Returns the places where a text begins within one of the patterns, at its beginning or after an ellipsis.
    fn cut_off(&self, ends: &AhoCorasick, text: &str) -> Vec<Range<usize>> {
        let found = ends.find_overlapping_iter(text).filter_map(|found| {
            let pattern = self.patterns.get(found.pattern().as_usize())?;
            let before = text.as_bytes().get(..found.end())?;
            let same = before.iter().rev().zip(pattern.bytes().rev()).take_while(|(a, b)| **a == *b).count();
            let start = found.end().saturating_sub(same);
            let rest = text.get(..start)?;
            let is_cut = rest.is_empty() || rest.trim_end_matches(' ').ends_with(ELLIPSIS);
            is_cut.then_some(start..found.end())
        });
        found.collect()
    }
}

impl Search {
    fn of(patterns: &[String]) -> Result<Self, BuildError> {
        let bytes = || patterns.iter().map(String::as_bytes);
        let beginning = |pattern: &[u8]| pattern.iter().take(MIN_CUT).copied().collect::<Vec<u8>>();
        let end = |pattern: &[u8]| {
            pattern.iter().skip(pattern.len().saturating_sub(MIN_CUT)).copied().collect::<Vec<u8>>()
        };
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        Ok(Self::By {
            whole: builder.build(bytes())?,
            beginnings: builder.build(bytes().map(beginning))?,
            ends: builder.build(bytes().map(end))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(env: &[(&str, &str)]) -> Secrets {
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Secrets::of(&env)
    }

    #[test]
    fn secrets_are_hidden_by_value_and_by_name_wherever_they_stand() {
        let secrets = secrets(&[("API_TOKEN", "abc123secret"), ("SHORT_TOKEN", "abc"), ("HOME", "/home/me")]);
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

    #[test]
    fn hides_values_of_plain_names_unless_harmless() {
        let secrets = secrets(&[
            ("HOME", "/data/me"),
            ("MY_FLAG", "zq9xk7v2"),
            ("SHORT", "a-b-c-1"),
            ("WORD", "production"),
            ("NUMBER", "1234567890"),
            ("GITHUB_SHA", "0123456789abcdef"),
            ("TOOLS", "/data/tools:/usr/local/x-1"),
            ("CACHE", "redis://cache:hunter2@host/x-1"),
        ]);
        for hidden in ["zq9xk7v2", "hunter2"] {
            assert_eq!(secrets.hide(&format!("a {hidden} b")), "a *** b");
        }
        let text = "a-b-c-1 production 1234567890 0123456789abcdef /data/tools /usr/local/x-1 cache";
        assert_eq!(secrets.hide(text), text);
    }

    #[test]
    fn hides_escaped_and_encoded_forms() {
        let secrets =
            secrets(&[("A_TOKEN", "it's \"a\"\tb/c"), ("KEY_KEY", "first line of a key\nsecond line")]);
        for text in [
            r#"it's \"a\"\tb/c"#,
            r#"it's \\\"a\\\"\\tb/c"#,
            "it%27s%20%22a%22%09b%2Fc",
            "it'\\''s \"a\"\tb/c",
            "aXQncyAiYSIJYi9j",
            "first line of a key",
        ] {
            assert_eq!(secrets.hide(&format!("<{text}>")), "<***>", "{text}");
        }
    }

    #[test]
    fn hides_secrets_that_overlap_or_are_cut() {
        let secrets =
            secrets(&[("A_TOKEN", "abcdef-123456"), ("B_TOKEN", "123456-uvwxyz"), ("C_TOKEN", "abcdef-1")]);
        for (text, shown) in [
            ("x abcdef-123456-uvwxyz y", "x *** y"),
            ("x abcdef-1 y", "x *** y"),
            ("x abcdef", "x ***"),
            ("x 123456-u… y", "x ***… y"),
            ("x 123456-u … y", "x *** … y"),
            ("-uvwxyz y", "*** y"),
            ("… uvwxyz y", "… *** y"),
            ("x abcdef y", "x abcdef y"),
            ("é abcde", "é abcde"),
        ] {
            assert_eq!(secrets.hide(text), shown, "{text}");
        }
    }

    #[test]
    fn learns_values_and_shows_none() {
        let secrets = Secrets::default();
        assert_eq!(secrets.hide("zq9xk7v2"), "zq9xk7v2");
        secrets.learn(&[("MY_FLAG".to_owned(), "zq9xk7v2".to_owned())]);
        secrets.learn(&[("OTHER".to_owned(), "other-12".to_owned())]);
        assert_eq!(secrets.hide("zq9xk7v2 other-12"), "*** ***");
        assert_eq!(format!("{secrets:?}"), "Secrets");
    }
}
