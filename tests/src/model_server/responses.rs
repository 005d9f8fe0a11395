//! Answers in the form of OpenAI's Responses API, as documented under
//! «Streaming events».

use serde_json::{Value, json};

use super::{Block, ModelRequest, Tokens, http::Response};

pub(super) fn render(request: &ModelRequest, blocks: &[Block], tokens: Tokens, number: usize) -> Response {
    let output: Vec<Value> =
        blocks.iter().enumerate().map(|(index, block)| item(block, number, index)).collect();
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_{number}"), "object": "response", "created_at": 0, "model": request.model,
            "status": status, "output": output, "error": null, "incomplete_details": null,
            "usage": {
                "input_tokens": tokens.fresh + tokens.cached,
                "input_tokens_details": {"cached_tokens": tokens.cached},
                "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens.fresh + tokens.cached + tokens.output,
            },
        })
    };
    if !request.wants_stream() {
        return Response::json(200, &response("completed", &output));
    }
    let mut events = vec![json!({"type": "response.created", "response": response("in_progress", &[])})];
    for (index, item) in output.iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": response("completed", &output)}));
    for (number, event) in events.iter_mut().enumerate() {
        if let Some(fields) = event.as_object_mut() {
            fields.insert("sequence_number".into(), number.into());
        }
    }
    let named = events.iter().map(|event| (event.get("type").and_then(Value::as_str), event.clone()));
    Response::events(named)
}

fn item(block: &Block, number: usize, index: usize) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": format!("msg_{number}_{index}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Block::Tool { name, input } => json!({
            "type": "function_call", "id": format!("fc_{number}_{index}"), "status": "completed",
            "call_id": format!("call_{number}_{index}"), "name": name, "arguments": input.to_string(),
        }),
    }
}
