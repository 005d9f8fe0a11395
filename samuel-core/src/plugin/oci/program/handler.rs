//! The handler of an image.

use std::path::Path;

use async_trait::async_trait;

use super::{
    ImageMode, ImagePlugin,
    grants::WORKSPACE,
    image::{Asking, Replied},
};
use crate::{
    hook::{BreakClass, Call, Handler, HookFailure, HookPoint, Point, Tier},
    plugin::{Capability, agent_env, envelope},
    script::hook_env,
};

/// What a program of an image does at a point; it answers at any.
#[derive(Clone, Debug)]
pub struct ImageHandler {
    plugin: ImagePlugin,
    name: String,
    is_interactive: bool,
}

impl ImageHandler {
    pub(super) fn new(plugin: ImagePlugin, name: String) -> Self {
        Self { plugin, name, is_interactive: false }
    }

    /// Keeps the standard input of a program open that is called once in the agent's place, for replies to what it
    /// asks, as `interactive` does in a manifest. That of a program that serves is open anyway.
    #[must_use]
    pub fn interactive(self) -> Self {
        Self { is_interactive: true, ..self }
    }

    async fn answer<P: Point>(&self, call: &Call<P>) -> Result<P::Output, HookFailure> {
        let setup = self.plugin.setup();
        if P::POINT == HookPoint::AgentInvoke && !setup.granted.has(Capability::Exec) {
            let message = "a handler of agent.invoke needs the capability exec, which was not granted";
            return Err(HookFailure::new(BreakClass::Denied, message));
        }
        let shown = agent_env::shown(call, &setup.granted);
        let call = shown.as_ref().unwrap_or(call);
        let methodology = &call.context().base().methodology.name;
        let warn = |message| call.warn(message);
        let asking = Asking {
            handler: &self.name,
            envelope: envelope::encode(call, self.plugin.config())?,
            header: call.header(),
            link: call.link(),
            env: match setup.mode {
                ImageMode::Call => hook_env(call.header(), Path::new(WORKSPACE), methodology, 0),
                ImageMode::Serve => Vec::new(),
            },
            port: call.port(),
            warn: &warn,
            cancel: call.cancelled(),
            is_interactive: self.is_interactive,
        };
        let replied = self.plugin.ask(asking).await;
        self.plugin.notices().into_iter().for_each(warn);
        let answer = match replied? {
            Replied::Fields(fields) => envelope::decode_fields::<P>(fields)?,
            Replied::Text(text) => envelope::decode::<P>(&text)?,
        };
        answer.warnings.into_iter().for_each(|message| call.warn(message));
        agent_env::admit(call, &answer.output, &setup.granted)?;
        for (key, value) in answer.contributed {
            call.contribute(key, value)?;
        }
        Ok(answer.output)
    }
}

#[async_trait]
impl<P: Point> Handler<P> for ImageHandler {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        self.answer(&call).await
    }

    fn tier(&self) -> Tier {
        Tier::Oci
    }
}
