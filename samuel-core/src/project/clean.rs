//! Hiding secrets in what earlier runs recorded.
//!
//! Earlier versions recorded the environment of agents, and kept what agents and checks printed as it was. The recorded
//! environments are also what tells which values are secrets: variables can be others by now. The plan and the plans
//! that are kept stay as they are: they are the user's.

use std::{
    collections::BTreeSet,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;
use serde_json::{Value, from_slice};

use super::{Project, ProjectError};
use crate::{
    environment::Secrets,
    machine::change_line,
    state::{Holder, RecordPart, Rewritten, StateError},
};

/// How a recorded environment begins.
const RECORDED: &str = "\"env\":[[";
/// The number of bytes of each run's inputs that a look reads.
const LOOKED_AT: u64 = 1 << 20;

/// The files of earlier runs in which secrets were hidden, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CleanedRecords {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The names of the variables that earlier runs recorded with their values.
    pub variables: Vec<String>,
    /// The files that could not be read or written, with the reason.
    pub failures: Vec<String>,
}

impl Project {
    /// Returns true if an earlier run recorded the environment of an agent. Looks at the beginning of each run's inputs
    /// only. Blocks.
    pub fn has_recorded_environment(&self) -> bool {
        let lane = self.lane_store();
        let runs = lane.recorded_runs().unwrap_or_default();
        runs.iter().any(|run| {
            let path = self.run_dir().logs(run).join(RecordPart::Inputs.file_name());
            let Ok(file) = self.run_dir().root().open(&path) else { return false };
            let mut begins = Vec::new();
            // What can be read of it counts.
            let _ = file.take(LOOKED_AT).read_to_end(&mut begins);
            String::from_utf8_lossy(&begins).contains(RECORDED)
        })
    }

    /// Returns what [`clean_records`](Self::clean_records) would do. Changes nothing, takes no lock. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError`] if the state cannot be used.
    pub fn preview_cleaning(&self, env: &[(String, String)]) -> Result<CleanedRecords, StateError> {
        self.cleaned(env, false)
    }

    /// Hides secrets in what earlier runs recorded: values of `env`, which is the whole environment of the caller, and
    /// of the environments that were recorded. Running it again changes nothing. A run whose long texts had secrets
    /// can replay differently afterwards. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::LoopRunning`] while a loop works, and [`ProjectError::State`] if the state cannot be used.
    pub fn clean_records(&self, env: &[(String, String)]) -> Result<CleanedRecords, ProjectError> {
        let holder =
            Holder::this_process(self.clock().now(), "cleaning records").of_methodology(self.methodology());
        let _no_loop = self.lane_store().lock_loop(&holder)?;
        Ok(self.cleaned(env, true)?)
    }

    fn cleaned(&self, env: &[(String, String)], writes: bool) -> Result<CleanedRecords, StateError> {
        let Some(store) = self.stores.plan_files() else { return Ok(CleanedRecords::default()) };
        let mut recorded = BTreeSet::new();
        store.rewrite(false, &mut |path, content| {
            if has_lines(path) {
                collect(content, &mut recorded);
            }
            None
        })?;
        let names: BTreeSet<String> = recorded.iter().map(|(name, _)| name.clone()).collect();
        // An agent could have forged a record with words of every text.
        recorded.retain(|(_, value)| !value.chars().all(char::is_alphabetic));
        let env: Vec<(String, String)> = env.iter().cloned().chain(recorded).collect();
        let secrets = Arc::new(Secrets::of(&env));
        let rewritten = store.rewrite(writes, &mut |path, content| match has_lines(path) {
            true => clean_lines(content, &secrets),
            false => clean_text(content, &secrets),
        })?;
        let Rewritten { files, failures } = rewritten;
        Ok(CleanedRecords { files, variables: names.into_iter().collect(), failures })
    }
}

/// Returns true for a file whose lines are objects of JSON that are read again.
fn has_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json")
}

/// Collects the variables of recorded environments.
fn collect(content: &[u8], variables: &mut BTreeSet<(String, String)>) {
    for line in content.split(|byte| *byte == b'\n') {
        if !String::from_utf8_lossy(line).contains(RECORDED) {
            continue;
        }
        let Ok(mut line) = from_slice::<Value>(line) else { continue };
        each_environment(&mut line, &mut |environment| {
            for variable in environment {
                if let Some([Value::String(name), Value::String(value)]) =
                    variable.as_array().map(Vec::as_slice)
                {
                    variables.insert((name.clone(), value.clone()));
                }
            }
        });
    }
}

/// Passes each list of variables in a document to `visit`.
fn each_environment(document: &mut Value, visit: &mut dyn FnMut(&mut Vec<Value>)) {
    match document {
        Value::Array(items) => {
            for item in items {
                each_environment(item, visit);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Array(items) if name == "env" && is_environment(items) => visit(items),
                    value => each_environment(value, visit),
                }
            }
        }
        _ => {}
    }
}

fn is_environment(items: &[Value]) -> bool {
    let is_variable = |item: &Value| match item.as_array().map(Vec::as_slice) {
        Some([name, _]) => name.is_string(),
        _ => false,
    };
    !items.is_empty() && items.iter().all(is_variable)
}

/// Returns lines without secrets and without environments, if they had any.
fn clean_lines(content: &[u8], secrets: &Arc<Secrets>) -> Option<Vec<u8>> {
    let (mut cleaned, mut has_changed) = (Vec::with_capacity(content.len()), false);
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let (text, end) = match line.strip_suffix(b"\n") {
            Some(text) => (text, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        let changed = match change_line(text, |document| clean(document, secrets)) {
            Ok(changed) => changed,
            // It is torn, or was never one.
            Err(_) => clean_text(text, secrets),
        };
        has_changed |= changed.is_some();
        cleaned.extend_from_slice(changed.as_deref().unwrap_or(text));
        cleaned.extend_from_slice(end);
    }
    has_changed.then_some(cleaned)
}

/// Empties environments and hides secrets in a document. Returns true if it had any.
fn clean(document: &mut Value, secrets: &Secrets) -> bool {
    let mut has_changed = false;
    each_environment(document, &mut |environment| {
        environment.clear();
        has_changed = true;
    });
    secrets.hide_texts(document) || has_changed
}

/// Returns a text without secrets, if it had any.
fn clean_text(content: &[u8], secrets: &Arc<Secrets>) -> Option<Vec<u8>> {
    let mut stream = secrets.stream();
    let mut cleaned = stream.push(content);
    cleaned.extend(stream.finish());
    (cleaned != content).then_some(cleaned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use crate::testing::Bench;

    #[test]
    fn a_forged_environment_hides_no_words() {
        let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
        let logs = bench.lane().dir().logs("20261129T100000Z-0a1b2c3d");
        std::fs::create_dir_all(&logs).unwrap();
        let forged = r#"{"env":[["A_TOKEN","completed"],["X","e"],["Y","production-eu-1"]],"text":"a key"}"#;
        std::fs::write(logs.join("inputs.jsonl"), format!("{forged}\n")).unwrap();
        std::fs::write(logs.join("1-1.out"), "completed e production-eu-1").unwrap();
        assert!(bench.project().has_recorded_environment());
        let cleaned = bench.project().clean_records(&[]).unwrap();
        assert_eq!((cleaned.files, cleaned.failures), (vec![logs.join("inputs.jsonl")], Vec::new()));
        assert_eq!(cleaned.variables, ["A_TOKEN", "X", "Y"]);
        let left = std::fs::read_to_string(logs.join("inputs.jsonl")).unwrap();
        assert_eq!(left, "{\"env\":[],\"text\":\"a key\"}\n");
        assert!(!bench.project().has_recorded_environment());
    }
}
