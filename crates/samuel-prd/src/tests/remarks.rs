use super::*;
use crate::{MAX_REMARKS, PrdError};
use samuel_model::Severity;
use samuel_model::{Coded, ErrorCode};

#[test]
fn no_tasks_is_a_warning_that_says_what_was_looked_for() {
    let conversion = prd("# Notes\n\nProse.\n");
    assert_eq!(places(&conversion.warnings), [(1, RemarkKind::NoTasks)]);
    let message = &conversion.warnings[0].message;
    for part in ["### 1.1 Title", "\"work items\"", "- [ ] 1.1 Title"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(conversion.warnings[0].severity, Severity::Warning);

    let astray = prd("# Notes\n\n## 1. Goals\n\n### 1.1 A\n");
    assert_eq!(places(&astray.warnings), [(5, RemarkKind::NoTasks)]);
    assert_eq!(places(&prd("").warnings), [(1, RemarkKind::NoTasks)]);
}

#[test]
fn a_double_id_is_an_error_at_the_second_that_names_the_first() {
    let conversion = tasks("### 1 A\n### 2 B\n### Task 1: C\n");
    assert_eq!(ids(&conversion), ["1", "2"]);
    assert_eq!(places(&conversion.errors), [(5, RemarkKind::DuplicateId)]);
    assert_eq!(conversion.errors[0].related_lines, [3]);
    assert_eq!(conversion.errors[0].to_string(), "docs/prd-x.md:5:1: task 1 is there twice, first in line 3");
}

#[test]
fn a_dependency_that_is_not_there_is_reported_and_left_out_and_a_parent_only_implied() {
    let conversion = tasks("### 3.2 A\n\nDepends on: 9, the schema, 4\n\n### 4 B\n");
    let dangling = RemarkKind::DanglingDependency;
    assert_eq!(places(&conversion.warnings), [(5, dangling), (5, dangling)]);
    assert_eq!(task(&conversion, "3.2").parent_id, None);
    assert_eq!(depends_on(task(&conversion, "3.2")), ["4"]);
    assert_eq!(conversion.errors, []);
}

#[test]
fn a_cycle_is_an_error_with_all_its_lines() {
    let conversion = tasks(
        "### 1 A\nDepends on: 3\n### 2 B\nDepends on: 1\n### 3 C\nDepends on: 2\n### 4 D\nDepends on: 4\n",
    );
    assert_eq!(
        places(&conversion.errors),
        [(3, RemarkKind::DependencyCycle), (9, RemarkKind::DependencyCycle)]
    );
    let first = &conversion.errors[0];
    assert_eq!(first.message, "tasks wait for each other: 1 (line 3) -> 3 (line 7) -> 2 (line 5) -> 1");
    assert_eq!(first.related_lines, [7, 5]);
}

#[test]
fn a_parent_that_waits_for_its_item_waits_for_nothing_new() {
    let conversion = companion("- [ ] 1 A\n  Depends on: 1.1\n  - [ ] 1.1 B\n");
    assert_eq!(places(&conversion.errors), []);
}

#[test]
fn a_cycle_through_a_group_is_an_error_that_says_how_it_closes() {
    let conversion = tasks("### 1 A\n### 1.1 B\nDepends on: 2\n### 2 C\nDepends on: 1\n");
    assert_eq!(places(&conversion.errors), [(3, RemarkKind::DependencyCycle)]);
    let error = &conversion.errors[0];
    assert_eq!(
        error.message,
        "tasks wait for each other: 1 (line 3) -> 1.1 (line 4) -> 2 (line 6) -> 1; a group waits for its \
         parts, and they for what it depends on"
    );
    assert_eq!(error.related_lines, [4, 6]);
    // What one group waits for, its parts do too.
    let conversion = tasks("### 1 A\nDepends on: 2\n### 1.1 B\n### 2 C\n### 2.1 D\nDepends on: 1.1\n");
    assert_eq!(places(&conversion.errors).len(), 1);
}

#[test]
fn a_task_is_never_a_part_of_itself() {
    let conversion = companion("- [ ] 2.1 A\n  - [ ] 2 B\n");
    assert_eq!(parents(&conversion), [("2.1", None), ("2", Some("2.1"))]);
    assert_eq!(places(&conversion.warnings), [(1, RemarkKind::DanglingParent)]);
}

#[test]
fn words_that_are_no_priority_or_complexity_are_reported_with_their_line() {
    let conversion = tasks("### 1 A [~5 tokens - Epic]\n\n- Priority: urgent\n- Complexity: huge\n");
    assert_eq!(
        places(&conversion.warnings),
        [
            (3, RemarkKind::UnknownComplexity),
            (5, RemarkKind::UnknownPriority),
            (6, RemarkKind::UnknownComplexity)
        ]
    );
    assert_eq!(
        conversion.warnings[1].message,
        "unknown priority \"urgent\", expected one of critical, high, medium, low"
    );
    assert_eq!(conversion.warnings[1].column, 3);
    assert_eq!(task(&conversion, "1").description, "");
}

#[test]
fn titles_and_ids_that_cannot_be_stored_are_errors_with_their_line() {
    let long = "x".repeat(1_001);
    let conversion =
        tasks(&format!("### 1\n### 2 {long}\n### [3/1] C\n### 4 D\nDepends on: 2\n### 5 a\u{202e}b\n"));
    assert_eq!(
        places(&conversion.errors),
        [(3, RemarkKind::InvalidTitle), (4, RemarkKind::InvalidTitle), (5, RemarkKind::InvalidId)]
    );
    assert_eq!(ids(&conversion), ["4", "5"]);
    assert_eq!(depends_on(task(&conversion, "4")), [""; 0]);
    assert_eq!(places(&conversion.warnings), [(8, RemarkKind::OddTitle)]);
    assert_eq!(places(&companion("- [ ] 1 A\n- [ ]\n").errors), [(2, RemarkKind::InvalidTitle)]);
}

#[test]
fn text_that_is_left_out_is_reported() {
    let conversion = tasks(
        "- [ ] 7 No task\n\n### 1 A\n\n#### Notes\n\nLost.\n\n#### Files\n\n- the whole tree\n\n### Phase\n\n- [ ] 8 x\n",
    );
    assert_eq!(ids(&conversion), ["1"]);
    assert_eq!(
        places(&conversion.warnings),
        [
            (3, RemarkKind::IgnoredChecklist),
            (7, RemarkKind::IgnoredHeading),
            (13, RemarkKind::UnreadableFile),
            (15, RemarkKind::IgnoredHeading),
            (17, RemarkKind::IgnoredChecklist),
        ]
    );
}

#[test]
fn a_heading_between_tasks_that_has_no_number_is_reported() {
    let conversion =
        tasks("### 1 A\n\n### Add tests\n\nOf all kinds.\n\n#### Sub thing\n\n### Write docs\n\n### 2 B\n");
    assert_eq!(ids(&conversion), ["1", "2"]);
    let ignored = RemarkKind::IgnoredHeading;
    assert_eq!(places(&conversion.warnings), [(5, ignored), (9, ignored), (11, ignored)]);
    let message = "\"Add tests\" is not a task, because it has no number; its text is left out";
    assert_eq!(conversion.warnings[0].message, message);
}

#[test]
fn headings_that_group_tasks_or_are_about_the_whole_are_not_reported() {
    let conversion = tasks(
        "### Overview\n\nWhy.\n\n### Phase one\n\n#### 1 A\n\n### Phase two\n\n#### 2 B\n\n### Open questions\n\nNone.\n",
    );
    assert_eq!(ids(&conversion), ["1", "2"]);
    assert_eq!(conversion.warnings, []);
}

#[test]
fn the_list_of_remarks_has_an_end() {
    let lines: String = (0..MAX_REMARKS + 5).map(|_| "### 1 A\nPriority: x\n").collect();
    let conversion = tasks(&lines);
    for remarks in [&conversion.warnings, &conversion.errors] {
        assert_eq!(remarks.len(), MAX_REMARKS + 1);
        assert_eq!(remarks[MAX_REMARKS].kind, RemarkKind::MoreRemarks);
    }
    assert!(conversion.warnings[MAX_REMARKS].message.starts_with("5 more"));
}

#[test]
fn a_conversion_with_errors_is_no_valid_one() {
    assert!(tasks("### 1 A\n").require_valid("docs/prd-x.md").is_ok());

    let error = tasks("### 1 A\n### 1 B\n").require_valid("docs/prd-x.md").unwrap_err();
    assert_eq!(error.code(), ErrorCode::PRD_INVALID);
    assert_eq!(error.to_string(), "docs/prd-x.md has 1 error that must be corrected");
    assert_eq!(error.location().unwrap().line, Some(4));

    let missing = PrdError::from_io("gone.md", std::io::ErrorKind::NotFound.into());
    assert_eq!(missing.code(), ErrorCode::PRD_NOT_FOUND);
    assert_eq!(missing.to_string(), "gone.md not found");
}

#[test]
fn what_looks_like_a_task_where_markdown_has_none_is_told() {
    for (text, lines) in [
        ("- [ ] 1 One\n<details>\n- [ ] 2 Two\n### 4 Four\n</details>\n- [ ] 3 Three\n", &[5, 6, 8][..]),
        ("- [ ] 1 One\n\n```\n- [ ] 2 Two\n", &[6]),
        ("- [ ] 1 One\n\n<!--\n- [ ] 2 Two\n", &[6]),
        ("- [ ] 1 One\n\n```\n- [ ] 2 Two\n```\n\n<!--\n- [ ] 3 Three\n-->\n\n> - [ ] 4\n", &[]),
    ] {
        let conversion = tasks(text);
        assert_eq!(ids(&conversion), ["1"], "{text}");
        let told: Vec<usize> = conversion.warnings.iter().map(|remark| remark.line).collect();
        assert_eq!(told, lines, "{text}\n{:?}", conversion.warnings);
    }
}

#[test]
fn rows_that_a_table_has_no_room_for_are_told() {
    let more = "|".repeat(20_000);
    let row = |n: usize| format!("| {n} | Task {n} | open |\n");
    let rows: String = (1..=200).map(row).collect();
    let conversion =
        prd(&format!("# X\n\n| id | task | status |{more}\n|-|-|-|{}\n{rows}", "-|".repeat(20_000)));
    let read = conversion.tasks.len();
    assert!((1..200).contains(&read), "{read}");
    let first = conversion.warnings.first().unwrap();
    assert_eq!((first.line, first.kind), (read + 5, RemarkKind::IgnoredRow), "{first:?}");
}

#[test]
fn rows_of_a_table_of_tasks_beside_a_checklist_are_told() {
    let table = "## Work\n\n| id | task | status |\n|-|-|-|\n| A1 | One | open |\n| A2 | Two | open |\n\n";
    let plain = "## Costs\n\n| what | costs |\n|-|-|\n| disk | 3 |\n\n";
    let conversion = prd(&format!("# X\n\n{table}{plain}## Tasks\n\n- [ ] 1 One\n"));
    assert_eq!(ids(&conversion), ["1"]);
    assert_eq!(places(&conversion.warnings), [(7, RemarkKind::IgnoredRow), (8, RemarkKind::IgnoredRow)]);
}
