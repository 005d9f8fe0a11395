//! When the iterations of a run were made: one row of a page, or one for each lane.
//!
//! Without lanes the parts are as wide as the iterations took, one behind the other. Lanes work at once: each has a row of
//! its own, all of them over the same time, in which a part begins where its iteration began.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use super::{RunPage, escape::text};
use crate::history::{IterationHistory, words::took};

/// How many parts a row has.
const MAX_PARTS: usize = 240;
/// How many lanes have a row.
const MAX_LANES: usize = 64;

impl RunPage {
    pub(super) fn timeline(&self, out: &mut String) -> fmt::Result {
        let iterations: Vec<&IterationHistory> = self.run.iterations.iter().collect();
        if iterations.is_empty() {
            return Ok(());
        }
        out.push_str("<h2>Timeline</h2>");
        if !iterations.iter().any(|iteration| iteration.lane.is_some()) {
            begin(out, "one part for each iteration, or for several")?;
            for part in parts(&iterations) {
                let ms = part.iter().filter_map(|iteration| iteration.took_ms).fold(0, u64::saturating_add);
                write_part(out, part, ms.max(1), ms)?;
            }
            out.push_str("</div><p class=\"dim\">As wide as they took; red where one failed, yellow where no end is recorded.</p>\n");
            return Ok(());
        }
        let mut lanes: BTreeMap<Option<u32>, Vec<&IterationHistory>> = BTreeMap::new();
        // When one began that began in another run is not known here.
        for iteration in iterations.into_iter().filter(|iteration| iteration.began_ms.is_some()) {
            lanes.entry(iteration.lane).or_default().push(iteration);
        }
        let until = |iteration: &IterationHistory| self.until(iteration);
        let end = lanes.values().flatten().copied().map(until).max().unwrap_or_default();
        let start =
            lanes.values().flatten().filter_map(|iteration| iteration.began_ms).min().unwrap_or_default();
        for (lane, iterations) in lanes.iter().take(MAX_LANES) {
            let name = lane.map_or_else(|| "without a lane".to_owned(), |lane| format!("Lane {lane}"));
            write!(out, "<p class=\"dim\">{}</p>", text(&name))?;
            begin(out, &format!("{name}: one part for each iteration, or for several, where it began"))?;
            let mut at = start;
            for part in parts(iterations) {
                let began = part.first().and_then(|first| first.began_ms).unwrap_or(at).max(at);
                let ended = part.iter().copied().map(until).max().unwrap_or(began).max(began);
                space(out, began - at)?;
                write_part(out, part, (ended - began).max(1), ended - began)?;
                at = ended;
            }
            space(out, end.saturating_sub(at))?;
            out.push_str("</div>");
        }
        writeln!(
            out,
            "<p class=\"dim\">Over {} in all rows, each part where and as wide as it was made; red where one failed, yellow \
             where no end is recorded.</p>",
            text(took(end.saturating_sub(start)))
        )
    }

    /// Returns when an iteration ended, in milliseconds since the run was built; of one without an end, when the last
    /// thing is recorded that happened.
    fn until(&self, iteration: &IterationHistory) -> u64 {
        let began = iteration.began_ms.unwrap_or_default();
        iteration.took_ms.map_or(self.run.took_ms.max(began), |took| began.saturating_add(took))
    }
}

/// Puts iterations together, where there are more than a row has parts.
fn parts<'a, 'b>(iterations: &'b [&'a IterationHistory]) -> impl Iterator<Item = &'b [&'a IterationHistory]> {
    iterations.chunks(iterations.len().div_ceil(MAX_PARTS).max(1))
}

fn begin(out: &mut String, label: &str) -> fmt::Result {
    write!(out, "<div class=\"line\" role=\"img\" aria-label=\"{}\">", text(label))
}

fn space(out: &mut String, ms: u64) -> fmt::Result {
    if ms == 0 { Ok(()) } else { write!(out, "<i class=\"idle\" style=\"flex-grow:{ms}\"></i>") }
}

fn write_part(out: &mut String, part: &[&IterationHistory], width: u64, ms: u64) -> fmt::Result {
    let class = match () {
        () if part.iter().any(|iteration| iteration.has_failed()) => " class=\"bad\"",
        () if part.iter().any(|iteration| iteration.outcome.is_none()) => " class=\"none\"",
        () => "",
    };
    let (first, last) = (part.first().map(|it| it.iteration), part.last().map(|it| it.iteration));
    let of = match (first, last) {
        (Some(first), Some(last)) if first != last => format!("iterations {first} to {last}"),
        (first, _) => format!("iteration {}", first.unwrap_or_default()),
    };
    let title = text(format!("{of}: {}", took(ms)));
    write!(out, "<i{class} style=\"flex-grow:{width}\" title=\"{title}\"></i>")
}
