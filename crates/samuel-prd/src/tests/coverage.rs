//! No line falls out of a document: each is in a task, in the text around the
//! tasks, or in a warning.

use std::collections::{HashMap, HashSet};

use super::corpus::{self, Sample};
use super::mutate::{Random, mutate};
use super::*;
use crate::Form;
use crate::convert::convert_with_uses;
use crate::draft::Use;

/// Words that fields are introduced by, or that became a status or a number.
const SYNTAX: &[&str] = &[
    "acceptance",
    "accepted",
    "ac",
    "acs",
    "after",
    "affected",
    "and",
    "blocked",
    "by",
    "change",
    "complete",
    "complexity",
    "create",
    "creates",
    "criteria",
    "criterion",
    "critical",
    "definition",
    "dependencies",
    "dependency",
    "depends",
    "deps",
    "difficult",
    "done",
    "easy",
    "effort",
    "epic",
    "file",
    "files",
    "guardrail",
    "guardrails",
    "hard",
    "high",
    "id",
    "in",
    "large",
    "low",
    "medium",
    "moderate",
    "modifies",
    "modify",
    "needs",
    "new",
    "no",
    "notes",
    "details",
    "none",
    "normal",
    "nr",
    "of",
    "on",
    "open",
    "p",
    "p0",
    "p1",
    "p2",
    "p3",
    "p4",
    "phase",
    "prerequisite",
    "prerequisites",
    "priority",
    "prio",
    "progress",
    "relevant",
    "requires",
    "scenarios",
    "simple",
    "small",
    "state",
    "status",
    "step",
    "story",
    "subtask",
    "task",
    "tasks",
    "title",
    "to",
    "todo",
    "tokens",
    "trivial",
    "us",
    "user",
    "when",
    "work",
    "x",
    "dropped",
    "description",
];

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns a line without an estimate of tokens, of which the complexity is kept.
fn without_estimate(line: &str) -> String {
    // The number of an item is the list's.
    let digits = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let line = if digits.starts_with([')', '.']) { digits } else { line };
    let line = line.split_once("(AC").map_or(line, |(before, _)| before);
    match line.split_once("[~") {
        Some((before, rest)) => before.to_owned() + rest.split_once(']').map_or("", |(_, behind)| behind),
        None => line.to_owned(),
    }
}

/// Returns every word that tasks and remarks have.
fn kept(conversion: &Conversion) -> HashSet<String> {
    let mut kept: HashSet<String> = SYNTAX.iter().map(|word| (*word).to_owned()).collect();
    for task in &conversion.tasks {
        let value = serde_json::to_value(task).unwrap();
        collect(&value, &mut kept);
    }
    for remark in conversion.warnings.iter().chain(&conversion.errors) {
        kept.extend(words(&remark.message));
    }
    kept
}

fn collect(value: &serde_json::Value, kept: &mut HashSet<String>) {
    match value {
        serde_json::Value::String(text) => kept.extend(words(text)),
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, kept)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| collect(value, kept)),
        _ => {}
    }
}

/// Says whether a line is an item with a box.
fn has_box(line: &str) -> bool {
    let rest = line.trim_start();
    let rest = rest.strip_prefix(['-', '*', '+']).unwrap_or("");
    [" [ ] ", " [x] ", " [-] ", " [~] ", " [>] ", " [/] "].iter().any(|mark| rest.starts_with(mark))
}

/// Whether numbers stay as they are, or may become something else.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    Stay,
    May,
}

/// Checks a document, and returns how many lines there were of each use, and which words
/// are in fewer places of the plan than of the document.
fn check(sample: &Sample, is_whole: bool, numbers: Numbers) -> ([usize; 3], Vec<String>) {
    let Ok((conversion, uses)) = convert_with_uses(None, &sample.document, sample.companion.as_ref(), now())
    else {
        return ([0; 3], Vec::new());
    };
    let mut counts = [0; 3];
    if conversion.tasks.is_empty() || !conversion.errors.is_empty() {
        return (counts, Vec::new());
    }
    let document = match conversion.form {
        Form::Companion => sample.companion.as_ref().unwrap(),
        _ => &sample.document,
    };
    let told: HashSet<usize> = conversion.warnings.iter().map(|remark| remark.line).collect();
    let counted = conversion.warnings.iter().find(|remark| remark.kind == RemarkKind::MoreRemarks);
    let mut counted: usize = counted.map_or(0, |more| words(&more.message)[0].parse().unwrap());
    let kept = kept(&conversion);
    let is_json = document.text.trim_start().starts_with(['{', '[']);
    // In a document as somebody wrote it every word is as often in the plan as in its lines.
    let mut owed: HashMap<String, usize> = HashMap::new();
    let mut whole: Option<usize> = None;
    for (index, line) in document.text.trim_start_matches('\u{feff}').split('\n').enumerate() {
        let line = line.trim_end_matches('\r');
        let level = line.len() - line.trim_start_matches('#').len();
        if level > 0 && whole.is_none_or(|above| level <= above) {
            let title = line.trim_start_matches('#').to_lowercase();
            let is_whole = ["acceptance", "definition", "goals", "requirements", "notes"]
                .iter()
                .any(|word| title.contains(word));
            whole = is_whole.then_some(level);
        }
        let at = format!("{}:{}: {line:?}\n{}", document.path.display(), index + 1, document.text);
        match uses.get(index).copied().unwrap_or_default() {
            _ if line.trim().is_empty() => {}
            Use::Task => {
                counts[0] += 1;
                // A rank in a table is a priority; an id that is there twice may be that of
                // another task, and a number after `AC` stands for a criterion.
                let is_rank = |word: &str| {
                    let is_number = word.bytes().all(|c| c.is_ascii_digit());
                    is_number && (conversion.form == Form::Table || numbers == Numbers::May)
                };
                let lost: Vec<String> = words(&without_estimate(line))
                    .into_iter()
                    .filter(|word| !kept.contains(word) && !is_rank(word))
                    .collect();
                assert!(is_json || lost.is_empty() || !is_whole, "{lost:?} are lost from {at}");
                if numbers == Numbers::Stay && !is_json {
                    let owes = words(&without_estimate(line)).into_iter().filter(|word| !is_syntax(word));
                    owes.for_each(|word| *owed.entry(word).or_default() += 1);
                }
            }
            Use::Text => {
                counts[1] += 1;
                assert!(!is_whole || whole.is_some() || !has_box(line), "a box fell silently from {at}");
            }
            Use::Remark => {
                counts[2] += 1;
                if !told.contains(&(index + 1)) {
                    assert!(counted > 0, "neither a warning for it nor in their count: {at}");
                    counted -= 1;
                }
            }
        }
    }
    let paid = occurrences(&conversion);
    let found = |word: &String| paid.get(word).copied().unwrap_or_default();
    let lost: Vec<String> = owed
        .iter()
        .filter(|(word, times)| found(word) < **times)
        .map(|(word, times)| format!("{word} ({times} in the document, {} in the plan)", found(word)))
        .collect();
    (counts, lost)
}

/// Says whether a word introduces a field, or may become a number, an id or a status.
fn is_syntax(word: &str) -> bool {
    // A file to test is one to modify.
    SYNTAX.contains(&word) || word == "test" || word.bytes().any(|c| c.is_ascii_digit())
}

/// Counts every word that tasks and remarks have.
fn occurrences(conversion: &Conversion) -> HashMap<String, usize> {
    fn count(value: &serde_json::Value, found: &mut HashMap<String, usize>) {
        match value {
            serde_json::Value::String(text) => {
                words(text).into_iter().for_each(|word| *found.entry(word).or_default() += 1);
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| count(value, found)),
            serde_json::Value::Object(fields) => fields.values().for_each(|value| count(value, found)),
            _ => {}
        }
    }
    let mut found = HashMap::new();
    conversion.tasks.iter().for_each(|task| count(&serde_json::to_value(task).unwrap(), &mut found));
    for remark in conversion.warnings.iter().chain(&conversion.errors) {
        count(&remark.message.clone().into(), &mut found);
    }
    found
}

#[test]
fn every_line_of_the_corpus_is_in_a_task_in_the_text_or_in_a_warning() {
    let mut sum = [0; 3];
    let mut wrong = Vec::new();
    for sample in corpus::all() {
        let (counts, lost) = check(&sample, true, Numbers::Stay);
        if counts[0] == 0 || !lost.is_empty() {
            wrong.push(format!("{}: {counts:?}, {}", sample.document.path.display(), lost.join(", ")));
        }
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sum[0] > 500 && sum[1] > 50 && sum[2] > 10, "{sum:?}");
}

#[test]
fn every_line_of_a_mutated_corpus_is_accounted_for() {
    let samples = corpus::all();
    let rounds = if std::env::var_os("SAMUEL_LONG").is_some() { 20_000 } else { 1_000 };
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let sample = &samples[random.below(samples.len())];
        let other = &samples[random.below(samples.len())];
        let text = mutate(&mut random, &sample.document.text, &other.document.text);
        let document = Document::new(sample.document.path.clone(), text);
        // What code and HTML hold is text, whatever it looks like.
        let is_whole =
            !["```", "~~~", "<", "    ", "\t", ">"].iter().any(|mark| document.text.contains(mark))
                && sample.companion.is_none();
        check(&Sample { form: sample.form, document, companion: None }, is_whole, Numbers::May);
    }
}
