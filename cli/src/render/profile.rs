//! The table of a profiled run.

use samuel_core::engine::Profile;

use super::safe;

/// Writes the table: one row for each handler at each point.
pub(crate) fn profile_table(profile: &Profile) -> String {
    let rows = profile.rows();
    let name_width = rows.iter().map(|row| row.handler.chars().count()).max().unwrap_or(7).max(7);
    let mut text = format!(
        "Profile ({:.1}s in iterations)\n  {:<22}{:<name_width$}{:>7}{:>12}{:>12}{:>12}{:>8}\n",
        profile.iterations().as_secs_f64(),
        "point",
        "handler",
        "count",
        "median ms",
        "p95 ms",
        "max ms",
        "share"
    );
    for row in rows {
        let share = row.share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0));
        let slow = if row.slow { "  slow: every iteration waits for it" } else { "" };
        text.push_str(&format!(
            "  {:<22}{:<name_width$}{:>7}{:>12.2}{:>12.2}{:>12.2}{share:>8}{slow}\n",
            row.point,
            safe(&row.handler),
            row.count,
            row.median_ms,
            row.p95_ms,
            row.max_ms
        ));
    }
    text
}
