//! `classify.jsonl`: which schema, level and flow a request belongs to. The configurations it names
//! are in `classify_configs.jsonl`.

use std::{fs, path::Path};

use evenkeel_fairness::{
    Groups, Request,
    classify::Classifier,
    config::{Config, Handling},
    dialect::kubernetes::{self, FlowSchema, PriorityLevelConfiguration},
};
use serde::{Deserialize, de::Error};
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

pub(super) fn classify(dir: &Path, case: Value) -> Outcome {
    let case: Case = serde_json::from_value(case)?;
    let config = config(dir, &case.config)?;
    let classifier = Classifier::new(&config);
    let request = case.request.request();
    let matched = classifier.classify(&request);
    let flow = classifier.flow(matched, &request);
    let level = &config.levels[matched.level];
    let got = json!({
        "flow_schema": &*config.schemas[matched.schema].name,
        "priority_level": &*level.name,
        "exempt": level.handling == Handling::Exempt,
        "flow_distinguisher": flow.distinguisher,
        "flow_hash": flow.hash.to_string(),
        "fallback": matched.fallback,
    });
    let mut diffs = diff("", &case.expect, &got);
    let explained = classifier.explain(&config, &request);
    if explained.matched != matched {
        diffs.push(format!("explained as {:?}, classified as {matched:?}", explained.matched));
    }
    Ok(diffs)
}

fn config(dir: &Path, id: &str) -> Result<Config, serde_json::Error> {
    let file = dir.join("classify_configs.jsonl");
    let text = fs::read_to_string(&file).map_err(Error::custom)?;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let objects: Objects = serde_json::from_str(line)?;
        if objects.id == id {
            let compiled = kubernetes::compile(&objects.priority_levels, &objects.flow_schemas);
            return Ok(compiled.config);
        }
    }
    Err(Error::custom(format!("{} has no configuration {id:?}", file.display())))
}

#[derive(Deserialize)]
struct Objects {
    id: String,
    priority_levels: Vec<PriorityLevelConfiguration>,
    flow_schemas: Vec<FlowSchema>,
}

#[derive(Deserialize)]
struct Case {
    config: String,
    request: Attributes,
    expect: Value,
}

#[derive(Deserialize)]
struct Attributes {
    user: String,
    groups: Option<Vec<String>>,
    is_resource_request: bool,
    verb: String,
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    path: String,
}

impl Attributes {
    fn request(&self) -> Request<'_> {
        Request {
            user: &self.user,
            groups: Groups::Owned(self.groups.as_deref().unwrap_or(&[])),
            verb: &self.verb,
            is_resource: self.is_resource_request,
            api_group: &self.api_group,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            path: &self.path,
            ..Request::default()
        }
    }
}
