//! A handler contributes by key; the namespace is its own.

use samuel_hook::{Call, Registry, payload::ContextExtraOutput, points};

fn main() {
    let mut handlers = Registry::builder();
    handlers.api::<points::ContextExtra, _>("env", None, async |call: Call<points::ContextExtra>| {
        call.contribute("python", "Venv", ".venv")?;
        Ok(ContextExtraOutput::default())
    });
}
