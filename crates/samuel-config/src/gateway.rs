//! One table of `[sandbox.gateway.<name>]`.
//!
//! What is not set is what is known by the name, where an agent's adapter declares it.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{
    ProblemKind,
    json_schema::{described, table, with},
    value::Value,
};

/// The longest name.
const MAX_NAME: usize = 40;

/// A host that agents in a sandbox reach without its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewaySettings {
    /// The address of the host, such as `https://api.example.org/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The field of requests that takes the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The word before the key in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// The variable of Samuel's environment with the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_env: Option<String>,
    /// The variable in which agents look for the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_env: Option<String>,
    /// The absolute path of a file with certificates in PEM of authorities that may vouch for the host as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

impl GatewaySettings {
    /// Reads a table of gateways by their names.
    pub(super) fn read_all(value: &Value<'_>) -> Option<Json> {
        let read = value.table()?.entries().into_iter().map(|(name, value)| {
            let allowed =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
            if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(allowed) {
                value.refuse_key(ProblemKind::Specific {
                    what: format!("`{name}` is no name of a gateway"),
                    help: format!("Name it with at most {MAX_NAME} small letters, digits, - and _.").into(),
                });
                return None;
            }
            Some((name.to_owned(), Self::read(&value)?))
        });
        read.collect::<Vec<_>>().into_iter().collect()
    }

    fn read(value: &Value<'_>) -> Option<Json> {
        let mut table = value.table()?;
        let keys = ["upstream", "header", "scheme", "from_env", "as_env", "authority"];
        let read =
            keys.map(|key| table.take(key).map(|value| (key.to_owned(), value.filled().map(Json::from))));
        let is_whole = table.finish();
        let read = read.into_iter().flatten().map(|(key, value)| Some((key, value?))).collect::<Vec<_>>();
        let read: Option<Json> = read.into_iter().collect::<Option<serde_json::Map<_, _>>>().map(Json::from);
        read.filter(|_| is_whole)
    }

    /// Describes a table of gateways.
    pub(super) fn schema() -> Json {
        let text = |about: &str| described(json!({ "type": "string", "minLength": 1 }), about);
        let properties = json!({
            "upstream": text("The address of the host, such as `https://api.example.org/v1`. Requests stay below its path."),
            "header": text("The field of requests that takes the key, such as `x-api-key` or `authorization`."),
            "scheme": text("The word before the key in it; for `authorization` it is `Bearer` where nothing is set."),
            "from_env": text("The variable of Samuel's environment with the key. Agents have it with a key that is none."),
            "as_env": text("The variable in which agents look for the address."),
            "authority": text("The absolute path of a file with certificates in PEM of authorities that may vouch for the host, beside those of Mozilla's list."),
        });
        let name = json!({ "pattern": format!("^[a-z0-9_-]{{1,{MAX_NAME}}}$") });
        let schema = json!({ "type": "object", "additionalProperties": table(properties, &[]) });
        with(schema, "propertyNames", name)
    }
}
