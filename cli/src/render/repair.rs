//! What a repair of the plan does, and which records of runs lose secrets.

use samuel_core::{project::CleanedRecords, state::Repair};

use super::safe;

/// How many lines of the plan are shown of each kind; the others are counted.
const SHOWN: usize = 100;

/// Shows what is wrong with the plan and what becomes of it.
pub(crate) fn repair_text(repair: &Repair) -> String {
    let faults = repair.diagnostics.iter().map(|fault| format!("wrong     {}\n", safe(&fault.to_string())));
    let restored = repair.restored.iter().map(|row| {
        let changes = row.changes.iter().map(|change| format!("          {}\n", safe(change)));
        format!("task {:<5}{}\n{}", safe(row.id.as_str()), safe(row.text.trim()), changes.collect::<String>())
    });
    let left = repair
        .left
        .iter()
        .map(|row| format!("stays     {}\n          {}\n", safe(row.text.trim()), safe(&row.reason)));
    let text: String = faults
        .chain(restored.take(SHOWN))
        .chain(more(repair.restored.len(), "lines that are tasks again"))
        .chain(left.take(SHOWN))
        .chain(more(repair.left.len(), "lines that stay as they are"))
        .collect();
    match (&repair.backup, text.is_empty()) {
        (Some(backup), _) => {
            format!("{text}repaired; the file as it was is {}\n", safe(&backup.display().to_string()))
        }
        (None, true) => "nothing is wrong with the plan\n".to_owned(),
        (None, false) => text,
    }
}

/// Shows the files of earlier runs in which secrets are hidden.
pub(crate) fn records_text(records: &CleanedRecords) -> String {
    let files = records.files.iter().map(|file| format!("secrets   {}\n", safe(&file.display().to_string())));
    let failures = records.failures.iter().map(|failure| format!("not read  {}\n", safe(failure)));
    let variables = match records.variables.is_empty() || records.files.is_empty() {
        true => None,
        false => Some(format!("recorded  {}\n", safe(&records.variables.join(", ")))),
    };
    files
        .take(SHOWN)
        .chain(more(records.files.len(), "files with secrets"))
        .chain(variables)
        .chain(failures.take(SHOWN))
        .collect()
}

/// Says what to do about lines that a repair leaves as they are; nothing where there are none.
pub(crate) fn left_text(repair: &Repair) -> &'static str {
    match repair.left.is_empty() {
        true => "",
        false => {
            "Next: correct the lines that stay, or remove them; prd.toon has them in `unparsed`. Then run `samuel \
             doctor --fix` again\n"
        }
    }
}

/// Counts what is not shown.
fn more(count: usize, what: &str) -> Option<String> {
    (count > SHOWN).then(|| format!("          and {} more {what}\n", count - SHOWN))
}
