//! Plugins on a terminal: what one asks for, and what it was granted.

use samuel_core::plugin::{Capabilities, FetchedPlugin, InstalledPlugin, Manifest, PluginKind, consequences};
use serde_json::{Value, json};

use super::safe;

/// Shows what a plugin handles and asks for, before it is installed.
pub(crate) fn fetched_text(fetched: &FetchedPlugin) -> String {
    let manifest = fetched.manifest();
    let mut text = head(manifest);
    text.push_str(&format!("  from {}\n", safe(fetched.source())));
    if let Some(before) = fetched.before().filter(|_| fetched.is_another_kind()) {
        text.push_str(&format!("+ it is of kind {} now, and was of kind {}\n", manifest.kind, before.kind));
    }
    if let Some(moved) = fetched.moved() {
        let (before, now) = (safe(&moved.before), safe(&moved.now));
        text.push_str(&format!(
            "+ it has something else there now than was installed from it: {before} before, {now} now\n"
        ));
    }
    text.push_str(&handlers_text(manifest));
    let new = fetched.new_capabilities();
    match manifest.capabilities.is_empty() {
        true => text.push_str("It asks for nothing\n"),
        false => {
            text.push_str("It asks for\n");
            let is_update = fetched.before().is_some();
            text.push_str(&capability_rows(manifest, &manifest.capabilities, |name| {
                is_update && new.iter().any(|(capability, _)| capability.as_str() == name)
            }));
        }
    }
    for line in fetched.consequences() {
        text.push_str(&format!("{}\n", safe(&line)));
    }
    if manifest.kind == PluginKind::Skill && !manifest.bindings.is_empty() {
        text.push_str(
            "Its scripts run with all your rights: what they ask for is shown and recorded, and enforced only \
             in a sandbox\n",
        );
    }
    text
}

/// The same for programs.
pub(crate) fn fetched_data(fetched: &FetchedPlugin) -> Value {
    let manifest = fetched.manifest();
    let new = fetched.new_capabilities();
    let asked = manifest.capabilities.iter().map(|(capability, targets)| {
        json!({
            "capability": capability,
            "targets": targets,
            "reason": manifest.reasons.get(&capability),
            "is_new": new.has(capability),
        })
    });
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "kind": manifest.kind,
        "kind_before": fetched.before().map(|before| before.kind),
        "source": fetched.source(),
        "hooks": manifest.bindings,
        "capabilities": asked.collect::<Vec<_>>(),
        "consequences": fetched.consequences(),
        "moved": fetched.moved(),
    })
}

/// Shows an installed plugin.
pub(crate) fn info_text(entry: &InstalledPlugin, manifest: &Manifest) -> String {
    let mut text = head(manifest);
    text.push_str(&format!("  from {}\n", safe(&entry.source)));
    if let Some(commit) = &entry.commit {
        text.push_str(&format!("  at the commit {}\n", safe(commit)));
    }
    if let Some(pin) = &entry.pin {
        text.push_str(&format!("  of the archive or artifact {}\n", safe(pin)));
    }
    let said = [
        ("by", manifest.authors.join(", ")),
        ("licence", manifest.license.clone()),
        ("source", manifest.repository.clone()),
    ];
    for (word, said) in said.iter().filter(|(_, said)| !said.is_empty()) {
        text.push_str(&format!("  {word} {}\n", safe(said)));
    }
    text.push_str(&format!("  namespace {}\n  {}\n", safe(&manifest.namespace), safe(&entry.digest)));
    text.push_str(&handlers_text(manifest));
    for profile in &manifest.profiles {
        text.push_str(&format!("It provides the methodology {}\n", safe(&profile.name)));
    }
    if let Some(settings) = manifest.settings.as_ref().filter(|settings| !settings.is_empty()) {
        let rows = settings.iter().map(|(key, setting)| {
            let needed = if setting.required { "required" } else { "" };
            [
                format!("  {key}"),
                setting.kind.as_str().to_owned(),
                needed.to_owned(),
                setting.description.clone(),
            ]
        });
        text.push_str(&format!("It takes the settings\n{}", columns(&rows.collect::<Vec<_>>())));
    }
    match entry.granted.is_empty() {
        true => text.push_str("It was granted nothing\n"),
        false => {
            text.push_str("It was granted\n");
            text.push_str(&capability_rows(manifest, &entry.granted, |_| false));
        }
    }
    for line in consequences(manifest, &entry.granted) {
        text.push_str(&format!("{}\n", safe(&line)));
    }
    text
}

fn head(manifest: &Manifest) -> String {
    let mut text = format!("{} {} ({})\n", safe(&manifest.name), manifest.version, manifest.kind);
    if !manifest.description.is_empty() {
        text.push_str(&format!("  {}\n", safe(&manifest.description)));
    }
    text
}

fn handlers_text(manifest: &Manifest) -> String {
    let rows: Vec<[String; 2]> = manifest
        .bindings
        .iter()
        .map(|binding| [format!("  {}", binding.point), binding.handler.clone()])
        .collect();
    if rows.is_empty() { String::new() } else { format!("It handles\n{}", columns(&rows)) }
}

fn capability_rows(manifest: &Manifest, shown: &Capabilities, is_new: impl Fn(&str) -> bool) -> String {
    let rows: Vec<[String; 3]> = shown
        .iter()
        .map(|(capability, targets)| {
            let name = capability.as_str();
            let mark = if is_new(name) { "+ " } else { "  " };
            let reason =
                manifest.reasons.get(&capability).map(|reason| format!("({reason})")).unwrap_or_default();
            [format!("{mark}{name}"), targets.join(", "), reason]
        })
        .collect();
    columns(&rows)
}

/// Writes rows with their cells below each other.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| safe(cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
