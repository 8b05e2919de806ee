//! `evenkeel fairness match`.

use std::fmt::Write;

use evenkeel_fairness::{
    config::Config,
    matching::{Answer, RequestSpec, described},
    simulate::Attributes,
};

use super::{args::MatchArgs, configuration, live, scenario};
use crate::{
    cli::ReportOutput,
    error::Error,
    input, output,
    printer::{self, HEADING, styled},
    table::Table,
};

pub(crate) fn run(args: &MatchArgs) -> Result<(), Error> {
    let attributes = request(args)?.attributes();
    let config = match args.live {
        true => live::read(args)?.config,
        false => configuration::of_args(&args.configuration)?.config,
    };
    let answer = Answer::new(&config, &attributes);
    let text = match args.output {
        ReportOutput::Table => render(&answer, &attributes, &config),
        ReportOutput::Json => output::json(&answer)?,
    };
    printer::data(&text)
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
    for (tried, why) in answer.tried(config) {
        let (schema, level) = (tried.schema.to_string(), tried.level.to_string());
        table.row([schema, tried.precedence.to_string(), level, why]);
    }
    text + "\n" + &table.render("")
}
