//! What an agent asks the model.

use serde_json::Value;

use super::http::Call;

/// A request for an answer of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// How the agent speaks.
    pub protocol: Protocol,
    /// The model it asks for.
    pub model: String,
    /// The whole body.
    pub body: Value,
}

/// A provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `POST /v1/messages`.
    AnthropicMessages,
    /// `POST /v1/responses`.
    OpenAiResponses,
    /// `POST /v1beta/models/MODEL:streamGenerateContent`, or
    /// `:generateContent` for an answer in one piece.
    GeminiContent,
}

impl ModelRequest {
    /// Reads a request, if it is one for the model.
    pub(super) fn of(call: &Call) -> Option<Self> {
        if call.method != "POST" {
            return None;
        }
        let body: Value = serde_json::from_slice(&call.body).ok()?;
        let path = call.path.split('?').next().unwrap_or_default();
        let named = || body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (protocol, model) = if path.ends_with("/messages") {
            (Protocol::AnthropicMessages, named())
        } else if path.ends_with("/responses") {
            (Protocol::OpenAiResponses, named())
        } else if path.to_ascii_lowercase().ends_with("generatecontent") {
            let model = path.rsplit('/').next().and_then(|last| last.split(':').next());
            (Protocol::GeminiContent, model.unwrap_or_default().to_owned())
        } else {
            return None;
        };
        // Whether Gemini wants a stream stands in the path alone.
        let mut body = body;
        if let (Protocol::GeminiContent, Some(object)) = (protocol, body.as_object_mut()) {
            object.insert("stream".into(), path.ends_with(":streamGenerateContent").into());
        }
        Some(Self { protocol, model, body })
    }

    /// Says whether the agent offers tools, as it does for its main work.
    pub fn offers_tools(&self) -> bool {
        let tools = self.body.get("tools").and_then(Value::as_array);
        tools.is_some_and(|tools| !tools.is_empty())
    }

    /// Says whether the answer is expected as a stream of events.
    pub fn wants_stream(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Says whether the conversation so far holds this text anywhere.
    pub fn mentions(&self, text: &str) -> bool {
        let conversation = ["messages", "input", "contents"].iter().find_map(|key| self.body.get(key));
        conversation.is_some_and(|value| holds(value, text))
    }
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(fields) => fields.values().any(|field| holds(field, text)),
        _ => false,
    }
}
