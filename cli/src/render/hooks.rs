//! Chains of handlers, as tables.

use std::time::Duration;

use samuel_core::{
    config::format_duration,
    engine::{ChainReport, HandlerReport, PointReport, SkippedReport},
    hook::{ChainMode, Field},
};

use super::safe;

/// What the table has of a handler.
const HEADER: [&str; 9] =
    ["POINT", "ORDER", "HANDLER", "TIER", "SOURCE", "STRICT", "TIMEOUT", "ON FAILURE", "WHERE"];

type Row = [String; HEADER.len()];

/// Shows chains as one table: a row for each handler, those that do not run
/// with the reason, and below it the settings with their places.
pub(crate) fn chain_table(chains: &[ChainReport]) -> String {
    let mut rows = vec![HEADER.map(str::to_owned)];
    rows.extend(chains.iter().flat_map(rows_of));
    let mut text = aligned(&rows);
    let settings: String = chains.iter().map(settings_text).collect();
    if !settings.is_empty() {
        text.push_str("\nSettings\n");
        text.push_str(&settings);
    }
    text
}

/// Shows one point: what it is, its chain, its fields.
pub(crate) fn point_text(report: &PointReport) -> String {
    let chain = &report.chain;
    let mut text = format!("{}: {}\n", chain.point, chain.kind.as_str());
    if !chain.enabled {
        text.push_str("  disabled: it does not fire\n");
    }
    if let ChainMode::Only(mode) = chain.mode {
        text.push_str(&format!("  it fires only in {} iterations\n", mode.as_str()));
    }
    text.push_str(&format!("  a handler that breaks: {}\n", chain.on_failure.as_str()));
    if chain.advisory {
        text.push_str("  a refusal is only advice\n");
    }
    text.push_str(&format!(
        "\nGiven\n{}\nAnswers\n{}",
        fields_text(report.input),
        fields_text(report.output)
    ));
    match chain.run.is_empty() && chain.skipped.is_empty() {
        true => text + "\nNo handlers are registered.\n" + &settings_text(chain),
        false => text + "\n" + &chain_table(std::slice::from_ref(chain)),
    }
}

fn rows_of(chain: &ChainReport) -> Vec<Row> {
    let run = chain.run.iter().map(run_row);
    let skipped = chain.skipped.iter().map(skipped_row);
    let mut rows: Vec<Row> = run.chain(skipped).collect();
    if rows.is_empty() {
        rows.push(["", "-", "", "", "", "", "", "", ""].map(str::to_owned));
    }
    if let Some([point, ..]) = rows.first_mut() {
        *point = chain.point.to_string();
    }
    rows
}

fn run_row(handler: &HandlerReport) -> Row {
    let timeout = handler.timeout_ms.map(|ms| format_duration(Duration::from_millis(ms)));
    let asked = handler.asks.timeout_ms.map(|ms| format_duration(Duration::from_millis(ms)));
    // A hook file is named by its whole path in the project.
    let place = handler.entry.as_ref().map(ToString::to_string);
    let origin = place.or_else(|| handler.origin.as_ref().map(ToString::to_string));
    let origin = origin.map(|origin| safe(&origin));
    [
        String::new(),
        handler.order.to_string(),
        safe(&handler.id),
        handler.tier.to_string(),
        safe(&handler.source),
        with_asked(yes_or_no(handler.strict), handler.asks.strict.map(yes_or_no)),
        with_asked(&timeout.unwrap_or_else(|| "its own".to_owned()), asked.as_deref()),
        when_it_breaks(handler).to_owned(),
        origin.unwrap_or_else(|| "default".to_owned()),
    ]
}

/// Says what happens when a handler breaks: a blocking hook blocks what it is asked about.
pub(super) fn when_it_breaks(handler: &HandlerReport) -> &'static str {
    match handler.entry.as_ref().is_some_and(|entry| entry.blocking) {
        true => "block",
        false => handler.on_failure.as_str(),
    }
}

/// Shows what holds, and what the handler itself asks for where that is something else.
fn with_asked(holds: &str, asked: Option<&str>) -> String {
    match asked.filter(|asked| *asked != holds) {
        Some(asked) => format!("{holds} (asks {asked})"),
        None => holds.to_owned(),
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn skipped_row(handler: &SkippedReport) -> Row {
    let origin = handler.origin.as_ref().map(|origin| format!(" ({})", safe(&origin.to_string())));
    [
        String::new(),
        "-".to_owned(),
        safe(&handler.id),
        handler.tier.map(|tier| tier.to_string()).unwrap_or_default(),
        safe(&handler.source),
        // The reason runs over the columns that a handler without a place has no use for.
        format!("skipped: {}{}", safe(&handler.why), origin.unwrap_or_default()),
        String::new(),
        String::new(),
        String::new(),
    ]
}

fn settings_text(chain: &ChainReport) -> String {
    let line = |setting: &samuel_core::engine::SettingReport| {
        format!(
            "  {} = {}  {}\n",
            safe(&setting.key),
            safe(&setting.value),
            safe(&setting.origin.to_string())
        )
    };
    chain.settings.iter().map(line).collect()
}

fn fields_text(fields: &[Field]) -> String {
    // Every record ends with room for later versions, which tells nobody anything.
    let fields = fields.iter().filter(|field| field.name != "extensions");
    let line = |field: &Field| {
        let required = if field.required { ", required" } else { "" };
        format!("  {:<18}{}{required}\n", field.name, field.holds)
    };
    match fields.map(line).collect::<String>() {
        lines if lines.is_empty() => "  nothing\n".to_owned(),
        lines => lines,
    }
}

/// Aligns columns. A cell with nothing to its right may be of any width.
fn aligned(rows: &[Row]) -> String {
    let is_last = |row: &Row, column: usize| row.iter().skip(column + 1).all(String::is_empty);
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| !is_last(row, column)).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    let line = |row: &Row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
