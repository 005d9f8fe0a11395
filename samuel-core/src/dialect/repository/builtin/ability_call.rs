//! A call of an ability, as logs have it.

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    hook::{Call, points},
    model::payload::AbilityStatus,
    text::excerpt,
};

/// How long names are that are written, in bytes.
const MAX_NAME: usize = 200;

/// A call of an ability: what became of it, and nothing of what it was about, which may be secret.
#[derive(Clone, Debug, Serialize)]
pub(in crate::dialect::repository) struct AbilityCall {
    pub(super) time: Timestamp,
    pub(super) session_id: String,
    pub(super) ability_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) operation_key: Option<String>,
    pub(super) status: AbilityStatus,
    pub(super) duration_ms: Option<u64>,
}

impl AbilityCall {
    /// Describes what a hook is called for.
    pub(in crate::dialect::repository) fn of(call: &Call<points::AbilityAfter>, time: Timestamp) -> Self {
        let (input, header) = (call.input(), call.header());
        let name = |text: &str| excerpt(text, MAX_NAME);
        Self {
            time,
            session_id: name(&header.session),
            ability_id: name(&input.ability_id),
            call_id: input.call_id.as_deref().map(name),
            operation_key: input.operation_key.as_deref().map(name),
            status: input.status,
            duration_ms: input.duration_ms,
        }
    }
}
