//! Handlers in Rust: async, and on a thread of their own.

use std::sync::Arc;

use samuel_core::{
    hook::{BreakClass, Call, HookFailure, HookPoint, IntoHandler, Point, RegistryBuilder},
    testing::{Act, FakeHandler},
};

use crate::{
    point::at_point,
    row::{Break, HandlerRow},
    tier::{Stage, Tier, file, filled, over},
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

fn answer<P: Point>(row: &HandlerRow, call: &Call<P>) -> Result<P::Output, HookFailure> {
    for (key, value) in &row.contribute {
        call.contribute(key.clone(), value)?;
    }
    if row.breaks == Some(Break::Fails) {
        return Err(HookFailure::new(BreakClass::Failed, row.message.clone()));
    }
    Ok(over(&filled(&row.answer, call))?)
}
