//! `evenkeel fairness match`.

use std::fmt::Write;

use evenkeel_fairness::{
    classify::{Classifier, Explanation, Tried, Verdict},
    config::{Config, Handling, Predicate},
    shard::Dealer,
    simulate::Attributes,
};
use serde::Serialize;

use super::{args::MatchArgs, attributes::RequestSpec, configuration, live, scenario};
use crate::{
    cli::ReportOutput,
    error::Error,
    input, output,
    printer::{self, HEADING, styled},
    table::Table,
};

/// Where a request goes, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(flatten)]
    explanation: Explanation,
    handling: &'static str,
    /// The queues it may wait in; none where the level does not queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    hand: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<u32>,
}

pub(crate) fn run(args: &MatchArgs) -> Result<(), Error> {
    let attributes = request(args)?.attributes();
    let config = match args.live {
        true => live::read(args)?.config,
        false => configuration::of_args(&args.configuration)?.config,
    };
    let answer = answer(&config, &attributes);
    let text = match args.output {
        ReportOutput::Table => render(&answer, &attributes, &config),
        ReportOutput::Json => output::json(&answer)?,
    };
    printer::data(&text)
}

fn answer(config: &Config, attributes: &Attributes) -> Answer {
    let headers = attributes.borrowed_headers();
    let request = attributes.request(&headers);
    let explanation = Classifier::new(config).explain(config, &request);
    let level = &config.levels[explanation.matched.level];
    let (handling, queuing) = match level.handling {
        Handling::Exempt => ("exempt", None),
        Handling::Reject => ("reject", None),
        Handling::Queue(queuing) => ("queue", Some(queuing)),
    };
    let dealer = queuing.and_then(|queuing| Dealer::new(queuing.queues, queuing.hand_size).ok());
    Answer {
        handling,
        hand: dealer.map(|dealer| dealer.deal(explanation.hash).to_vec()),
        queues: queuing.map(|queuing| queuing.queues),
        explanation,
    }
}

fn request(args: &MatchArgs) -> Result<RequestSpec, Error> {
    if let Some(path) = &args.request {
        let (name, text) = input::read_text(path)?;
        return scenario::decode(&text).map_err(|(field, problem)| Error::Request {
            path: name.into(),
            field,
            problem,
        });
    }
    let header = |given: &String| {
        let problem = "expected a header as NAME=VALUE";
        let (name, value) = given
            .split_once('=')
            .ok_or_else(|| Error::Attribute { given: given.clone(), problem })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    Ok(RequestSpec {
        user: args.user.clone(),
        groups: (!args.group.is_empty()).then(|| args.group.clone()),
        verb: Some(args.verb.clone()),
        api_group: args.api_group.clone().unwrap_or_default(),
        resource: args.resource.clone().unwrap_or_default(),
        subresource: String::new(),
        namespace: args.namespace.clone().unwrap_or_default(),
        name: args.name.clone().unwrap_or_default(),
        path: args.path.clone(),
        headers: args.header.iter().map(header).collect::<Result<_, Error>>()?,
    })
}

fn render(answer: &Answer, attributes: &Attributes, config: &Config) -> String {
    let Answer { explanation, handling, hand, queues } = answer;
    let mut text = String::new();
    let mut fact = |name: &str, value: &str| {
        let value = evenkeel_model::harmless(value);
        let _ = writeln!(text, "{} {value}", styled(HEADING, format_args!("{name:<14}")));
    };
    fact("request", &described(attributes));
    let fallback = if explanation.fallback { " (matches what no other schema does)" } else { "" };
    fact("flow schema", &format!("{}{fallback}", explanation.schema));
    fact("priority level", &format!("{} ({handling})", explanation.level));
    if let (Some(hand), Some(queues)) = (hand, queues) {
        fact("flow", &format!("{:?}", explanation.distinguisher));
        let hand: Vec<String> = hand.iter().map(ToString::to_string).collect();
        fact("queues", &format!("{} of {queues}", hand.join(", ")));
    }
    if !explanation.also.is_empty() {
        fact("also matches", &explanation.also.join(", "));
    }
    let mut table = Table::new(&["FLOW SCHEMA", "PRECEDENCE", "PRIORITY LEVEL", "RESULT"]);
    for (tried, schema) in explanation.tried.iter().zip(&config.schemas) {
        table.row(tried_row(tried, &schema.predicate));
    }
    text + "\n" + &table.render("")
}

fn tried_row(tried: &Tried, predicate: &Predicate) -> [String; 4] {
    let field = match predicate {
        Predicate::Match(_) => "match",
        Predicate::Rules(_) => "rules",
    };
    let why = match &tried.verdict {
        Verdict::Matched(number) => format!("matched by spec.{field}[{number}]"),
        Verdict::Missed(miss) => miss.to_string(),
    };
    [tried.schema.to_string(), tried.precedence.to_string(), tried.level.to_string(), why]
}

fn described(attributes: &Attributes) -> String {
    let Attributes { user, groups, verb, resource, subresource, namespace, path, .. } = attributes;
    let who = format!("{user:?} in {}", groups.join(", "));
    if !attributes.is_resource {
        return format!("{verb} {path} by {who}");
    }
    let slash = if subresource.is_empty() { "" } else { "/" };
    let place = match &**namespace {
        "" => "no namespace".to_owned(),
        namespace => format!("namespace {namespace}"),
    };
    format!("{verb} {resource}{slash}{subresource} in {place} by {who}")
}
