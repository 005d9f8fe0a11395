use super::*;
use crate::{MAX_DEPTH, MAX_INPUT_BYTES, MAX_MARKS, MAX_TASKS, PrdError};
use samuel_model::{Coded, ErrorCode};

fn refused(text: String) -> PrdError {
    let error = convert(&Document::new("p.md", text), None, now()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::PRD_INVALID);
    error
}

/// Returns a list that is nested so many levels deep.
fn nested(levels: usize) -> String {
    (0..levels).map(|level| format!("{}- [ ] item\n", "  ".repeat(level))).collect()
}

#[test]
fn a_document_may_have_sixteen_mebibytes() {
    assert!(convert(&Document::new("p.md", "x".repeat(MAX_INPUT_BYTES)), None, now()).is_ok());
    let error = refused("x".repeat(MAX_INPUT_BYTES + 1));
    assert!(matches!(error, PrdError::TooLarge { bytes, .. } if bytes == MAX_INPUT_BYTES + 1), "{error}");
}

#[test]
fn a_document_may_have_fifty_thousand_tasks() {
    assert_eq!(companion(&"- [ ] A\n".repeat(MAX_TASKS)).tasks.len(), MAX_TASKS);
    let error = refused("- [ ] A\n".repeat(MAX_TASKS + 1));
    assert!(matches!(error, PrdError::TooManyTasks { line: 50_001, .. }), "{error}");
    assert_eq!(error.location().unwrap().line, Some(50_001));
}

#[test]
fn lists_may_be_nested_thirty_two_deep() {
    let deepest = companion(&nested(MAX_DEPTH));
    assert_eq!(deepest.tasks.len(), MAX_DEPTH);
    assert_eq!(deepest.errors, []);

    let error = refused(nested(MAX_DEPTH + 1));
    assert!(matches!(error, PrdError::TooDeep { line: 33, .. }), "{error}");
}

#[test]
fn hostile_nesting_is_refused_or_ignored_but_never_overflows_the_stack() {
    let error = refused("+ - ".repeat(500_000));
    assert!(matches!(error, PrdError::TooDeep { line: 1, .. }), "{error}");
    for opening in ["> ", "[", "*a", "![](", "`` "] {
        let text = opening.repeat(200_000);
        assert_eq!(prd(&text).tasks, [], "{opening}");
    }
}

#[test]
fn a_document_that_is_mostly_markup_is_refused() {
    let text = "*a".repeat(MAX_MARKS);
    assert!(convert(&Document::new("p.md", text), None, now()).is_ok());
    let error = refused("*a".repeat(2 * MAX_MARKS));
    assert!(matches!(error, PrdError::TooManyMarks { marks, .. } if marks == 2 * MAX_MARKS), "{error}");
}
