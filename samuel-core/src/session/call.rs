//! The two points around a call of an ability, and what is called between them.

use std::fmt::Display;

use serde_json::Value;

use super::{
    AbilityEnd, AbilityOutcome, AbilityOutput, AbilityPermission, AbilityReport, AbilityRequest, Feedback,
    OpenCall, Permitted, SessionError,
    live::{CANCELLED, MAX_FILES, MAX_TEXT, Session, at_most},
    state::MAX_NAME,
};
use crate::{
    agent::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, ToolCallFacts},
    clock::whole_ms,
    event::Event,
    hook::{HookFailure, MAX_SUMMARY, Point, points},
    machine::ReplyData,
    model::payload::{AbilityAfterInput, AbilityBeforeInput, AbilityStatus},
    script::{HookCommand, ScriptOutput},
    text::excerpt,
};

impl Session {
    /// Asks the handlers of `ability.before` about a call, makes it where it may be made, and tells
    /// those of `ability.after` how it ended: how long it took, its arguments and its result in
    /// short. What the closure is given are the arguments as the handlers left them.
    ///
    /// Calls that the closure makes from this one are [`within`](AbilityRequest::within) it. The
    /// closure ends where the session's calls are [cancelled](Session::cancelled_by); where this
    /// future is dropped, nobody is told of the end.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where arguments have more than 1 MiB or a name more than
    /// 1 KiB, and [`SessionError::Ended`] where the session has ended. A call that fails is an
    /// [`AbilityEnd`].
    pub async fn call_ability<T, E: Display, F: Future<Output = Result<AbilityOutput<T>, E>>>(
        &self,
        request: AbilityRequest,
        ability: impl FnOnce(Permitted) -> F,
    ) -> Result<AbilityOutcome<T, E>, SessionError> {
        let ability_id = request.ability_id.clone();
        let AbilityPermission { call_id, decision, feedback: before } = self.before(request).await?;
        let input = match decision {
            AbilityDecision::Allow { input } => serde_json::from_str(&input).unwrap_or(Value::String(input)),
            AbilityDecision::Block { reason } => {
                let end = AbilityEnd::Blocked { reason };
                return Ok(AbilityOutcome { call_id, end, before, after: None });
            }
        };
        let began = self.points.clock().elapsed();
        let ability = ability(Permitted { call_id: call_id.clone(), input });
        let returned = self.cancel.run_until_cancelled(ability).await;
        let took = self.points.clock().elapsed().saturating_sub(began);
        let mut report = AbilityReport {
            call_id: call_id.clone(),
            ability_id: Some(ability_id),
            duration_ms: Some(whole_ms(took)),
            ..Default::default()
        };
        let end = match returned {
            Some(Ok(AbilityOutput { value, summary, changed_files })) => {
                (report.output_summary, report.changed_files) = (summary, changed_files);
                AbilityEnd::Returned(value)
            }
            Some(Err(error)) => {
                report.output_summary = Some(error.to_string());
                report.status = AbilityStatus::Error;
                AbilityEnd::Failed(error)
            }
            None => {
                report.status = AbilityStatus::Cancelled;
                AbilityEnd::Cancelled
            }
        };
        // What has ended is told also where the session has ended meanwhile: nothing is fired then.
        let after = self.after(report).await.ok();
        Ok(AbilityOutcome { call_id, end, before, after })
    }

    /// Runs a command as an ability, as [`call_ability`](Self::call_ability) does: it is given the
    /// arguments as JSON on standard input, and is looked after as the commands of handlers are. What
    /// it prints is the result in words; one that does not exit with 0 has failed.
    ///
    /// # Errors
    /// Returns what [`call_ability`](Self::call_ability) returns.
    pub async fn call_command(
        &self,
        request: AbilityRequest,
        command: HookCommand,
    ) -> Result<AbilityOutcome<ScriptOutput, HookFailure>, SessionError> {
        let ability = |permitted: Permitted| async move {
            let command = command.stdin(permitted.input.to_string());
            let output = command.run(self.points.supervisor(), &self.cancel).await?;
            match output.failure() {
                Some(failure) => Err(failure),
                None => {
                    let summary = output.stdout.text();
                    Ok(AbilityOutput::new(output).summary(summary))
                }
            }
        };
        self.call_ability(request, ability).await
    }

    /// Asks the handlers of `ability.before` about a call that the caller makes itself, if it may,
    /// and tells of to [`after`](Self::after). Whoever cannot keep to a "no" must not ask.
    ///
    /// # Errors
    /// Returns [`SessionError::TooLong`] where arguments have more than 1 MiB or a name more than
    /// 1 KiB, and [`SessionError::Ended`] where the session has ended.
    pub async fn before(&self, request: AbilityRequest) -> Result<AbilityPermission, SessionError> {
        let AbilityRequest { ability_id, input, call_id, parent_id, operation_key, caller } = request;
        let input = input.to_string();
        at_most("the input of the call", input.len(), MAX_TEXT)?;
        let names =
            [Some(&ability_id), call_id.as_ref(), parent_id.as_ref(), operation_key.as_ref(), Some(&caller)];
        let longest = names.into_iter().flatten().map(String::len).max();
        at_most("a name of the call", longest.unwrap_or_default(), MAX_NAME)?;
        self.check_open()?;
        let open = OpenCall {
            call_id: call_id.unwrap_or_default(),
            ability_id: ability_id.clone(),
            operation_key: operation_key.clone(),
            began_at: self.points.clock().now(),
            facts: ToolCallFacts::of(&ability_id, &input, &self.points.root()),
        };
        let call_id = self.kept().begin(open, parent_id.as_deref());
        self.tell(AgentEvent::ToolCall(AbilityCall {
            call_id: call_id.clone(),
            ability_id: ability_id.clone(),
            input: input.clone(),
            parent_id,
        }));
        let asked = AbilityBeforeInput {
            ability_id: ability_id.clone(),
            call_id: Some(call_id.clone()),
            operation_key,
            input: input.clone(),
            caller,
            enforced: true,
            ..Default::default()
        };
        let reply = self.fire(points::AbilityBefore::wrap(asked)).await?;
        let mut feedback = Feedback::of(reply.outcome);
        if self.cancel.is_cancelled() {
            feedback.blocked.get_or_insert_with(|| CANCELLED.to_owned());
        }
        let decision = match (&feedback.blocked, reply.data) {
            (Some(reason), _) => AbilityDecision::Block { reason: reason.clone() },
            (None, ReplyData::Ability(Some(input))) => AbilityDecision::Allow { input },
            (None, _) => AbilityDecision::Allow { input },
        };
        match &decision {
            AbilityDecision::Block { .. } => drop(self.kept().finish(&call_id)),
            AbilityDecision::Allow { input } => {
                let facts = ToolCallFacts::of(&ability_id, input, &self.points.root());
                self.kept().permit(&call_id, facts, self.points.clock().now());
            }
        }
        if let AbilityDecision::Block { reason } = &decision {
            let reason = reason.clone();
            self.points.emit(Event::AbilityBlocked { iteration: 0, ability_id, reason, prevented: true });
        }
        Ok(AbilityPermission { call_id, decision, feedback })
    }

    /// Tells the handlers of `ability.after` how a call ended, of those too that nobody
    /// [asked about](Self::before).
    ///
    /// # Errors
    /// Returns [`SessionError::UnknownCall`] where nobody asked about the call and its ability is not
    /// named, [`SessionError::TooLong`] where its arguments have more than 1 MiB or a name more than
    /// 1 KiB, and [`SessionError::Ended`] where the session has ended.
    pub async fn after(&self, report: AbilityReport) -> Result<Feedback, SessionError> {
        let AbilityReport { call_id, status, output_summary, changed_files, duration_ms, ability_id, input } =
            report;
        at_most(
            "a name of the call",
            call_id.len().max(ability_id.as_ref().map_or(0, String::len)),
            MAX_NAME,
        )?;
        let input = input.map(|input| input.to_string());
        at_most("the input of the call", input.as_ref().map_or(0, String::len), MAX_TEXT)?;
        self.check_open()?;
        let open = self.kept().finish(&call_id);
        let Some(ability_id) = open.as_ref().map(|call| call.ability_id.clone()).or(ability_id) else {
            return Err(SessionError::UnknownCall { call_id });
        };
        let began_at = open.as_ref().map(|call| call.began_at);
        let now = self.points.clock().now();
        let since = |began_at| u64::try_from(now.duration_since(began_at).as_millis()).ok();
        let duration_ms = duration_ms.or_else(|| since(began_at?));
        let (operation_key, known) = open.map(|call| (call.operation_key, call.facts)).unwrap_or_default();
        let facts = match &input {
            Some(input) => ToolCallFacts {
                path: known.path,
                ..ToolCallFacts::of(&ability_id, input, &self.points.root())
            },
            None => known,
        };
        let facts = facts.ended(status);
        let output_summary =
            output_summary.filter(|text| !text.is_empty()).map(|text| excerpt(&text, MAX_SUMMARY));
        self.tell(AgentEvent::ToolResult(AbilityResult {
            call_id: call_id.clone(),
            ability_id: ability_id.clone(),
            status,
            duration_ms,
            output_summary: output_summary.clone(),
            ..Default::default()
        }));
        let ended = points::AbilityAfter::wrap(AbilityAfterInput {
            ability_id,
            call_id: Some(call_id).filter(|id| !id.is_empty()),
            operation_key,
            status,
            duration_ms,
            input_summary: facts.input_summary,
            output_summary,
            tool_call_path: facts.path,
            changed_files: changed_files.or(facts.changed_files).filter(|files| files.len() <= MAX_FILES),
            ..Default::default()
        });
        Ok(Feedback::of(self.fire_to_the_end(ended).await?.outcome))
    }

    fn tell(&self, report: AgentEvent) {
        self.points.emit(Event::Agent { iteration: 0, report });
    }
}
