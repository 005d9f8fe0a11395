//! From bytes to a document and back, by way of the TOON codec.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use super::{Document, Missing, document::Part, header};
use crate::{DiagnosticKind, StateDiagnostic, StateError};
use samuel_model::{PLAN_VERSION, Task};
use samuel_toon::{Action, DecodeOptions, ErrorKind, Limits, NumberText, Skipped};

/// Writes a document with the header.
///
/// # Errors
/// Returns [`StateError::Encode`], also for an excerpt: it would take the place
/// of the whole plan.
pub(crate) fn encode(document: &Document) -> Result<String, StateError> {
    if !document.is_whole() {
        let reason = "only some of its tasks were read".to_owned();
        return Err(StateError::Encode { what: "plan", reason });
    }
    encode_tasks(document, &document.plan.tasks)
}

/// Writes a document with some of its tasks only.
///
/// # Errors
/// Returns [`StateError::Encode`].
pub(super) fn encode_tasks<'a>(
    document: &'a Document,
    tasks: impl IntoIterator<Item = &'a Task>,
) -> Result<String, StateError> {
    let text = to_toon("plan", &Part::new(document, tasks))?;
    // An empty list as the first TOON of version 3 writes it; the encoder is
    // younger. No other line can look like this: it would be indented.
    let text = text.replacen("\ntasks: []\n", "\ntasks[0]:\n", 1);
    Ok(format!("{}{text}", header::HEADER))
}

/// Reads a document and what is wrong with it.
///
/// # Errors
/// Returns [`StateError::Corrupt`] if there is no table of tasks or the file
/// is beyond all limits, and [`StateError::Version`] for another version.
pub(crate) fn decode(path: &Path, content: &[u8]) -> Result<(Document, Vec<StateDiagnostic>), StateError> {
    let body = header::body(path, content)?;
    let limits = Limits { line_length: LINE_BYTES, ..Limits::default() };
    let options = DecodeOptions { numbers: NumberText::AsWritten, limits, ..DecodeOptions::default() };
    let recovered = samuel_toon::recover_with::<Document>(body.text, options);
    let Some(mut document) = recovered.value else {
        let fault = recovered.diagnostics.iter().find(|fault| fault.action == Action::Stopped);
        let fault = fault.or(recovered.diagnostics.last());
        return Err(StateError::Corrupt {
            path: path.to_owned(),
            line: fault.map(|fault| fault.line + body.lines_before),
            column: fault.map(|fault| fault.column),
            reason: fault.map_or_else(|| "not a plan".to_owned(), |fault| fault.kind.to_string()),
        });
    };
    if document.plan.version != PLAN_VERSION {
        let found = document.plan.version.chars().take(header::MAX_SHOWN).collect();
        return Err(StateError::Version { path: path.to_owned(), what: "plan version", found });
    }
    document.unparsed.extend(recovered.skipped.iter().map(kept_text));
    document.missing = Missing::among(&recovered.diagnostics);
    document.unparsed.extend(document.missing.map(|missing| missing.to_string()));
    document.drop_stale_claims();
    let faults = recovered.diagnostics.iter().map(|fault| StateDiagnostic {
        file: path.to_owned(),
        line: Some(fault.line + body.lines_before),
        column: Some(fault.column),
        kind: kind(fault),
        reason: reason(fault),
        count: 1,
    });
    let more = (recovered.more > 0).then(|| StateDiagnostic::more(path.to_owned(), recovered.more));
    Ok((document, body.diagnostic.into_iter().chain(faults).chain(more).collect()))
}

/// No line that Samuel writes comes near this.
const LINE_BYTES: usize = 32 << 20;

fn kind(fault: &samuel_toon::Diagnostic) -> DiagnosticKind {
    match (&fault.kind, fault.action) {
        (ErrorKind::CountMismatch { .. }, _) => DiagnosticKind::CountMismatch,
        (_, Action::Skipped) => DiagnosticKind::Skipped,
        _ => DiagnosticKind::Unusual,
    }
}

fn reason(fault: &samuel_toon::Diagnostic) -> String {
    match fault.path.as_str() {
        "" => fault.kind.to_string(),
        path => format!("{path}: {}", fault.kind),
    }
}

/// Returns the text to keep of what was skipped. Bytes that are no text are
/// spelled out, so that nothing is lost.
fn kept_text(skipped: &Skipped) -> String {
    let Some(bytes) = &skipped.bytes else { return skipped.raw.clone() };
    bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        text.push_str(&chunk.invalid().escape_ascii().to_string());
        text
    })
}

/// Writes a value as TOON that ends with a line end.
///
/// # Errors
/// Returns [`StateError::Encode`].
pub(crate) fn to_toon<T: Serialize>(what: &'static str, value: &T) -> Result<String, StateError> {
    let mut text = samuel_toon::to_string(value)
        .map_err(|error| StateError::Encode { what, reason: error.to_string() })?;
    text.push('\n');
    Ok(text)
}

/// Reads a value from TOON with or without the header.
///
/// # Errors
/// Returns [`StateError::Corrupt`] or [`StateError::Version`].
pub(crate) fn from_toon<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, StateError> {
    let body = header::body(path, text.as_bytes())?;
    samuel_toon::from_slice(body.text).map_err(|error| StateError::Corrupt {
        path: path.to_owned(),
        line: Some(error.line() + body.lines_before),
        column: Some(error.column()),
        reason: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::{collection::vec, option, prelude::*, sample::select};

    use super::*;
    use crate::{
        MAX_REVISION, Mutation, NewTask, TaskChange, apply,
        plan_file::{Lines, encode_changed, read_excerpt},
    };
    use samuel_model::{
        Complexity, Groups, Plan, PlanHeader, Priority, Progress, ProgressStatus, Question, Source, Status,
        TaskId, Usage, settle,
    };

    const TRAPS: &[&str] =
        &["", " ", "#", "- a", "[2]", "{a}", "null", "true", "1.10", "-0", "1e5", "007", "a: b", "\\n"];

    /// Text with everything that means something in TOON, JSON or a terminal.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ a-z,|\"'#:\\\\\\[\\]{}\n\r\t-]{0,16}",
            any::<String>(),
            select(TRAPS).prop_map(str::to_owned),
            Just("naïve 日本語 🚀\u{202e}\u{0}\u{feff}\u{2028}".to_owned()),
        ]
    }

    fn time() -> impl Strategy<Value = Option<jiff::Timestamp>> {
        option::of(
            (0..4_000_000_000i64, 0..1_000_000_000i32).prop_map(|(s, n)| jiff::Timestamp::new(s, n).unwrap()),
        )
    }

    fn id() -> impl Strategy<Value = TaskId> {
        prop_oneof!["[0-9]{1,3}(\\.[0-9]{1,2}){0,2}", "[a-z0-9][a-z0-9._-]{0,8}"].prop_map(TaskId::new)
    }

    prop_compose! {
        fn task()(
            (id, title, description) in (id(), text(), text()),
            (status, priority, complexity, source) in
                (select(Status::ALL), select(Priority::ALL), select(Complexity::ALL), select(Source::ALL)),
            (parent_id, depends_on) in (option::of(id()), vec(id(), 0..3)),
            (files_to_create, files_to_modify, guardrails, acceptance) in
                (vec(text(), 0..3), vec(text(), 0..3), vec(text(), 0..3), vec(text(), 0..3)),
            (created_at, completed_at) in (time(), time()),
            (commit_sha, iteration, skip_reason, owner) in
                (option::of(text()), any::<Option<u32>>(), option::of(text()), option::of(text())),
            question in option::weighted(0.1, (text(), vec(text(), 0..3), option::of(text()))),
        ) -> Task {
            // Nobody works on what is completed.
            let owner = owner.filter(|_| status != Status::Completed);
            let question = question.map(|(text, options, answer)| Question { text, options, answer });
            Task {
                id, title, description, status, priority, complexity, source, parent_id, depends_on,
                files_to_create, files_to_modify, guardrails, acceptance, created_at, completed_at, commit_sha,
                iteration, skip_reason, owner, question, marks: Vec::new(),
            }
        }
    }

    prop_compose! {
        fn progress()(
            status in select(ProgressStatus::ALL),
            counts: [u64; 7],
            discovery_room: Option<u32>,
            current_iteration: u32,
            (last_discovery_at, last_iteration_at) in (time(), time()),
            cost_usd in proptest::num::f64::NORMAL | proptest::num::f64::ZERO,
        ) -> Progress {
            let [
                total_tasks, completed_tasks, total_iterations_run, impl_iterations, discovery_iterations,
                last_discovery_iteration, tokens,
            ] = counts;
            Progress {
                status, total_tasks, completed_tasks, current_iteration, total_iterations_run, impl_iterations,
                discovery_iterations, last_discovery_at, last_discovery_iteration, discovery_room,
                last_iteration_at, cost_usd, tokens,
            }
        }
    }

    prop_compose! {
        fn plan()(
            revision in 0..=MAX_REVISION,
            (name, description, source_prd) in (text(), text(), option::of(text())),
            prd_format in option::of(text()),
            (created_at, updated_at) in (time(), time()),
            mut tasks in vec(task(), 0..6),
            parents in vec(option::of(0..6usize), 6),
            progress in progress(),
            baseline in text(),
        ) -> Plan {
            let mut seen = std::collections::HashSet::new();
            tasks.retain(|task| seen.insert(task.id.clone()));
            let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
            for (task, parent) in tasks.iter_mut().zip(parents) {
                task.parent_id = parent.and_then(|parent| ids.get(parent).cloned()).or(task.parent_id.take());
            }
            // A store has groups stand where their parts say.
            settle(&mut tasks, None);
            let project = PlanHeader { name, description, source_prd, prd_format, methodology: None, created_at, updated_at };
            Plan { version: PLAN_VERSION.to_owned(), revision, project, tasks, progress, claims: Vec::new(), baseline }
        }
    }

    fn mutation() -> impl Strategy<Value = fn(TaskId) -> Mutation> {
        select(vec![
            (|id| Mutation::Done { id, commit_sha: Some("1e50".to_owned()), iteration: Some(1) })
                as fn(_) -> _,
            |id| Mutation::Skip { id, reason: Some("a\nb, \"c\"".to_owned()) },
            |id| Mutation::Reset { id },
            |id| Mutation::TakeBack { ids: vec![id], failures: Vec::new() },
            |id| Mutation::Enqueue { task: NewTask { depends_on: vec![id], ..NewTask::new("# new") } },
            |_| Mutation::AddUsage { usage: Usage { cost_usd: Some(1.0), ..Usage::default() } },
        ])
    }

    /// Adds a column with a cell in every row.
    fn with_column(text: &str, rows: usize, column: Option<&str>) -> String {
        let Some(column) = column else { return text.to_owned() };
        let table = text.lines().position(|line| line.starts_with("tasks[")).unwrap();
        let line = |(number, line): (usize, &str)| match number.checked_sub(table) {
            Some(0) => format!("{},{column}}}:\n", line.strip_suffix("}:").unwrap()),
            Some(row) if row <= rows => format!("{line},me\n"),
            _ => format!("{line}\n"),
        };
        text.lines().enumerate().map(line).collect()
    }

    proptest! {
        #[test]
        fn a_change_over_the_text_gives_what_the_whole_plan_anew_would(
            plan in plan(), mutation in mutation(), at: prop::sample::Index
        ) {
            let mut document = Document::new(plan);
            let text = encode(&document).unwrap();
            let count = document.plan.tasks.len();
            let read = Lines::find(&text).expect("Samuel's own text has lines");
            let id = document.plan.tasks.get(at.index(count.max(1))).map_or(TaskId::new("1"), |task| task.id.clone());
            if let Ok(change) = apply(document.plan_mut(), &mutation(id), jiff::Timestamp::UNIX_EPOCH) {
                document.plan_mut().revision += 1;
                prop_assert_eq!(encode_changed(&document, read, &change).unwrap().concat(), encode(&document).unwrap());
            }
        }

        #[test]
        fn a_change_of_a_few_rows_gives_what_the_whole_plan_anew_would(
            plan in plan(), mutation in mutation(), at: prop::sample::Index,
            column in option::of(select(vec!["team", "\"due-date\"", "due-date"]))
        ) {
            let count = plan.tasks.len();
            let Some(id) = plan.tasks.get(at.index(count.max(1))).map(|task| task.id.clone()) else {
                return Ok(());
            };
            let text = with_column(&encode(&Document::new(plan)).unwrap(), count, column);
            let (mut document, diagnostics) = decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
            prop_assert_eq!(diagnostics, []);
            let mutation = mutation(id);
            let Some(ids) = mutation.tasks() else { return Ok(()) };
            let excerpt = read_excerpt(Path::new("prd.toon"), text.as_bytes(), &ids);
            // Samuel would quote that name, and whether there are questions depends on every row.
            prop_assert_eq!(excerpt.is_none(), column == Some("due-date") || document.has_questions());
            let Some(mut excerpt) = excerpt else { return Ok(()) };
            let has_groups = !Groups::of(&document.plan.tasks).is_empty();
            prop_assert!(excerpt.plan.tasks.len() <= 2 || has_groups);
            let now = jiff::Timestamp::UNIX_EPOCH;
            let changes = [document.apply(&mutation, now).ok(), excerpt.apply(&mutation, now).ok()];
            prop_assert_eq!(&changes[0], &changes[1]);
            if let [Some(change), _] = changes && change != TaskChange::Unchanged {
                let lines = Lines::find(&text).unwrap();
                prop_assert_eq!(encode_changed(&excerpt, lines, &change).unwrap().concat(), encode(&document).unwrap());
            }
        }

        #[test]
        fn any_plan_survives_a_save_and_a_load(plan in plan(), unparsed in vec(text(), 0..3)) {
            let mut document = Document::new(plan.clone());
            document.unparsed.clone_from(&unparsed);
            let written = encode(&document).unwrap();
            let (read, diagnostics) = decode(Path::new("prd.toon"), written.as_bytes()).unwrap();
            prop_assert_eq!(&*read.plan, &plan);
            prop_assert!(!written.contains("\ntasks: []"));
            prop_assert_eq!(&read.unparsed, &unparsed);
            prop_assert_eq!(diagnostics, []);
            prop_assert_eq!(encode(&read).unwrap(), written);
        }

        #[test]
        fn no_damage_makes_reading_panic_or_a_save_lose_what_was_skipped(
            plan in plan(), at: prop::sample::Index, damage in vec(any::<u8>(), 0..9), cut in 0..9usize
        ) {
            let mut bytes = encode(&Document::new(plan)).unwrap().into_bytes();
            let start = at.index(bytes.len());
            let end = (start + cut).min(bytes.len());
            bytes.splice(start..end, damage);
            if let Ok((read, _)) = decode(Path::new("prd.toon"), &bytes) {
                let again = encode(&read).unwrap();
                let (back, diagnostics) = decode(Path::new("prd.toon"), again.as_bytes()).unwrap();
                prop_assert_eq!(diagnostics, []);
                prop_assert_eq!((&back.plan, &back.unparsed), (&read.plan, &read.unparsed));
            }
        }
    }
}
