//! Firing the points of a project by the hooks of an agent, without a run.

use std::{io, path::Path};

use serde_json::Value;

use super::kept::{Held, Kept, KeptSessions};
use crate::{
    agent::bridge::{Answer, Asked, BridgeEvent, EndedCall, EventKind, Protocol},
    context::Framing,
    engine::RunError,
    hook::{AbilityCall, AbilityDecision},
    model::{
        Coded, ErrorCode, Remedy,
        payload::{AbilityStatus, HookResults},
    },
    session::{
        AbilityReport, AbilityRequest, Feedback, OpenCall, ReadySession, Session, SessionBuilder,
        SessionError, SessionState,
    },
    text::excerpt,
    trust::RefusalReason,
};

/// The most bytes of one text for the model.
const MAX_TEXT: usize = 16 << 10;

/// A point that could not be fired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AloneError {
    /// The session cannot be opened or go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What is kept of it cannot be read or written.
    #[error("what is kept of the agent's session cannot be used")]
    Kept {
        /// Why not.
        #[from]
        source: io::Error,
    },
    /// What would execute is not what the session began with.
    #[error(
        "the hooks of this project are not those that the agent's session began with; look at them, trust them with `samuel trust`, and begin another session of the agent"
    )]
    Changed,
}

impl Coded for AloneError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Session(error) => error.code(),
            Self::Kept { .. } => ErrorCode::STATE_IO,
            Self::Changed => ErrorCode::TRUST_REFUSED,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Session(error) => error.help(),
            _ => self.code().help.clone(),
        }
    }
}

/// Fires the point that an agent's hook is about, in a session of the project that goes on from hook
/// to hook, and returns what the agent is answered.
///
/// What the project brings runs only where the builder's policy allows it. Of a project that was never
/// trusted nothing runs, so nothing is blocked either, and the user is told; where something was
/// trusted and is another thing now, which an agent can bring about, calls are denied.
///
/// # Errors
/// Returns an [`AloneError`] where nobody could be asked: a tool call has to be denied then.
pub async fn fire_alone(
    session: SessionBuilder,
    root: &Path,
    sessions: &KeptSessions,
    protocol: &dyn Protocol,
    asked: &Asked,
) -> Result<Answer, AloneError> {
    let hold = {
        let (sessions, root) = (sessions.clone(), root.to_owned());
        let (agent, id) = (protocol.name(), asked.session_id.clone());
        move || sessions.hold(&root, agent, &id)
    };
    let held = tokio::task::spawn_blocking(hold).await.map_err(io::Error::other)??;
    let session = match asked.session_id.as_str() {
        "" => session,
        id => session.session(id),
    };
    let mut ready = session.build()?;
    let executes = ready.executables()?.digest();
    let (session, began_with) = match open(ready, &held, asked).await? {
        Opened::Session(session, kept) => (session, kept),
        Opened::Untrusted => return Ok(untrusted(asked)),
    };
    if asked.at.kind == EventKind::Before && began_with.as_ref().is_some_and(|began| *began != executes) {
        return Err(AloneError::Changed);
    }
    let feedback = fire(&session, asked).await?;
    match asked.at.kind {
        EventKind::SessionEnd => {
            held.forget()?;
            sessions.forget_old();
        }
        _ => {
            let executes = began_with.unwrap_or(executes);
            held.write(&Kept { executes, state: session.state() })?;
        }
    }
    Ok(answer(asked, feedback))
}

/// A session, as far as it may be opened.
enum Opened {
    /// It is, and began with what has this digest; nothing where it begins now.
    Session(Session, Option<String>),
    /// Nobody has ever allowed what the project brings.
    Untrusted,
}

async fn open(ready: ReadySession, held: &Held, asked: &Asked) -> Result<Opened, AloneError> {
    // A session that starts under the same name starts anew.
    let kept = held.read()?.filter(|_| asked.at.kind != EventKind::SessionStart);
    let opened = match kept {
        Some(Kept { executes, state }) => (ready.resume(state).await, Some(executes)),
        None => (ready.open().await, None),
    };
    match opened {
        (Ok(session), began_with) => Ok(Opened::Session(session, began_with)),
        (Err(SessionError::Run(RunError::Untrusted(refusal))), None)
            if matches!(refusal.reason, RefusalReason::Untrusted) =>
        {
            Ok(Opened::Untrusted)
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// Tells the user once a session that nothing of the project runs.
fn untrusted(asked: &Asked) -> Answer {
    let message = "Samuel runs no hook of this project, since nobody has trusted them; `samuel trust` shows and trusts them";
    match asked.at.kind {
        EventKind::SessionStart => Answer { messages: vec![message.to_owned()], ..Answer::default() },
        _ => Answer::default(),
    }
}

async fn fire(session: &Session, asked: &Asked) -> Result<(Feedback, Option<String>), SessionError> {
    let feedback = match &asked.event {
        BridgeEvent::SessionStart { source } => session.start(*source).await?,
        BridgeEvent::PromptSubmit { prompt } => session.submit_prompt("user", prompt).await?,
        BridgeEvent::Before(call) => return before(session, call).await,
        BridgeEvent::After(ended) => session.after(report(&session.state(), ended)).await?,
        BridgeEvent::Stop { .. } => session.stop("completed", None).await?,
        BridgeEvent::SessionEnd { reason } => session.end(reason).await?,
    };
    Ok((feedback, None))
}

/// Asks about a call; returns its arguments where they are others now.
async fn before(session: &Session, call: &AbilityCall) -> Result<(Feedback, Option<String>), SessionError> {
    let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
    let request = AbilityRequest::new(&call.ability_id, input.clone()).caller("agent");
    let request = match call.call_id.as_str() {
        "" => request,
        id => request.call_id(id),
    };
    let permission = session.before(request).await?;
    let changed = match permission.decision {
        AbilityDecision::Allow { input: now } => {
            let is_same = serde_json::from_str::<Value>(&now).is_ok_and(|now| now == input);
            (!is_same).then_some(now)
        }
        AbilityDecision::Block { .. } => None,
    };
    Ok((permission.feedback, changed))
}

/// Says how a call ended. What an agent's hooks do not say of its end counts as a success, and one
/// without an id is the first under way with these arguments, else of this ability.
fn report(state: &SessionState, ended: &EndedCall) -> AbilityReport {
    let EndedCall { ability_id, call_id, input, status, duration_ms, output_summary } = ended.clone();
    let is_it = |call: &&OpenCall| call.ability_id == ability_id;
    let with_input = |call: &&OpenCall| {
        is_it(call)
            && call.facts.input_summary.as_deref().is_some_and(|kept| kept == excerpt(&input, kept.len()))
    };
    let open = || state.calls.iter().find(with_input).or_else(|| state.calls.iter().find(is_it));
    let call_id = match call_id.as_str() {
        "" => open().map(|call| call.call_id.clone()).unwrap_or_default(),
        _ => call_id,
    };
    AbilityReport {
        call_id,
        status: status.unwrap_or(AbilityStatus::Success),
        output_summary,
        duration_ms,
        input: serde_json::from_str(&input).ok(),
        ability_id: Some(ability_id),
        ..AbilityReport::default()
    }
}

/// Makes an answer for the agent of what handlers said: a "no", other arguments, texts for its model
/// with who said them, and messages for its user.
fn answer(asked: &Asked, (feedback, input): (Feedback, Option<String>)) -> Answer {
    let mut random = [0; 6];
    // Without random bytes the marks are weak; the quotations are still quotations.
    let _ = getrandom::fill(&mut random);
    let framing = Framing::new(random);
    let quote = |source: &str, text: &str| framing.quote(source, text, MAX_TEXT);
    let said = feedback.text.iter();
    let mut text: Vec<String> = said
        .map(|said| quote(&format!("hook {} at {}", said.handler, said.point), &said.item.content))
        .collect();
    let lines = lines(&feedback.results);
    if !lines.is_empty() {
        text.push(quote(&format!("hooks at {}", asked.at.name), &lines.join("\n")));
    }
    let mut messages = feedback.results.messages_to_user;
    messages
        .extend(feedback.warnings.iter().map(|warning| format!("{}: {}", warning.handler, warning.message)));
    messages
        .extend(feedback.unheard.map(|reason| format!("the agent stops although a hook said no: {reason}")));
    Answer { block: feedback.blocked, input, text, messages }
}

/// Says in lines what handlers suggest and tell; what they would have done is told, and not done.
fn lines(results: &HookResults) -> Vec<String> {
    let abilities = results.suggested_abilities.iter();
    let documents = results.suggested_documents.iter();
    let messages = results.messages_to_user.iter().cloned();
    abilities
        .map(|ability| format!("suggested ability {}: {}", ability.id, ability.reason))
        .chain(documents.map(|document| format!("suggested document {}: {}", document.path, document.reason)))
        .chain(results.follow_up_actions.iter().map(|action| format!("suggested action: {action}")))
        .chain(results.new_intent.iter().map(|intent| format!("intent: {intent}")))
        .chain(messages)
        .collect()
}
