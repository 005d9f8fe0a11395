use super::*;
use crate::{Form, companion_name};
use samuel_model::{Complexity, Priority, Status};

#[test]
fn a_companion_wins_over_the_headings_of_its_prd() {
    let (document, list) = (Document::new("prd-notes.md", PRD), Document::new("tasks-notes.md", COMPANION));
    let conversion = convert(&document, Some(&list), now()).unwrap();

    assert_eq!(conversion.form, Form::Companion);
    assert_eq!((&conversion.errors[..], &conversion.warnings[..]), (&[][..], &[][..]));
    assert_eq!(conversion.name, "Team notes");
    assert_eq!(
        parents(&conversion),
        [
            ("1.0", None),
            ("1.1", Some("1.0")),
            ("1.2", Some("1.0")),
            ("1.3", Some("1.0")),
            ("2.0", None),
            ("2.1", Some("2.0")),
            ("3", None),
        ]
    );
}

#[test]
fn an_item_has_its_state_estimate_and_the_bullets_below_it() {
    let conversion = companion(COMPANION);

    let storage = task(&conversion, "1.0");
    assert_eq!((storage.status, storage.complexity), (Status::Completed, Complexity::Complex));
    assert_eq!((storage.title.as_str(), storage.description.as_str()), ("Storage", ""));
    assert_eq!(task(&conversion, "1.1").files_to_create, ["migrations/0001_notes.sql"]);

    let save = task(&conversion, "1.2");
    assert_eq!((save.status, save.complexity), (Status::Pending, Complexity::Medium));
    assert_eq!(save.title, "Save and load notes");
    assert_eq!(depends_on(save), ["1.0", "1.1"]);
    assert_eq!(
        (&save.files_to_create[0], &save.files_to_modify[0]),
        (&"src/store.rs".to_owned(), &"src/lib.rs".to_owned())
    );
    assert_eq!(save.acceptance, ["a saved note is there after a restart", "ids are never used twice"]);
    assert_eq!(
        save.description,
        "- Use one transaction a note.\n- Ids are random:\n\n  ```rust\n  # [derive(Clone)]\n  struct Id(u128);\n  ```"
    );

    let http = task(&conversion, "2.0");
    assert_eq!(http.priority, Priority::High);
    assert_eq!(http.guardrails, ["no new dependency", "no global state"]);
    assert_eq!(task(&conversion, "3").title, "Announce it");
}

#[test]
fn an_indented_item_is_a_child_that_depends_on_its_parent() {
    let conversion = companion("- [ ] 1 A\n  - note\n    - [ ] 7.1 B\n      - [x] C\n- [ ] 1.4 D\n");
    assert_eq!(
        parents(&conversion),
        [("1", None), ("7.1", Some("1")), ("7.1.1", Some("7.1")), ("1.4", Some("1"))]
    );
    assert_eq!(depends_on(task(&conversion, "7.1.1")), ["7.1"]);
    assert_eq!(depends_on(task(&conversion, "1.4")), [""; 0]);
    assert_eq!(task(&conversion, "1").description, "- note");
    assert_eq!(conversion.warnings, []);
}

#[test]
fn items_without_a_number_get_the_ones_after_the_last() {
    let conversion =
        companion("- [ ] First\n- [ ] 4 Second\n  - [ ] Child\n1. [ ] Third\n\n* Group\n  * [ ] Fourth\n");
    let titles: Vec<(&str, &str)> =
        conversion.tasks.iter().map(|task| (task.id.as_str(), task.title.as_str())).collect();
    assert_eq!(titles, [("5", "First"), ("4", "Second"), ("4.1", "Child"), ("6", "Third"), ("7", "Fourth")]);
}

#[test]
fn checklists_of_the_prd_are_tasks_if_no_heading_is_one() {
    let section = prd("## Notes\n- [ ] 9 No task\n\n## Work Items\n\n- [ ] 1 A\n\n### Later\n\n- [ ] 2 B\n");
    assert_eq!((ids(&section), section.form), (vec!["1", "2"], Form::Checklist));

    let anywhere = prd("# X\n\n## Acceptance criteria\n- [ ] 9 No task\n\n## Plan\n- [ ] 1 A\n");
    assert_eq!(ids(&anywhere), ["1"]);
}

#[test]
fn a_document_titled_notes_has_its_tasks_all_the_same() {
    assert_eq!(ids(&prd("# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n")), ["1.0"]);
    assert_eq!(ids(&prd("# Risks\n\n- [ ] 1 A\n\n## Notes\n\n- [ ] 2 B\n")), ["1"]);
}

#[test]
fn a_companion_without_checklists_falls_back_to_the_prd() {
    let (document, list) =
        (Document::new("prd-notes.md", PRD), Document::new("tasks-notes.md", "# Later\n\n- 1.1 A\n"));
    let conversion = convert(&document, Some(&list), now()).unwrap();

    assert_eq!((conversion.tasks.len(), conversion.form), (5, Form::Headings));
    assert_eq!(places(&conversion.warnings), [(1, RemarkKind::EmptyCompanion)]);
    assert_eq!(conversion.warnings[0].file.to_str(), Some("tasks-notes.md"));
}

#[test]
fn a_companion_is_looked_for_beside_its_prd() {
    let names = |prd: &str| {
        let paths = companion_name(prd.as_ref());
        paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("docs/prd-foo.md"), ["docs/tasks-foo.md", "docs/tasks-prd-foo.md"]);
    assert_eq!(names("foo.md"), ["tasks-foo.md", "tasks-prd-foo.md"]);
    assert_eq!(names(""), [""; 0]);
}
