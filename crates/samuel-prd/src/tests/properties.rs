use proptest::prelude::*;

use super::*;
use crate::PrdError;

/// Lines that mean something, mixed with anything else.
fn line() -> impl Strategy<Value = String> {
    let title = prop_oneof![
        "[0-9]{1,2}(\\.[0-9]{1,2}){0,3}[:.)]? .{0,12}",
        "Task .{0,8}",
        "\\[.{0,6}\\].{0,6}",
        ".{0,20}"
    ];
    let word = prop::sample::select(vec![
        "## Tasks",
        "# PRD: X",
        "## Overview",
        "```",
        "---",
        "Acceptance:",
        "- Files: `a`, b (new)",
        "Priority: x",
        "#### Files",
        "- Depends on: 1, 2.1",
        "Depends on: 3",
        "",
        "> ",
        "<div>",
        "| a | b |",
        "Complexity: high",
    ]);
    let indent = prop::sample::select(vec!["", "", "  ", "    ", "\t", "\t\t"]);
    prop_oneof![
        3 => word.prop_map(str::to_owned),
        3 => (1..6_usize, title.clone()).prop_map(|(level, title)| format!("{} {title}", "#".repeat(level))),
        4 => (indent, prop::sample::select(vec!["- [ ] ", "- [x] ", "- ", "1. [ ] "]), title)
            .prop_map(|(indent, mark, title)| format!("{indent}{mark}{title}")),
        1 => any::<String>(),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    (prop::collection::vec(line(), 0..40), end, any::<bool>())
        .prop_map(|(lines, end, bom)| format!("{}{}", if bom { "\u{feff}" } else { "" }, lines.join(end)))
}

/// Checks what holds for every conversion.
fn check(prd: &Document, companion: Option<&Document>) -> Result<(), TestCaseError> {
    let conversion = match convert(prd, companion, now()) {
        Ok(conversion) => conversion,
        Err(error) => {
            prop_assert!(
                matches!(
                    error,
                    PrdError::TooDeep { .. }
                        | PrdError::Nul { .. }
                        | PrdError::Html { .. }
                        | PrdError::Json { .. }
                ),
                "{}",
                error
            );
            return Ok(());
        }
    };
    for remark in conversion.warnings.iter().chain(&conversion.errors) {
        let text = if remark.file == prd.path { &prd.text } else { &companion.unwrap().text };
        let line = text.split('\n').nth(remark.line - 1);
        prop_assert!(line.is_some(), "{}", remark);
        prop_assert!(remark.column >= 1 && remark.column <= line.unwrap().chars().count() + 1, "{}", remark);
        prop_assert!(remark.related_lines.iter().all(|line| *line >= 1 && *line <= text.split('\n').count()));
    }
    let mut ids = std::collections::HashSet::new();
    for task in &conversion.tasks {
        prop_assert_eq!(task.validate(), Ok(()));
        prop_assert!(ids.insert(task.id.clone()), "{} twice", task.id);
    }
    for task in &conversion.tasks {
        prop_assert!(task.depends_on.iter().chain(&task.parent_id).all(|other| ids.contains(other)));
        let mut above = task.parent_id.clone();
        for _ in 0..=conversion.tasks.len() {
            above = above.and_then(|id| super::task(&conversion, id.as_str()).parent_id.clone());
        }
        prop_assert_eq!(above, None);
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(prd in any::<String>(), companion in any::<String>()) {
        check(&Document::new("p.md", prd), Some(&Document::new("t.md", companion)))?;
    }

    #[test]
    fn whatever_is_found_has_a_line_that_exists(prd in document(), companion in proptest::option::of(document())) {
        let companion = companion.map(|text| Document::new("t.md", text));
        check(&Document::new("p.md", prd), companion.as_ref())?;
    }

    #[test]
    fn every_line_of_a_plain_body_ends_up_in_the_description(words in prop::collection::vec("[a-z]{1,9}", 1..20)) {
        let conversion = tasks(&format!("### 1 A\n\n{}\n", words.join("\n")));
        prop_assert_eq!(&task(&conversion, "1").description, &words.join("\n"));
    }
}
