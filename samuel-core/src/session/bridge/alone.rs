//! Firing the points of a project by the hooks of an agent, without a run.

use std::{io, path::Path, pin::pin, time::Duration};

use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    MAX_TIME,
    kept::{Held, Kept, KeptSessions},
};
use crate::{
    agent::bridge::{BridgeEvent, EndedCall, EventKind, HookAnswer, HookInput, Protocol},
    context::Framing,
    engine::RunError,
    hook::{AbilityCall, AbilityDecision},
    model::{
        Coded, ErrorCode, Remedy,
        payload::{AbilityStatus, HookResults},
        run_blocking,
    },
    session::{
        AbilityReport, AbilityRequest, Feedback, OpenCall, Session, SessionBuilder, SessionError,
        SessionState,
    },
    text::excerpt,
    trust::RefusalReason,
};

/// How long before the agent's time is over handlers are ended.
const AT_THE_END: Duration = Duration::from_secs(1);
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
    /// The handlers took longer than the agent waits.
    #[error("the handlers did not end in time")]
    Late,
}

impl Coded for AloneError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Session(error) => error.code(),
            Self::Kept { .. } => ErrorCode::STATE_IO,
            Self::Late => ErrorCode::HOOK_TIMEOUT,
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
/// to hook, and returns what the agent is answered. Handlers are ended shortly before `time` is over, of
/// which more than a day counts as one.
///
/// What the project brings runs only where the builder's policy allows it. Of a project that was never
/// trusted nothing runs, so nothing is blocked either, and the user is told once a session. Where
/// something was trusted and is another thing now, or gone, which an agent can bring about, nothing
/// is allowed.
///
/// # Errors
/// Returns an [`AloneError`] where nobody could be asked: a tool call has to be denied then.
pub async fn fire_alone(
    session: SessionBuilder,
    root: &Path,
    sessions: &KeptSessions,
    protocol: &dyn Protocol,
    asked: &HookInput,
    time: Duration,
) -> Result<HookAnswer, AloneError> {
    let time = time.min(MAX_TIME);
    let ends = Instant::now() + time.saturating_sub(AT_THE_END.min(time / 4));
    let is_start = asked.at.kind == EventKind::SessionStart;
    let open = {
        let (sessions, root) = (sessions.clone(), root.to_owned());
        let (agent, id) = (protocol.name(), asked.session_id.clone());
        let session = match id.as_str() {
            "" => session,
            id => session.session(id),
        };
        move || -> Result<_, AloneError> {
            let held = sessions.hold(&root, agent, &id)?;
            // A session that starts under the same name starts anew.
            let kept = held.read()?.filter(|_| !is_start);
            if kept.is_none() {
                sessions.forget_old();
            }
            let mut ready = session.build()?;
            let brings = ready.brings()?;
            Ok((held, kept, ready, brings))
        }
    };
    let (held, kept, ready, brings) = run_blocking(open).await.map_err(io::Error::other)??;
    let is_told = kept.as_ref().is_some_and(|kept| kept.state.is_none());
    let had_trusted = kept.as_ref().is_some_and(|kept| kept.has_trusted);
    let opened = match kept.and_then(|kept| kept.state) {
        Some(state) => ready.resume(state).await,
        None => ready.open().await,
    };
    let opened = match opened {
        // Also of a session that began before there was anything to be trusted. In one that ran what was trusted, an
        // agent may have had that forgotten.
        Err(SessionError::Run(RunError::Untrusted(refusal)))
            if matches!(refusal.reason, RefusalReason::Untrusted) && !had_trusted =>
        {
            return untrusted(asked, held, is_told);
        }
        opened => opened?,
    };
    let cancel = CancellationToken::new();
    let session = opened.cancelled_by(cancel.clone());
    let fired = {
        let mut firing = pin!(fire(&session, protocol, asked));
        match timeout_at(ends, &mut firing).await {
            Ok(fired) => Some(fired),
            Err(_) => {
                cancel.cancel();
                timeout(AT_THE_END / 2, firing).await.ok()
            }
        }
    };
    // Also where they were late: a stop that was held up counts.
    match asked.at.kind {
        EventKind::SessionEnd => held.forget()?,
        _ => {
            let has_trusted = had_trusted || brings;
            held.write(&Kept { state: Some(session.state()), has_trusted })?;
        }
    }
    Ok(answer(asked, fired.ok_or(AloneError::Late)??))
}

/// The message for the user of a project that nobody has trusted; how that is done is the caller's to add.
pub const UNTRUSTED: &str = "Samuel runs no hook of this project, since nobody has trusted them";

/// Tells the user once a session that nothing of the project runs.
fn untrusted(asked: &HookInput, held: Held, is_told: bool) -> Result<HookAnswer, AloneError> {
    if asked.at.kind == EventKind::SessionEnd {
        held.forget()?;
        return Ok(HookAnswer::default());
    }
    held.write(&Kept { state: None, has_trusted: false })?;
    let messages = if is_told { Vec::new() } else { vec![UNTRUSTED.to_owned()] };
    Ok(HookAnswer { messages, ..HookAnswer::default() })
}

async fn fire(
    session: &Session,
    protocol: &dyn Protocol,
    asked: &HookInput,
) -> Result<(Feedback, Option<String>), SessionError> {
    let feedback = match &asked.event {
        BridgeEvent::SessionStart { source } => session.start(*source).await?,
        BridgeEvent::PromptSubmit { prompt } => session.submit_prompt("user", prompt).await?,
        BridgeEvent::Before(call) => return before(session, protocol, call).await,
        BridgeEvent::After(ended) => session.after(report(&session.state(), ended)).await?,
        BridgeEvent::Stop => session.stop("completed", None).await?,
        BridgeEvent::SessionEnd { reason } => session.end(reason).await?,
    };
    Ok((feedback, None))
}

/// Asks about a call; returns its arguments where they are others now.
async fn before(
    session: &Session,
    protocol: &dyn Protocol,
    call: &AbilityCall,
) -> Result<(Feedback, Option<String>), SessionError> {
    let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
    let request = AbilityRequest::new(&call.ability_id, input.clone()).caller(protocol.name());
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
fn answer(asked: &HookInput, (feedback, input): (Feedback, Option<String>)) -> HookAnswer {
    let mut random = [0; 6];
    // Without random bytes the marks are weak; the quotations are still quotations.
    let _ = getrandom::fill(&mut random);
    let framing = Framing::new(random);
    let quote = |source: &str, text: &str| framing.quote(source, text, MAX_TEXT);
    let mut suggested = suggested(&feedback.results);
    let mut messages = feedback.results.messages_to_user;
    let mut text = Vec::new();
    match asked.at.kind {
        // Before a call nothing but a reason reaches the model.
        EventKind::Before => {
            // What is told to the user is said to the model as well, where that can be.
            let said = feedback.text.iter().filter(|said| !messages.contains(&said.item.content));
            let said: Vec<String> =
                said.map(|said| format!("{}: {}", said.handler, said.item.content)).collect();
            messages.extend(said);
            messages.append(&mut suggested);
        }
        _ => {
            let said = feedback.text.iter();
            text.extend(
                said.map(|said| {
                    quote(&format!("hook {} at {}", said.handler, said.point), &said.item.content)
                }),
            );
            if !suggested.is_empty() {
                text.push(quote(&format!("hooks at {}", asked.at.name), &suggested.join("\n")));
            }
        }
    }
    // What a reason says already is not told once more.
    messages.retain(|message| !feedback.blocked.as_ref().is_some_and(|said| said.contains(message)));
    messages
        .extend(feedback.warnings.iter().map(|warning| format!("{}: {}", warning.handler, warning.message)));
    messages
        .extend(feedback.unheard.map(|reason| format!("the agent stops although a hook said no: {reason}")));
    HookAnswer { block: feedback.blocked, input, text, messages }
}

/// Says in lines what handlers suggest; what they would have done is told, and not done.
fn suggested(results: &HookResults) -> Vec<String> {
    let abilities = results.suggested_abilities.iter();
    let documents = results.suggested_documents.iter();
    abilities
        .map(|ability| format!("suggested ability {}: {}", ability.id, ability.reason))
        .chain(documents.map(|document| format!("suggested document {}: {}", document.path, document.reason)))
        .chain(results.follow_up_actions.iter().map(|action| format!("suggested action: {action}")))
        .chain(results.new_intent.iter().map(|intent| format!("intent: {intent}")))
        .collect()
}
