//! Handlers in Rust: async, and on a thread of their own.

use std::sync::Arc;

use samuel_core::{
    hook::{
        AbilityCall, AbilityDecision, AgentEvent, BreakClass, Call, HookFailure, HookPoint, IntoHandler,
        Point, RegistryBuilder, blocking,
    },
    testing::{Act, FakeHandler},
};
use tokio::runtime::Handle;

use crate::{
    point::at_point,
    row::{Break, HandlerRow},
    tier::{NOBODY, Stage, Tier, file, filled, over},
};

/// Async handlers.
pub(crate) struct RustAsync;

impl Tier for RustAsync {
    fn name(&self) -> &'static str {
        "rust_async"
    }

    fn abandons(&self) -> bool {
        false
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        at_point!(point, P => {
            if row.speaks() {
                let row_of = row.clone();
                let handler = move |call: Call<P>| {
                    let row = row_of.clone();
                    async move {
                        speak(&row, &call).await;
                        answer(&row, &call)
                    }
                };
                return file::<P>(IntoHandler::<P, _>::into_handler(handler), row, stage, registry);
            }
            let act = match row.breaks {
                // A future that never ends is dropped, whatever it ignores.
                Some(Break::Ignores) => Act::Hang,
                _ => act_of(row),
            };
            file::<P>(IntoHandler::<P, _>::into_handler(FakeHandler::always(act)), row, stage, registry);
        });
    }
}

/// Handlers that block a thread.
pub(crate) struct RustBlocking;

impl Tier for RustBlocking {
    fn name(&self) -> &'static str {
        "rust_blocking"
    }

    fn abandons(&self) -> bool {
        true
    }

    fn register(&self, point: HookPoint, row: &HandlerRow, stage: &Stage, registry: &mut RegistryBuilder) {
        at_point!(point, P => {
            if row.speaks() {
                let row_of = row.clone();
                let handler = blocking::<P, _>(move |call: &Call<P>| {
                    Handle::current().block_on(speak(&row_of, call));
                    answer(&row_of, call)
                });
                return file::<P>(IntoHandler::<P, _>::into_handler(handler), row, stage, registry);
            }
            let act = match row.breaks {
                Some(Break::Ignores) => {
                    let curtain = Arc::clone(&stage.curtain);
                    Act::compute(move |_| {
                        curtain.wait();
                        Ok(Default::default())
                    })
                }
                _ => act_of(row),
            };
            file::<P>(IntoHandler::<P, _>::into_handler(FakeHandler::always(act).blocking()), row, stage, registry);
        });
    }
}

/// Returns what a row's handler does, as far as it is the same for both.
fn act_of<P: Point>(row: &HandlerRow) -> Act<P> {
    let row = row.clone();
    match row.breaks {
        Some(Break::Panics) => Act::panic(row.message),
        Some(Break::Hangs | Break::Ignores) => Act::Hang,
        _ => Act::compute(move |call| answer(&row, call)),
    }
}

/// Reports and asks what a row says.
async fn speak<P: Point>(row: &HandlerRow, call: &Call<P>) {
    let port = call.port().expect("only a handler of agent.invoke speaks");
    let say = |text: String| port.emit(AgentEvent::Text { text });
    row.says.iter().for_each(|text| say(text.clone()));
    if row.supervised {
        port.supervised_by(NOBODY, 1).await;
    }
    let Some(tool) = &row.asks else { return };
    let (call_id, input) = ("1".to_owned(), "{}".to_owned());
    let asked = AbilityCall { call_id, ability_id: tool.clone(), input, ..AbilityCall::default() };
    match port.before_ability(asked).await {
        AbilityDecision::Allow { input } => say(format!("allowed {input}")),
        AbilityDecision::Block { reason } => say(format!("blocked {reason}")),
    }
}

fn answer<P: Point>(row: &HandlerRow, call: &Call<P>) -> Result<P::Output, HookFailure> {
    row.warns.iter().for_each(|message| call.warn(message));
    for (key, value) in &row.contribute {
        call.contribute(key.clone(), value)?;
    }
    if row.breaks == Some(Break::Fails) {
        return Err(HookFailure::new(BreakClass::Failed, row.message.clone()));
    }
    Ok(over(&filled(&row.answer, call))?)
}
