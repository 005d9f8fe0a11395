//! The corpus in `tests/data/prd`: for each form documents as people write
//! them, with the plans they become.
//!
//! `SAMUEL_WRITE=1` writes the plans anew, to be read before they are kept.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use super::*;
use crate::{Form, companion_name};
use samuel_model::TaskId;

/// A document of the corpus.
pub(super) struct Sample {
    pub(super) form: Form,
    pub(super) document: Document,
    pub(super) companion: Option<Document>,
}

pub(super) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/prd")
}

/// Reads the samples of a form, in the order of their names.
pub(super) fn samples(form: Form) -> Vec<Sample> {
    let directory = directory().join(form.name());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_sample = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        !name.ends_with(".expected.json") && !name.starts_with("tasks-")
    };
    let read = |path: PathBuf| Document::new(path.clone(), fs::read_to_string(&path).unwrap());
    let sample = |path: PathBuf| {
        let companion = companion_name(&path).into_iter().find(|path| path.is_file()).map(read);
        Sample { form, document: read(path), companion }
    };
    paths.into_iter().filter(is_sample).map(sample).collect()
}

pub(super) fn all() -> Vec<Sample> {
    Form::ALL.into_iter().flat_map(samples).collect()
}

impl Sample {
    pub(super) fn convert(&self) -> Conversion {
        convert(&self.document, self.companion.as_ref(), now()).unwrap()
    }
}

/// Shows a conversion without what is as it always is.
fn shown(conversion: &Conversion) -> Value {
    let tasks: Vec<Value> = conversion.tasks.iter().map(task).collect();
    let told = |remarks: &[Remark]| -> Vec<Value> {
        remarks.iter().map(|remark| json!(format!("{}: {}", remark.line, remark.message))).collect()
    };
    json!({
        "form": conversion.form,
        "name": conversion.name,
        "description": conversion.description,
        "tasks": tasks,
        "warnings": told(&conversion.warnings),
        "errors": told(&conversion.errors),
    })
}

fn task(task: &Task) -> Value {
    let usual =
        Task { source: samuel_model::Source::Prd, created_at: Some(now()), ..Task::new(TaskId::new(""), "") };
    let (Value::Object(task), Value::Object(usual)) =
        (serde_json::to_value(task).unwrap(), serde_json::to_value(usual).unwrap())
    else {
        panic!("a task is an object")
    };
    let told: Map<String, Value> =
        task.into_iter().filter(|(name, value)| usual.get(name) != Some(value)).collect();
    Value::Object(told)
}

#[test]
fn every_form_has_six_documents_that_become_the_plans_beside_them() {
    let mut wrong = Vec::new();
    for form in Form::ALL {
        let samples = samples(form);
        assert!(samples.len() >= 6, "{form} has {}", samples.len());
        for sample in samples {
            let path = sample.document.path.with_extension("expected.json");
            let conversion = sample.convert();
            assert_eq!(conversion.form, form, "{}", sample.document.path.display());
            let found = serde_json::to_string_pretty(&shown(&conversion)).unwrap() + "\n";
            if std::env::var_os("SAMUEL_WRITE").is_some() {
                fs::write(&path, &found).unwrap();
            } else if fs::read_to_string(&path).ok().as_deref() != Some(&*found) {
                wrong.push(format!("{}:\n{found}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_form_that_is_asked_for_reads_its_documents_as_detection_does() {
    for sample in all() {
        let detected = sample.convert();
        let asked = crate::convert_as(Some(sample.form), &sample.document, sample.companion.as_ref(), now());
        assert_eq!(asked.unwrap(), detected, "{}", sample.document.path.display());
    }
}
