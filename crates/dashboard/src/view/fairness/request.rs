//! Which rule takes a request that somebody typed in, as `evenkeel fairness match --live` answers.

use evenkeel_fairness::{
    classify::Verdict,
    config::Config,
    matching::{Answer, RequestSpec, described},
    simulate::Attributes,
};
use serde::Serialize;

use super::levels;
use crate::view::{
    what_if::quoted,
    words::{count, shown},
};

const MOST_TRIED: usize = 50;
const MOST_ALSO: usize = 10;
/// A reason names what a rule wants.
const LONGEST_REASON: usize = 400;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestView {
    pub sentence: String,
    /// The request in words.
    pub request: String,
    /// In the order tried. The one that takes the request is the last.
    pub tried: Vec<TriedRow>,
    /// Rules that were tried before those.
    pub tried_left_out: usize,
    /// Later rules that would take it as well.
    pub also: Vec<String>,
    pub also_left_out: usize,
    /// What says the same in a terminal.
    pub command: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedRow {
    pub schema: String,
    pub precedence: i32,
    pub level: String,
    pub matches: bool,
    pub why: String,
}

/// `None`: the objects in force are unknown.
pub(super) fn request(config: Option<&Config>, spec: &RequestSpec) -> RequestView {
    let told =
        |sentence: &str| RequestView { sentence: sentence.to_owned(), ..RequestView::default() };
    if !spec.resource.is_empty() && spec.path.is_some() {
        return told("A request is for a resource or for a path, not for both.");
    }
    if spec.resource.is_empty() && spec.path.is_none() {
        return told("Name a resource, such as pods or pods/log, or a path, such as /healthz.");
    }
    let Some(config) = config else {
        return told("Which rule takes it is unknown: the FlowSchemas could not be read.");
    };
    let attributes = spec.attributes();
    let answer = Answer::new(config, &attributes);
    let skipped = answer.explanation.tried.len().saturating_sub(MOST_TRIED);
    let tried = answer.tried(config).skip(skipped).map(|(tried, why)| TriedRow {
        schema: shown(&tried.schema),
        precedence: tried.precedence,
        level: shown(&tried.level),
        matches: matches!(tried.verdict, Verdict::Matched(_)),
        why: bounded(&why),
    });
    let also = &answer.explanation.also;
    RequestView {
        sentence: sentence(&answer, config),
        request: bounded(&described(&attributes)),
        tried: tried.collect(),
        tried_left_out: skipped,
        also: also.iter().take(MOST_ALSO).map(|name| shown(name)).collect(),
        also_left_out: also.len().saturating_sub(MOST_ALSO),
        command: Some(command(spec, &attributes)),
    }
}

fn sentence(answer: &Answer, config: &Config) -> String {
    let Answer { explanation, handling, hand, queues } = answer;
    let (schema, level) = (shown(&explanation.schema), shown(&explanation.level));
    let matched = if explanation.fallback {
        format!("No FlowSchema matches, so {schema} takes the request")
    } else {
        format!("FlowSchema {schema} takes the request")
    };
    let then = match (*handling, hand, queues) {
        ("exempt", ..) => "it is served at once, without a limit".to_owned(),
        ("reject", ..) => "it is rejected if no seat is free".to_owned(),
        (_, Some(hand), Some(queues)) => {
            let taker = &config.schemas[explanation.matched.schema];
            let source = taker.distinguisher.as_ref().map(|by| &by.source);
            let flow = levels::label(Some(&source), &taker.name, &explanation.distinguisher);
            let chosen = count(hand.len(), "queue");
            format!(
                "if no seat is free it waits in one of {chosen} of {queues}, in the flow {flow}"
            )
        }
        _ => "it waits if no seat is free".to_owned(),
    };
    format!("{matched} to priority level {level}: {then}.")
}

fn bounded(text: &str) -> String {
    let text = evenkeel_model::harmless(text);
    match text.char_indices().nth(LONGEST_REASON) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

fn command(spec: &RequestSpec, attributes: &Attributes) -> String {
    let mut command = "evenkeel fairness match --live".to_owned();
    let mut add = |flag: &str, value: &str| {
        if !value.is_empty() {
            command += &format!(" {flag}={}", quoted(value));
        }
    };
    add("--user", &spec.user);
    for group in spec.groups.iter().flatten() {
        add("--group", group);
    }
    add("--verb", &attributes.verb);
    add("--resource", &spec.resource);
    add("--api-group", &spec.api_group);
    add("--namespace", &spec.namespace);
    add("--name", &spec.name);
    add("--path", spec.path.as_deref().unwrap_or_default());
    command
}

// === impl RequestView ===

impl RequestView {
    pub(super) fn marks(&self) -> usize {
        self.tried.len() + self.also.len() + 4
    }
}
