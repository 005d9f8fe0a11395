//! Answers in the form of Anthropic's Messages API, as documented under
//! «Streaming Messages».

use serde_json::{Value, json};

use super::{Block, ModelRequest, Tokens, http::Response};

pub(super) fn render(request: &ModelRequest, blocks: &[Block], tokens: Tokens, number: usize) -> Response {
    let content: Vec<Value> =
        blocks.iter().enumerate().map(|(index, block)| whole_block(block, number, index)).collect();
    let calls_tool = blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
    let stop_reason = if calls_tool { "tool_use" } else { "end_turn" };
    let usage = json!({
        "input_tokens": tokens.fresh, "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0, "output_tokens": tokens.output,
    });
    let message = |content: Value, stop_reason: Value| {
        json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": request.model,
            "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
        })
    };
    if !request.wants_stream() {
        return Response::json(200, &message(content.into(), stop_reason.into()));
    }
    let mut events = vec![json!({"type": "message_start", "message": message(json!([]), Value::Null)})];
    for (index, block) in blocks.iter().enumerate() {
        events.extend(block_events(block, number, index));
    }
    events.push(json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": tokens.output},
    }));
    events.push(json!({"type": "message_stop"}));
    let named = events.iter().map(|event| (event.get("type").and_then(Value::as_str), event.clone()));
    Response::events(named)
}

fn whole_block(block: &Block, number: usize, index: usize) -> Value {
    match block {
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Tool { name, input } => {
            json!({"type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": name, "input": input})
        }
    }
}

/// Returns a block as it streams: an empty start, one piece, the end.
fn block_events(block: &Block, number: usize, index: usize) -> [Value; 3] {
    let (start, delta) = match block {
        Block::Text(text) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
        }
        Block::Tool { name, input } => (
            whole_block(&Block::tool(name, json!({})), number, index),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        ),
    };
    [
        json!({"type": "content_block_start", "index": index, "content_block": start}),
        json!({"type": "content_block_delta", "index": index, "delta": delta}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}
