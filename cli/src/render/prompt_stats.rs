//! The sections of a prompt, and how much each takes.

use samuel_core::context::{PromptSection, PromptStats};

use super::safe;

/// The heading of what stands before the first one.
const OPENING: &str = "(how to read it)";

/// Writes a row for each section, the total, and what was left out.
pub(crate) fn prompt_stats_text(stats: &PromptStats) -> String {
    let names: Vec<String> = stats.sections.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default().max("section".len());
    let mut text = format!("{:<width$}{:>10}\n", "section", "tokens");
    for (name, section) in names.iter().zip(&stats.sections) {
        text.push_str(&format!("{name:<width$}{:>10}\n", section.tokens));
    }
    text.push_str(&format!("{:<width$}{:>10}\n", "total", stats.tokens));
    text.push_str(&format!(
        "\nTokens are an estimate, {}: each model counts in its own way.\n",
        stats.method
    ));
    let left_out: Vec<String> = stats.sections.iter().flat_map(left_out).collect();
    if !left_out.is_empty() {
        text.push_str("\nLeft out\n");
        left_out.iter().for_each(|line| text.push_str(line));
    }
    text
}

fn name(section: &PromptSection) -> String {
    match section.level {
        0 => OPENING.to_owned(),
        level => format!("{}{}", "  ".repeat(usize::from(level - 1)), safe(&section.title)),
    }
}

fn left_out(section: &PromptSection) -> impl Iterator<Item = String> {
    let what = section.quotations.iter().filter_map(|quotation| quotation.left_out.as_deref());
    what.map(|what| format!("  {}: {}\n", safe(&section.title), safe(what)))
}
