use super::*;
use crate::Form;
use samuel_model::{Complexity, Priority, Source, Status};

#[test]
fn a_whole_prd_becomes_its_five_tasks() {
    let conversion = prd(PRD);

    assert_eq!(conversion.errors, []);
    assert_eq!(conversion.warnings, []);
    assert_eq!(conversion.form, Form::Headings);
    assert_eq!(conversion.name, "Team notes");
    assert_eq!(
        conversion.description,
        "Teams write down decisions in chat and lose them within a week. This adds a\n\
         small notes service, so that a decision has an address."
    );
    assert_eq!(
        parents(&conversion),
        [("1", None), ("1.1", Some("1")), ("1.2", Some("1")), ("2", None), ("2.1", Some("2"))]
    );
    let titles: Vec<&str> = conversion.tasks.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(titles, ["Storage", "Full-text search", "Expire old notes", "HTTP interface", "Rate limit"]);
    for task in &conversion.tasks {
        assert_eq!((task.source, task.created_at, task.status), (Source::Prd, Some(now()), Status::Pending));
    }
}

#[test]
fn metadata_fills_the_fields_and_leaves_the_description() {
    let conversion = prd(PRD);

    let storage = task(&conversion, "1");
    assert_eq!(
        storage.description,
        "Notes live in one SQLite file. Run the migration before the first request:\n\n\
         ```sh\n# migrate the database\nnotes migrate --to 1\n```\n\n\
         Keep the schema in `migrations/`, one file a step."
    );
    assert_eq!(storage.files_to_create, ["migrations/0001_notes.sql", "src/store.rs"]);
    assert_eq!(storage.guardrails, ["Never drop a column in a migration"]);
    assert_eq!(
        storage.acceptance,
        ["A note that was saved is there after a restart", "Two writers, one file: no lost update"]
    );
    assert_eq!((storage.priority, storage.complexity), (Priority::Critical, Complexity::Complex));

    let search = task(&conversion, "1.1");
    assert_eq!(
        search.description,
        "Search covers titles and bodies, with *prefix* matches.\n\n\
         | Query  | Finds    |\n|--------|----------|\n| `deci` | decision |"
    );
    assert_eq!(search.acceptance, ["a search over 10,000 notes answers within 200 ms"]);
    assert_eq!(
        (&search.files_to_create[..], &search.files_to_modify[..]),
        (&["src/search.rs".to_owned()][..], &["src/store.rs".to_owned()][..])
    );
    assert_eq!((depends_on(search), search.complexity), (vec!["1"], Complexity::Complex));

    let expire = task(&conversion, "1.2");
    assert_eq!(
        expire.description,
        "- Deleted notes stay readable for 30 days:\n  - hidden from search\n  - shown to their author"
    );
    assert_eq!((depends_on(expire), expire.priority), (vec!["1"], Priority::Low));
    assert_eq!(expire.files_to_modify, ["src/store.rs", "src/main.rs"]);

    let http = task(&conversion, "2");
    assert_eq!(
        http.acceptance,
        ["`GET /notes/{id}` answers with the note", "an unknown id is a 404, not a 500"]
    );
    assert_eq!(http.description, "");

    let limit = task(&conversion, "2.1");
    assert_eq!((depends_on(limit), limit.priority), (vec!["2", "1.1"], Priority::High));
    assert_eq!(limit.description, "Ten writes a second for each user.");
}

#[test]
fn windows_line_ends_a_byte_order_mark_and_tabs_change_nothing() {
    let crlf = prd(&format!("\u{feff}{}", PRD.replace('\n', "\r\n")));
    assert_eq!(crlf, prd(PRD));

    let tabs = companion(&COMPANION.replace("  ", "\t"));
    let ids: Vec<String> = ids(&tabs).into_iter().map(str::to_owned).collect();
    assert_eq!(ids, ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "3"]);
    assert_eq!(task(&tabs, "1.2").acceptance.len(), 2);
}

#[test]
fn a_comment_in_code_and_a_heading_in_a_quote_or_in_html_are_no_tasks() {
    let conversion = tasks(
        "### 1 A\n\n```sh\n### 2 B\n```\n\n> ### 3 C\n\n    ### 4 D\n\n<!--\n### 5 E\n-->\n\n~~~\n### 6 F\n~~~\n",
    );
    assert_eq!(ids(&conversion), ["1"]);
    assert!(task(&conversion, "1").description.contains("### 6 F"));
}

#[test]
fn a_body_ends_at_the_next_heading_whatever_it_is() {
    let conversion =
        tasks("### 1 A\n\nOne.\n\n### Phase 2\n\nProse.\n\n#### 1.1 B\n\nTwo.\n\n## Risks\n\nThree.\n");
    assert_eq!(task(&conversion, "1").description, "One.");
    assert_eq!(task(&conversion, "1.1").description, "Two.");
    assert_eq!(places(&conversion.warnings), [(7, RemarkKind::IgnoredHeading)]);
}

#[test]
fn a_box_below_a_task_heading_is_an_acceptance_line() {
    let conversion =
        tasks("### 1 A\n\nProse.\n\n- [ ] 1.1 it works\n- [x] **fast** [enough](http://x)\n- note\n");
    assert_eq!(ids(&conversion), ["1"]);
    assert_eq!(task(&conversion, "1").acceptance, ["1.1 it works", "fast enough (http://x)"]);
    assert_eq!(task(&conversion, "1").description, "Prose.\n\n- note");
}

#[test]
fn labels_are_known_in_any_case_bold_or_not_and_without_a_colon_above_a_list() {
    let conversion = tasks(
        "### 1 A\n\n**ACCEPTANCE CRITERIA**\n\n* one\n* two\n\n__guardrails__: keep it small\nand plain\n\n\
         Files to Modify:\n`a.rs`,\n`b.rs`\nThe rest is prose: all of it.\n\nCreate: a new world\n",
    );
    let task = task(&conversion, "1");
    assert_eq!(task.acceptance, ["one", "two"]);
    assert_eq!(task.guardrails, ["keep it small and plain"]);
    assert_eq!(task.files_to_modify, ["a.rs", "b.rs"]);
    assert_eq!(task.description, "The rest is prose: all of it.\n\nCreate: a new world");
}

#[test]
fn a_deeper_heading_that_is_a_label_fills_its_field() {
    let conversion = tasks("### 1 A\n\n#### Acceptance:\n\n- one\n\n#### Depends on\n\n- 2: B\n\n### 2 B\n");
    assert_eq!(task(&conversion, "1").acceptance, ["one"]);
    assert_eq!(depends_on(task(&conversion, "1")), ["2"]);
    assert_eq!(conversion.warnings, []);
}

#[test]
fn a_ticked_heading_is_completed() {
    let conversion = tasks("### [x] 1 A\n### [ ] 2 B\n");
    assert_eq!(task(&conversion, "1").status, Status::Completed);
    assert_eq!(task(&conversion, "2").status, Status::Pending);
}

#[test]
fn the_first_level_may_end_in_zero() {
    let conversion = tasks("### 1.0 A\n### 1.1 B\nDepends on: 1\n");
    assert_eq!(parents(&conversion), [("1.0", None), ("1.1", Some("1.0"))]);
    assert_eq!(depends_on(task(&conversion, "1.1")), ["1.0"]);
    assert_eq!(conversion.warnings, []);
    assert_eq!(depends_on(task(&tasks("### 1 A\n### 2 B\nDepends on: 1.0\n"), "2")), ["1"]);
}

#[test]
fn paths_go_on_after_a_comma_only_and_are_listed_once() {
    let conversion = tasks("### 1 A\n\nFiles: a.rs,\nb.rs, a.rs\nprose\n");
    assert_eq!(task(&conversion, "1").files_to_modify, ["a.rs", "b.rs"]);
    assert_eq!(task(&conversion, "1").description, "prose");
}

#[test]
fn blank_lines_in_code_stay_and_those_around_a_cut_become_one() {
    let conversion = tasks("### 1 A\n\n```\na\n\n\nb\n```\n\nPriority: low\n\nEnd.\n");
    assert_eq!(task(&conversion, "1").description, "```\na\n\n\nb\n```\n\nEnd.");
}

#[test]
fn front_matter_is_no_part_of_the_document() {
    let conversion = prd("---\nname: y\n# a comment\n---\n# X\n\nLead.\n");
    assert_eq!((conversion.name.as_str(), conversion.description.as_str()), ("X", "Lead."));
}

#[test]
fn the_overview_describes_a_project_whose_title_has_only_fields_below() {
    let text =
        "# Notes\n\nStatus: draft\n\n## Overview\n\nSmall\r\nand good.\n\n- a list\n\n## Tasks\n### 1 A\n";
    let conversion = prd(text);
    assert_eq!(conversion.name, "Notes");
    assert_eq!(conversion.description, "Small\nand good.\n\n- a list");

    assert_eq!(prd("# Tasks\n## 1 A\n").name, "x");
}
