//! What asking about a task, answering and being heard do to it.
//!
//! [`apply`](super::apply()) calls them. What a question is, `model` says.

use super::{
    StateError, TaskChange,
    task_status::{changed, forget_outcome},
};
use samuel_model::{InvalidQuestion, Question, Status, Task, TaskId};

/// Blocks a task with a question, which no answer waits behind that its agent was not given.
pub(super) fn ask(task: &mut Task, question: Question) -> Result<TaskChange, StateError> {
    let id = task.id.clone();
    match task.status {
        Status::Pending if task.answered_question().is_some() => return Err(StateError::AnswerWaits { id }),
        Status::Pending | Status::InProgress => {}
        Status::Blocked if task.open_question().is_some() => {}
        status => return Err(StateError::NotAskable { id, status }),
    }
    Ok(changed(task, |task| {
        if task.status != Status::Blocked {
            forget_outcome(task);
            task.status = Status::Blocked;
        }
        task.question = Some(question);
    }))
}

/// Opens a task with the answer to its question.
pub(super) fn answer_question(task: &mut Task, answer: &str) -> Result<TaskChange, StateError> {
    let id = task.id.clone();
    let Some(question) = task.open_question() else {
        // Of two who answer, the second learns that it is the other one's answer that counts.
        return Err(match task.answered_question() {
            Some(_) => StateError::AnsweredBefore { id },
            None => StateError::NoQuestion { id },
        });
    };
    let answered = question.answered(answer).map_err(|source| not_stored(&id, source))?;
    Ok(changed(task, |task| {
        forget_outcome(task);
        task.status = Status::Pending;
        task.question = Some(answered);
    }))
}

pub(super) fn not_stored(id: &TaskId, source: InvalidQuestion) -> StateError {
    StateError::QuestionInvalid { id: id.clone(), source }
}
