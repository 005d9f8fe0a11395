//! Handlers of the behaviour table, as a component.
//!
//! It handles every point, and is told what to do by its settings: a
//! [`Behaviour`], which is what a row says of one handler. [`record`] turns the
//! records of the contract into JSON and back, [`text`] fills the texts of an
//! answer.

mod record;
mod table;
mod text;

use std::{hint, thread, time::Duration};

use samuel_plugin::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use record::{Output, ToJson as _};

/// What a row says of a handler.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Behaviour {
    /// Fields of the answer; the others keep their defaults.
    answer: Map<String, Value>,
    /// What it contributes before it answers or breaks.
    contribute: Map<String, Value>,
    /// What it warns of.
    warns: Vec<String>,
    /// What it reports in the agent's place.
    says: Vec<String>,
    /// A tool that it asks about there.
    asks: Option<String>,
    /// Whether it starts a command there.
    starts: bool,
    /// How it breaks, if it does.
    breaks: Option<Break>,
    /// The message it breaks with.
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Break {
    Fails,
    Panics,
    Hangs,
    Ignores,
}

/// Does what the settings say, for any point.
fn behave<O: Output>(call: &CallHeader, input: Value, previous: Value) -> Result<O, HookFailure> {
    let Behaviour { answer, contribute, warns, says, asks, starts, breaks, message } = config::table()?;
    warns.iter().for_each(log::warn);
    for text in says {
        agent::say(text)?;
    }
    if starts {
        exec::Command::new("/bin/sh").args(["-c", ":"]).run()?;
    }
    if let Some(tool) = asks {
        match agent::before_ability("1", &tool, &json!({}))? {
            agent::Decision::Allow(input) => agent::say(format!("allowed {input}"))?,
            agent::Decision::Block(reason) => agent::say(format!("blocked {reason}"))?,
        }
    }
    for (key, value) in &contribute {
        plugins::contribute(key, value)?;
    }
    match breaks {
        None => {}
        Some(Break::Fails) => return Err(HookFailure::new(message)),
        Some(Break::Panics) => panic!("{message}"),
        // In the host, which can give it up there.
        Some(Break::Hangs) => thread::sleep(Duration::from_secs(1_000)),
        // In code of its own, which has to be interrupted.
        Some(Break::Ignores) => loop {
            hint::spin_loop();
        },
    }
    let envelope = json!({ "call": call.to_json(), "input": input, "previous": previous });
    let mut output = O::default();
    for (name, value) in answer {
        output.set(&name, text::fill(value, &envelope))?;
    }
    Ok(output)
}

/// The handlers.
struct Rows;

/// Implements every point by [`behave`], with the fields of its input and its
/// output.
macro_rules! points {
    ($(
        $point:ident $run:ident($input:ident $fields:tt $(, $previous:ident)?) -> $output:ident $answer:tt;
    )+) => {
        $(
            record!(input $input $fields);
            record!(output $output $answer);

            impl $point for Rows {
                fn $run(
                    call: CallHeader,
                    input: $input,
                    $($previous: Option<$output>,)?
                ) -> Result<$output, HookFailure> {
                    let standing = Value::Null;
                    $(let standing = $previous.map_or(standing, |output| output.to_json());)?
                    behave(&call, input.to_json(), standing)
                }
            }
        )+

        samuel_plugin::export!(Rows: $($point),+);
    };
}
pub(crate) use points;
