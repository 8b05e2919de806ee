//! The lines of the scenario files.
//!
//! A request's body keeps its text: the order of keys determines the order of warnings.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, de::Error as _};
use serde_json::{Value, value::RawValue};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) id: String,
    #[serde(default)]
    pub(super) why: String,
    #[serde(default = "default_server")]
    pub(super) server: String,
    #[serde(default)]
    pub(super) needs_fresh_server: bool,
    #[serde(default)]
    pub(super) managed_fields: ManagedFields,
    /// The numbers of the `<rv:N>` placeholders, by ascending value.
    #[serde(default)]
    pub(super) rv_order: Option<Vec<u32>>,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum ManagedFields {
    Kept,
    #[default]
    Dropped,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Fields")]
pub(super) enum Step {
    /// Only the status of the response is compared.
    Setup(Exchange),
    Request(Exchange),
    Cleanup,
    WatchStart {
        name: String,
        exchange: Exchange,
    },
    WatchCollect {
        name: String,
        count: usize,
        timeout: Duration,
        events: Vec<Value>,
        closed: bool,
    },
    Sleep(Duration),
    Compact,
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) response: Response,
    pub(super) compare: Option<String>,
    pub(super) until: Option<Until>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: String,
    /// Sent unchanged.
    pub(super) path: String,
    #[serde(default)]
    pub(super) query: BTreeMap<String, Values>,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) accept: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Values>,
    #[serde(default)]
    pub(super) auth: Auth,
    #[serde(default)]
    pub(super) body: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) body_raw: Option<String>,
    #[serde(default)]
    pub(super) body_repeat: Option<Repeat>,
}

/// One value, or several under one name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Auth {
    /// The token of the server's administrator.
    #[default]
    Admin,
    None,
    /// An unknown bearer token.
    Bad,
    Basic,
}

/// A body too long to be written out: `prefix`, `count` times `unit`, `suffix`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Repeat {
    #[serde(default)]
    pub(super) prefix: String,
    pub(super) unit: String,
    pub(super) count: usize,
    #[serde(default)]
    pub(super) suffix: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    #[serde(default)]
    pub(super) status: u16,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) body: Option<Value>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    closed: bool,
}

/// Repeat the request until it gets this response.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Until {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) contains: Option<String>,
    pub(super) within_s: f64,
}

/// A step as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(default)]
    setup: bool,
    #[serde(default)]
    cleanup: bool,
    #[serde(default)]
    request: Option<Request>,
    #[serde(default)]
    response: Response,
    #[serde(default)]
    compare: Option<String>,
    #[serde(default)]
    until: Option<Until>,
    #[serde(default)]
    watch_start: Option<String>,
    #[serde(default)]
    watch_collect: Option<String>,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    timeout_s: f64,
    #[serde(default)]
    action: Option<String>,
}

impl TryFrom<Fields> for Step {
    type Error = serde_json::Error;

    fn try_from(fields: Fields) -> Result<Step, serde_json::Error> {
        if let Some(action) = fields.action {
            return parse_action(&action);
        }
        if let Some(name) = fields.watch_collect {
            let timeout = seconds(fields.timeout_s)?;
            let Response { events, closed, .. } = fields.response;
            return Ok(Step::WatchCollect { name, count: fields.count, timeout, events, closed });
        }
        let Some(request) = fields.request else {
            return Err(serde_json::Error::custom("a step without request, watch or action"));
        };
        if fields.cleanup {
            return Ok(Step::Cleanup);
        }
        let Fields { response, compare, until, .. } = fields;
        let exchange = Exchange { request, response, compare, until };
        Ok(match fields.watch_start {
            Some(name) => Step::WatchStart { name, exchange },
            None if fields.setup => Step::Setup(exchange),
            None => Step::Request(exchange),
        })
    }
}

fn parse_action(action: &str) -> Result<Step, serde_json::Error> {
    if action == "compact" {
        return Ok(Step::Compact);
    }
    let unknown = || serde_json::Error::custom(format!("no action {action:?} is known"));
    let number = action.strip_prefix("sleep ").ok_or_else(unknown)?;
    Ok(Step::Sleep(seconds(number.parse().map_err(serde_json::Error::custom)?)?))
}

fn seconds(seconds: f64) -> Result<Duration, serde_json::Error> {
    Duration::try_from_secs_f64(seconds).map_err(serde_json::Error::custom)
}

fn default_server() -> String {
    "default".to_owned()
}

impl Step {
    /// What the step sends, if its response is compared.
    pub(super) fn exchange(&self) -> Option<&Exchange> {
        match self {
            Step::Setup(exchange) | Step::Request(exchange) | Step::WatchStart { exchange, .. } => {
                Some(exchange)
            }
            Step::Cleanup | Step::WatchCollect { .. } | Step::Sleep(_) | Step::Compact => None,
        }
    }
}
