//! The secrets of an environment, hidden in every text that is kept or shown.
//!
//! The rule has to find keys in variables with plain names too, and to leave words, paths, branches, versions and
//! numbers readable:
//!
//! | value | hidden |
//! |---|---|
//! | of a variable whose name says that it is a secret | from 6 bytes on, except placeholders such as `postgres` |
//! | of any variable, that begins as keys of known services do | from 16 bytes on |
//! | of any variable, the password, user token and secret parameters of a URL | from 6 bytes on |
//! | of a variable with a plain name | each part without spaces that looks random |
//!
//! A text looks random if it has at least 16 bytes, letters and digits, and at least 3 turns. A turn is a place where
//! a digit follows a letter, a letter follows a digit or a capital follows a small letter. Each quote, backslash, `$`,
//! `%`, control character and character outside of ASCII counts as a turn and as a digit. `x86_64-unknown-linux-gnu`
//! has one turn. Paths and times never look random. Values of harmless names, such as `GITHUB_SHA`, count as if they
//! did not. A part of the path of the working directory or of the home is not random either, and a directory above it
//! is never hidden: prompts have that path.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt, iter,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    forms::forms_of,
    general::{is_harmless, is_proxy},
    is_secret,
    stream::SecretStream,
};
use crate::{redact::credentials, redacted};

/// The shortest value that is hidden if the name or the place says that it is a secret, in bytes.
const MIN_SECRET: usize = 6;
/// The shortest value that is hidden for its own form, in bytes.
const MIN_RANDOM: usize = 16;
/// The fewest turns of a text that looks random.
const MIN_TURNS: usize = 3;
/// The shortest beginning or end of a secret that is hidden where a text was cut, in bytes.
const MIN_CUT: usize = 10;
/// Values that stand for a secret where none is needed. They are words of plans and code, too.
const PLACEHOLDERS: [&str; 12] = [
    "changeme",
    "default",
    "dummy-key",
    "example",
    "minioadmin",
    "not-needed",
    "ollama",
    "password",
    "placeholder",
    "postgres",
    "secret",
    "testing",
];
/// The text in place of a secret.
pub(super) const HIDDEN: &str = "***";
/// The mark of texts that were cut.
const ELLIPSIS: char = '…';
/// The beginning of a private key.
const PEM: &str = "-----BEGIN ";
/// The beginnings of keys of known services.
const PREFIXES: [&str; 22] = [
    "AIza",
    "AKIA",
    "ASIA",
    "SG.",
    "dop_v1_",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "pypi-",
    "rk_live_",
    "sk-ant-",
    "sk-proj-",
    "sk_live_",
    "sk_test_",
    "xox",
    "ya29.",
];
/// Families of variables that agents do not get. Only some of them are secrets: others are regions, profiles and paths.
const MIXED: [&str; 4] = ["AWS", "AZURE", "KUBECONFIG", "VAULT"];
/// Fields that name something, such as a task. Their texts are compared and looked up, so `hidden` leaves them alone.
const NAMES: &[&str] = &[
    "ability_id",
    "actor",
    "agent",
    "base",
    "branch",
    "by_edit",
    "by_other_agent",
    "by_person",
    "call_id",
    "caller",
    "class",
    "commit",
    "commit_sha",
    "committed_for_agent",
    "completed",
    "conversation",
    "depends_on",
    "effect",
    "env_names",
    "event",
    "goes_on_from",
    "handler",
    "id",
    "ids",
    "into",
    "kind",
    "left",
    "mode",
    "model",
    "operation_key",
    "parent_id",
    "point",
    "result",
    "run_id",
    "sandbox",
    "session",
    "session_id",
    "skipped",
    "start_commit",
    "state",
    "status",
    "submitted",
    "task",
    "task_id",
    "tasks",
    "turn",
    "type",
    "unchanged",
    "worker",
];

/// The secrets of an environment.
///
/// ```
/// use samuel_model::environment::Secrets;
///
/// let env = [("MY_FLAG", "zq9xk7v2m4tq8w1c"), ("MY_BRANCH", "fix-1234-login-page")];
/// let secrets = Secrets::of(&env.map(|(name, value)| (name.to_owned(), value.to_owned())));
/// assert_eq!(secrets.hide("sent zq9xk7v2m4tq8w1c to fix-1234-login-page"), "sent *** to fix-1234-login-page");
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
        match redacted(text) {
            Cow::Borrowed(text) => self.hide_values(text),
            Cow::Owned(text) => Cow::Owned(self.hide_values(&text).into_owned()),
        }
    }

    /// Hides the secrets in a text that agents work with. It keeps URLs with passwords of others.
    pub fn hide_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.matcher().hide(text)
    }

    /// Returns a stream of bytes in which secrets are hidden, also those that are learned later.
    pub fn stream(self: &Arc<Self>) -> SecretStream {
        SecretStream::new(Arc::clone(self))
    }

    /// Returns where secrets are in some bytes, in order. Places that touch are one.
    pub(super) fn places_in(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        self.matcher().places_in(bytes)
    }

    /// Returns where the last bytes begin that can be the beginning of a secret, or else the end.
    pub(super) fn begins_at(&self, bytes: &[u8]) -> usize {
        self.matcher().begins_at(bytes)
    }

    fn matcher(&self) -> Arc<Matcher> {
        Arc::clone(&*self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hides the secrets in every text and every name of a document, and the texts under names of secrets.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if is_secret(name) => HIDDEN.clone_into(text),
                        value => self.hide_in(value),
                    }
                }
                if fields.keys().any(|name| self.hide(name) != *name) {
                    let named = std::mem::take(fields).into_iter();
                    *fields = named.map(|(name, value)| (self.hide(&name).into_owned(), value)).collect();
                }
            }
            _ => {}
        }
    }

    /// Hides the secrets in the arguments of a tool call, whose names are the agent's. Returns true if there were any.
    fn hide_arguments(&self, arguments: &mut Value) -> bool {
        let before = arguments.clone();
        self.hide_in(arguments);
        *arguments != before
    }

    /// Returns a value with the secrets hidden in its texts, except in those that name something, such as a task. If
    /// the result could not be read back, single words of small letters and times stay as they are: a secret is the
    /// same word as one of the variants. It keeps URLs as `hide_values` does.
    #[must_use]
    pub fn hidden<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        if matches!(self.matcher().search, Search::Nothing) {
            return value;
        }
        let all: fn(&str) -> bool = |_| true;
        for may_hide in [all, is_no_variant] {
            let Ok(mut document) = serde_json::to_value(&value) else { return value };
            if !self.hide_texts_if(&mut document, may_hide) {
                return value;
            }
            if let Ok(hidden) = serde_json::from_value(document) {
                return hidden;
            }
        }
        value
    }

    /// Hides the secrets in every text of a document that names nothing, and returns true if it had any.
    pub fn hide_texts(&self, document: &mut Value) -> bool {
        self.hide_texts_if(document, |_| true)
    }

    /// Hides the secrets in some of these texts, and in all arguments of tool calls.
    fn hide_texts_if(&self, document: &mut Value, may_hide: fn(&str) -> bool) -> bool {
        match document {
            Value::String(text) if may_hide(text.as_str()) => match self.hide_values(text) {
                Cow::Owned(hidden) if hidden != *text => {
                    *text = hidden;
                    true
                }
                _ => false,
            },
            // Every part is looked at, whatever was found before.
            Value::Array(items) => {
                items.iter_mut().fold(false, |found, item| self.hide_texts_if(item, may_hide) | found)
            }
            Value::Object(fields) => {
                let is_call = ["ability_id", "decision"].iter().any(|name| fields.contains_key(*name));
                let texts = fields.iter_mut().filter(|(name, value)| !names_something(name, value));
                texts.fold(false, |found, (name, value)| {
                    let is_arguments = is_call && matches!(name.as_str(), "input" | "updated_input");
                    let hides = match is_arguments {
                        true => self.hide_arguments(value),
                        false => self.hide_texts_if(value, may_hide),
                    };
                    hides | found
                })
            }
            _ => false,
        }
    }
}

// No secret is shown.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// Returns true for a text that is neither a time nor a word of small letters, as variants are.
fn is_no_variant(text: &str) -> bool {
    text.contains(|c: char| !c.is_ascii_lowercase() && c != '_' && c != '-')
        && text.parse::<jiff::Timestamp>().is_err()
}

/// Returns true for a text or a list of texts under a name for what is looked up.
fn names_something(name: &str, value: &Value) -> bool {
    let is_text = match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        value => value.is_string(),
    };
    is_text && NAMES.contains(&name)
}

/// Returns the texts to hide for an environment.
fn patterns_of(env: &[(String, String)]) -> BTreeSet<String> {
    let is_shown = |part: &str| {
        let mut places = env.iter().filter(|(name, _)| ["HOME", "PWD"].contains(&name.as_str()));
        places.any(|(_, path)| path.contains(part))
    };
    let mut patterns = BTreeSet::new();
    for (name, value) in env {
        let value = value.trim();
        let is_place = value.starts_with('/') && is_shown(value);
        let is_placeholder = PLACEHOLDERS.contains(&value.to_lowercase().as_str());
        if names_secret(name) && value.len() >= MIN_SECRET && !is_place && !is_placeholder {
            patterns.extend(forms_of(value));
        }
        for part in parts_of(value).filter(|part| part.len() >= MIN_RANDOM) {
            let is_key = PREFIXES.iter().any(|prefix| part.starts_with(prefix)) || part.starts_with(PEM);
            if is_key || (!is_harmless(name) && looks_random(part) && !is_shown(part)) {
                patterns.extend(forms_of(part));
            }
        }
        let url = match is_proxy(name) && !value.contains("://") {
            true => Cow::Owned(format!("http://{value}")),
            false => Cow::Borrowed(value),
        };
        let of_url = credentials(&url).into_iter().filter(|part| part.len() >= MIN_SECRET);
        patterns.extend(of_url.flat_map(forms_of));
    }
    patterns.retain(|pattern| pattern.len() >= MIN_SECRET);
    patterns
}

/// Returns true for a name that says that the value is a secret.
fn names_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    let of_family = MIXED.iter().find_map(|family| name.strip_prefix(family));
    is_secret(of_family.unwrap_or(&name))
}

/// Returns the parts of a value that could be secrets: a key with all its lines, or what is between spaces, and
/// between the slashes of a URL.
fn parts_of(value: &str) -> impl Iterator<Item = &str> {
    let (is_whole, is_url) = (value.starts_with(PEM), value.contains("://"));
    value.split(move |c: char| match c {
        ' ' | '\n' | '\r' => !is_whole,
        '/' | '?' | '&' | '#' | '=' => is_url && !is_whole,
        _ => false,
    })
}

/// Returns true for a text of letters and digits that are no words and numbers.
fn looks_random(text: &str) -> bool {
    let has_digit = text.chars().any(|c| c.is_ascii_digit() || is_odd(c));
    let has_letter = text.chars().any(char::is_alphabetic);
    let is_time = text.parse::<jiff::Timestamp>().is_ok();
    has_digit && has_letter && turns(text) >= MIN_TURNS && !is_path(text) && !is_time
}

/// Returns true for an absolute path whose first directory is a word, with or without a number.
fn is_path(text: &str) -> bool {
    let first = text.strip_prefix('/').and_then(|rest| rest.split_once('/'));
    first.is_some_and(|(first, _)| !first.is_empty() && turns(first) <= 1)
}

/// Returns the number of turns of a text, as this module defines them.
fn turns(text: &str) -> usize {
    #[derive(PartialEq)]
    enum Kind {
        Digit,
        Small,
        Capital,
    }
    let kind = |c: char| match c {
        '0'..='9' => Some(Kind::Digit),
        'a'..='z' => Some(Kind::Small),
        'A'..='Z' => Some(Kind::Capital),
        _ => None,
    };
    let is_turn = |(a, b): &(char, char)| match (kind(*a), kind(*b)) {
        (Some(Kind::Capital), Some(Kind::Small)) => false,
        (Some(a), Some(b)) => a != b,
        _ => false,
    };
    let pairs = text.chars().zip(text.chars().skip(1));
    pairs.filter(is_turn).count() + text.chars().filter(|c| is_odd(*c)).count()
}

/// Returns true for a character that names, numbers, paths and addresses do not have.
fn is_odd(c: char) -> bool {
    c.is_control() || !c.is_ascii() || matches!(c, '"' | '\'' | '`' | '\\' | '$' | '%')
}

/// Finds texts.
#[derive(Default)]
struct Matcher {
    /// In their order.
    patterns: Vec<String>,
    /// The length of the longest one, in bytes.
    longest: usize,
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
        let longest = patterns.iter().map(String::len).max().unwrap_or_default();
        Self { patterns, longest, search }
    }

    fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = self.places_in(text.as_bytes());
        match &self.search {
            Search::Nothing => {}
            Search::Everything => return Cow::Owned(HIDDEN.to_owned()),
            Search::By { beginnings, ends, .. } => {
                found.extend(self.cut_short(beginnings, text));
                found.extend(self.cut_off(ends, text));
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut shown = String::new();
        let mut done = 0;
        for place in merged(found) {
            shown.push_str(text.get(done..place.start).unwrap_or_default());
            shown.push_str(HIDDEN);
            done = place.end;
        }
        shown.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(shown)
    }

    fn places_in(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        match &self.search {
            Search::Nothing => Vec::new(),
            Search::Everything => iter::once(0..bytes.len()).collect(),
            Search::By { whole, .. } => {
                merged(whole.find_overlapping_iter(bytes).map(|found| found.range()).collect())
            }
        }
    }

    fn begins_at(&self, bytes: &[u8]) -> usize {
        let is_beginning = |place: &usize| {
            let rest = bytes.get(*place..).unwrap_or_default();
            let at = self.patterns.partition_point(|pattern| pattern.as_bytes() < rest);
            self.patterns.get(at).is_some_and(|pattern| pattern.as_bytes().starts_with(rest))
        };
        let from = bytes.len().saturating_sub(self.longest);
        (from..bytes.len()).find(is_beginning).unwrap_or(bytes.len())
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

/// Puts places in order, and makes one of those that touch.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_unstable_by_key(|place| place.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => merged.push(place),
        }
    }
    merged
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
    fn hides_tokens_next_to_variant_that_is_secret() {
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ";
        let secrets = secrets(&[("ADMIN_PASSWORD", "medium"), ("API_TOKEN", token)]);
        let task = crate::Task {
            description: token.to_owned(),
            created_at: Some(jiff::Timestamp::UNIX_EPOCH),
            ..crate::Task::new(crate::TaskId::new("1"), "t")
        };
        let hidden = secrets.hidden(task.clone());
        assert_eq!(hidden, crate::Task { description: "***".to_owned(), ..task });
    }

    #[test]
    fn hides_arguments_next_to_variant_that_is_secret() {
        #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        struct Call {
            ability_id: String,
            priority: crate::Priority,
            input: Value,
        }
        let secrets = secrets(&[("ADMIN_PASSWORD", "medium"), ("API_TOKEN", "correct-horse")]);
        let call = |input| Call { ability_id: "Bash".to_owned(), priority: crate::Priority::Medium, input };
        let given = call(json!({"session": "correct-horse", "DB_PASSWORD": "x"}));
        assert_eq!(secrets.hidden(given), call(json!({"session": "***", "DB_PASSWORD": "***"})));
    }

    #[test]
    fn hides_secrets_under_every_name_of_arguments() {
        let secrets = secrets(&[("API_TOKEN", "abc123secret")]);
        let mut value = json!({
            "task": "abc123secret",
            "call": {"ability_id": "Bash", "input": {"session": "abc123secret", "abc123secret": [{"id": "abc123secret"}]}},
        });
        assert!(secrets.hide_texts(&mut value));
        let hidden = json!({
            "task": "abc123secret",
            "call": {"ability_id": "Bash", "input": {"session": "***", "***": [{"id": "***"}]}},
        });
        assert_eq!(value, hidden);
    }

    #[test]
    fn hides_secrets_of_ten_classes() {
        let key =
            format!("-----BEGIN KEY-----\n{}\n{}\n-----END KEY-----", "aB3x".repeat(16), "k9Zq".repeat(16));
        let (hex, long) = ("7f3a9c2b1d0e5f6a".repeat(2) + "8b4c6d1e", "u7Gt2-".repeat(700));
        for (name, value) in [
            ("API_TOKEN", "hunter"),
            ("AWS_SESSION_TOKEN", "hunter2hunter2"),
            ("MY_FLAG", "zq9xk7v2m4tq8w1c"),
            ("MY_FLAG", "sk-ant-made-up-0001"),
            ("MY_FLAG", "ghp_made_up_0001"),
            ("MY_FLAG", "AKIAMADEUPMADEUP1234"),
            ("GITHUB_JWT", "eyJhbGciOiJub25l.eyJzdWIiOiIx.c2ln"),
            ("MY_FLAG", "quo\"te'd\\back\ttab-100%$"),
            ("MY_FLAG", "пароль-schlüssel-17"),
            ("MY_FLAG", key.as_str()),
            ("MY_FLAG", hex.as_str()),
            ("MY_FLAG", "/k9Zq2x/7Gt1mWp4sYd8"),
            ("MY_FLAG", long.as_str()),
        ] {
            assert_eq!(secrets(&[(name, value)]).hide(&format!("a {value} b")), "a *** b", "{name}={value}");
        }
        for (name, value) in [
            ("HTTPS_PROXY", "http://me:hunter2@proxy:8080"),
            ("https_proxy", "me:hunter2@proxy:8080"),
            ("DB", "postgres://app:hunter2@db/app"),
            ("HOOK", "https://hooks.example.com/services/hunter2/k9Zq2x7Gt1mWp4sY"),
        ] {
            let secret = if name == "HOOK" { "k9Zq2x7Gt1mWp4sY" } else { "hunter2" };
            assert_eq!(secrets(&[(name, value)]).hide(&format!("a {secret} b")), "a *** b", "{name}={value}");
        }
    }

    #[test]
    fn leaves_ordinary_values_readable() {
        for (name, value) in [
            ("MY_FLAG", "main"),
            ("MY_FLAG", "true"),
            ("MY_FLAG", "production-eu-west-1"),
            ("MY_FLAG", "release/2026-11-hotfix-12"),
            ("MY_FLAG", "fix-1234-login-page-v2"),
            ("MY_FLAG", "1.2.3"),
            ("MY_FLAG", "12345678901234567890"),
            ("MY_FLAG", "2026-11-29T17:40:47Z"),
            ("MY_FLAG", "x86_64-unknown-linux-gnu"),
            ("MY_FLAG", "python:3.12-slim-bookworm"),
            ("MY_FLAG", "ip-10-0-3-17.ec2.internal"),
            ("MY_FLAG", "jane2@mail.example.com"),
            ("MY_FLAG", "MyApplicationServerMain"),
            ("MY_FLAG", "/work/a1B2c3D4e5F6g7H8/x:/data/k9Zq2x7Gt1mWp4sY/bin"),
            ("MY_FLAG", "http://localhost:8080/status"),
            ("MY_FLAG", "--opt-level=3 --jobs 4"),
            ("POSTGRES_PASSWORD", "postgres"),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("AWS_REGION", "default"),
            ("GITHUB_SHA", "7f3a9c2b1d0e5f6a7f3a9c2b1d0e5f6a8b4c6d1e"),
            ("GIT_COMMIT", "7f3a9c2b1d0e5f6a7f3a9c2b1d0e5f6a8b4c6d1e"),
        ] {
            let text = format!("a {value} b");
            assert_eq!(secrets(&[(name, value)]).hide(&text), text, "{name}={value}");
        }
        let of_place = secrets(&[("PWD", "/builds/k9Zq2x7Gt1mWp4sY/app"), ("BUILD", "k9Zq2x7Gt1mWp4sY")]);
        assert_eq!(of_place.hide("/builds/k9Zq2x7Gt1mWp4sY"), "/builds/k9Zq2x7Gt1mWp4sY");
        let of_place = secrets(&[("PWD", "/work/secrets/app"), ("SECRETS_DIR", "/work/secrets")]);
        assert_eq!(of_place.hide("in /work/secrets/app"), "in /work/secrets/app");
    }

    #[test]
    fn hides_texts_of_values_and_keeps_names() {
        let secrets = secrets(&[("A_PASSWORD", "hunter22")]);
        let value = json!({"id": "hunter22", "title": "Start hunter22", "depends_on": ["hunter22"]});
        let hidden = json!({"id": "hunter22", "title": "Start ***", "depends_on": ["hunter22"]});
        assert_eq!(secrets.hidden(value), hidden);
        let report = json!({"completed": ["hunter22"], "unchanged": ["hunter22"], "by_edit": ["hunter22"]});
        assert_eq!(secrets.hidden(report.clone()), report);
        let of_word = Secrets::of(&[("A_TOKEN".to_owned(), "completed".to_owned())]);
        assert_eq!(of_word.hidden(crate::ExitReason::Completed), crate::ExitReason::Completed);
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
            secrets(&[("A_TOKEN", "abcdef-123456"), ("B_TOKEN", "123456-uvwxyz"), ("C_TOKEN", "bcdef-12")]);
        for (text, shown) in [
            ("x abcdef-123456-uvwxyz y", "x *** y"),
            ("x bcdef-12 y", "x *** y"),
            ("x abcdef-123", "x ***"),
            ("x 123456-uvw… y", "x ***… y"),
            ("x 123456-uvw … y", "x *** … y"),
            ("456-uvwxyz y", "*** y"),
            ("… 456-uvwxyz y", "… *** y"),
            ("x 123456-uvw y", "x 123456-uvw y"),
            ("é abcdef", "é abcdef"),
        ] {
            assert_eq!(secrets.hide(text), shown, "{text}");
        }
    }

    #[test]
    fn learns_values_and_shows_none() {
        let secrets = Secrets::default();
        assert_eq!(secrets.hide("zq9xk7v2m4tq8w1c"), "zq9xk7v2m4tq8w1c");
        secrets.learn(&[("MY_FLAG".to_owned(), "zq9xk7v2m4tq8w1c".to_owned())]);
        secrets.learn(&[("OTHER_TOKEN".to_owned(), "other-12".to_owned())]);
        assert_eq!(secrets.hide("zq9xk7v2m4tq8w1c other-12"), "*** ***");
        assert_eq!(format!("{secrets:?}"), "Secrets");
    }
}
