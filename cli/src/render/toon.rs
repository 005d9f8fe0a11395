//! What `toon stats` prints.

use samuel_core::toon::{Size, Stats};

/// Shows the sizes of one value, and which form is the smaller one.
pub(crate) fn toon_sizes(stats: &Stats) -> String {
    let mut text = format!("{:<16}{:>12}{:>12}\n", "", "bytes", "tokens");
    for (name, size) in
        [("TOON", stats.toon), ("compact JSON", stats.json), ("indented JSON", stats.json_pretty)]
    {
        text.push_str(&format!("{name:<16}{:>12}{:>12}\n", size.bytes, size.tokens));
    }
    text.push_str(&format!(
        "\nTOON takes {} tokens than compact JSON and {} than indented JSON (estimated).\n",
        difference(stats.toon, stats.json),
        difference(stats.toon, stats.json_pretty),
    ));
    if stats.json_is_smaller() {
        text.push_str("Use compact JSON for this data: TOON saves tokens where objects are uniform.\n");
    }
    text
}

/// Says by how many tokens a form is smaller or larger than another.
fn difference(form: Size, than: Size) -> String {
    let tokens = |size: Size| size.tokens as f64;
    let percent = (tokens(form) / tokens(than).max(1.0) - 1.0) * 100.0;
    let word = if percent > 0.0 { "more" } else { "fewer" };
    format!("{:.0} % {word}", percent.abs())
}
