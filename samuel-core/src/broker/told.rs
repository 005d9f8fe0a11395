//! What a run refused, or how it could not be asked, as an error of a store.

use serde_json::Value;

use crate::{
    engine::socket::{Refusal, RunClientError},
    model::{ErrorCode, Remedy},
    state::{StateError, ToldCause, ToldError},
    text::described,
};

/// Says why nobody could be asked: nothing has happened.
pub(super) fn unreachable(error: RunClientError) -> StateError {
    match error {
        RunClientError::Refused(refusal) => refused(refusal),
        // Who listens and does not answer may do so later.
        error @ (RunClientError::TimedOut | RunClientError::TooLarge) => failed(&error),
        error => {
            let (code, cause) = (ErrorCode::BROKER_GONE, Some(described(&error)));
            told(code, "the loop that called the agent is gone, or cannot be reached".to_owned(), cause)
        }
    }
}

/// Says why there is no answer to what only reads.
pub(super) fn unread(error: RunClientError) -> StateError {
    match error {
        RunClientError::Refused(refusal) => refused(refusal),
        RunClientError::Lost { .. } => unreachable(error),
        error => failed(&error),
    }
}

/// Says why there is no answer to a change that was sent: it may have happened.
pub(super) fn unanswered(error: RunClientError) -> StateError {
    match error {
        RunClientError::Refused(refusal) => refused(refusal),
        error @ RunClientError::TooLarge => failed(&error),
        error => {
            let (code, cause) = (ErrorCode::BROKER_UNANSWERED, Some(described(&error)));
            told(code, "the run did not say whether the change was made".to_owned(), cause)
        }
    }
}

/// Says in a store's words what a run refused.
fn refused(refusal: Refusal) -> StateError {
    let known = ErrorCode::ALL.iter().find(|code| code.name == refusal.code).copied();
    let code = known.unwrap_or(ErrorCode { exit_code: refusal.exit_code, ..ErrorCode::SOCKET_MESSAGE });
    let help = refusal.remedy.as_deref().and_then(|remedy| remedy_of(remedy, code.help));
    StateError::Told(Box::new(ToldError {
        code,
        message: refusal.message,
        cause: ToldCause::chain(refusal.causes),
        help: help.unwrap_or(Remedy::Tell(refusal.help)),
        location: refusal.location.map(|location| *location),
    }))
}

fn failed(error: &RunClientError) -> StateError {
    use crate::model::Coded as _;
    told(error.code(), error.to_string(), None)
}

fn told(code: ErrorCode, message: String, cause: Option<String>) -> StateError {
    let (cause, help) = (ToldCause::chain(cause), code.help.clone());
    StateError::Told(Box::new(ToldError { code, message, cause, help, location: None }))
}

/// Reads what to do next. What is no prose is known only as far as the code names it too.
fn remedy_of(told: &Value, general: &Remedy) -> Option<Remedy> {
    if serde_json::to_value(general).is_ok_and(|known| known == *told) {
        return Some(general.clone());
    }
    let (name, value) = told.as_object()?.iter().next()?;
    match (name.as_str(), value) {
        ("say" | "tell", Value::String(words)) => Some(Remedy::Tell(words.clone())),
        ("all", Value::Array(all)) => {
            all.iter().map(|one| remedy_of(one, general)).collect::<Option<_>>().map(Remedy::All)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Coded as _, Plan, Task, TaskId};

    #[test]
    fn an_error_of_the_store_says_the_same_on_the_other_side() {
        let plan = Plan { tasks: vec![Task::new(TaskId::new("12"), "One")], ..Plan::default() };
        let untitled = Task::new(TaskId::new("1"), "").validate();
        let invalid = untitled.map_err(|source| StateError::TaskInvalid { id: TaskId::new("1"), source });
        let errors = [
            StateError::no_task(&plan, &TaskId::new("13")),
            StateError::BlockedByOther { id: TaskId::new("2") },
            StateError::NotInitialised { path: "/p/prd.toon".into() },
            StateError::TaskExists { id: TaskId::new("2") },
            invalid.expect_err("a title is needed"),
        ];
        for error in errors {
            let there = refused(Refusal::of(&error));
            assert_eq!(there.code(), error.code());
            assert_eq!(described(&there), described(&error));
            assert_eq!(there.help().prose(), error.help().prose());
            assert_eq!(there.location(), error.location());
            let step = |help: &Remedy| help.in_words(&|step| format!("<{step:?}>").into());
            assert_eq!(step(&there.help()), step(&error.help()), "steps are worded where they are shown");
        }
    }
}
