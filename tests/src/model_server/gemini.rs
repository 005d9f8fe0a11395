//! Answers in the form of the Gemini API's `streamGenerateContent` and
//! `generateContent`.

use serde_json::{Value, json};

use super::{Block, ModelRequest, Tokens, http::Response};

pub(super) fn render(request: &ModelRequest, blocks: &[Block], tokens: Tokens) -> Response {
    let parts: Vec<Value> = blocks.iter().map(part).collect();
    let answer = json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens.fresh + tokens.cached, "cachedContentTokenCount": tokens.cached,
            "candidatesTokenCount": tokens.output,
            "totalTokenCount": tokens.fresh + tokens.cached + tokens.output,
        },
        "modelVersion": request.model,
    });
    match request.wants_stream() {
        true => Response::events([(None, answer)]),
        false => Response::json(200, &answer),
    }
}

fn part(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({"text": text}),
        Block::Tool { name, input } => json!({"functionCall": {"name": name, "args": input}}),
    }
}
