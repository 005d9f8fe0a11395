//! What `doctor` found.

use samuel_core::engine::{Checkup, Finding, Health};

use serde_json::{Value, json};

use super::{remedy_text, safe};

/// How far lines below a finding are moved in.
const INDENT: &str = "                         ";

/// Shows what was found: a line for each subject, and below it what to do.
pub(crate) fn checkup_text(checkup: &Checkup) -> String {
    checkup.findings.iter().map(finding_text).collect()
}

/// Returns what was found for programs, with what to do in words.
pub(crate) fn checkup_data(checkup: &Checkup) -> Value {
    let mut data = json!(checkup);
    let shown = data.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten();
    for (finding, shown) in checkup.findings.iter().zip(shown) {
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("help".to_owned(), json!(finding.help.as_ref().map(remedy_text)));
        }
    }
    data
}

fn finding_text(finding: &Finding) -> String {
    let health = match finding.health {
        Health::Failed => "FAILED",
        health => health.as_str(),
    };
    let mut text = format!("{health:<9}{:<16}{}\n", finding.subject.as_str(), safe(&finding.message));
    for detail in &finding.details {
        text.push_str(&format!("{INDENT}{}\n", safe(detail)));
    }
    if let Some(place) = &finding.location {
        let file = safe(&place.file.display().to_string());
        let position = [place.line, place.column].into_iter().flatten();
        let position: String = position.map(|number| format!(":{number}")).collect();
        text.push_str(&format!("{INDENT}--> {file}{position}\n"));
    }
    if let Some(help) = &finding.help {
        text.push_str(&format!("{INDENT}help: {}\n", safe(&remedy_text(help))));
    }
    text
}
