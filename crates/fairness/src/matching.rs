//! Where a request that somebody describes goes, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    classify::{Classifier, Explanation, Tried, Verdict},
    config::{Config, Handling, Predicate},
    shard::Dealer,
    simulate::Attributes,
};

/// The group of all authenticated users.
const AUTHENTICATED: &str = "system:authenticated";

/// A request for a resource, or else for a path, as scenarios, request files and forms describe it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestSpec {
    pub user: String,
    pub groups: Option<Vec<String>>,
    pub verb: Option<String>,
    pub api_group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    pub path: Option<String>,
    pub headers: BTreeMap<String, String>,
}

/// The schema and the level that take a request, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// `exempt`, `reject` or `queue`.
    pub handling: &'static str,
    /// The queues it may wait in, as Kubernetes deals them; none where the level does not queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
}

// === impl RequestSpec ===

impl RequestSpec {
    pub fn attributes(&self) -> Attributes {
        let is_resource = !self.resource.is_empty();
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, subresource),
            None => (&*self.resource, &*self.subresource),
        };
        let verb = self.verb.clone().unwrap_or_else(|| "get".to_owned());
        let groups = self.groups.clone().unwrap_or_else(|| vec![AUTHENTICATED.to_owned()]);
        let headers = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone()));
        Attributes {
            user: self.user.clone(),
            groups,
            method: method(&verb, is_resource),
            verb,
            is_resource,
            api_group: self.api_group.clone(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            path: self.path.clone().unwrap_or_else(|| self.usual_path(resource, subresource)),
            headers: headers.collect(),
        }
    }

    /// The path of the resource in Kubernetes, in version v1.
    fn usual_path(&self, resource: &str, subresource: &str) -> String {
        if resource.is_empty() {
            return "/".to_owned();
        }
        let mut path = match &*self.api_group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/v1"),
        };
        if !self.namespace.is_empty() {
            path += &format!("/namespaces/{}", self.namespace);
        }
        for part in [resource, &*self.name, subresource].into_iter().filter(|part| !part.is_empty())
        {
            path += &format!("/{part}");
        }
        path
    }
}

fn method(verb: &str, is_resource: bool) -> String {
    match verb {
        "get" | "list" | "watch" if is_resource => "GET".to_owned(),
        "create" if is_resource => "POST".to_owned(),
        "update" if is_resource => "PUT".to_owned(),
        "deletecollection" if is_resource => "DELETE".to_owned(),
        verb => verb.to_uppercase(),
    }
}

// === impl Answer ===

impl Answer {
    /// O(schemas): each is explained.
    pub fn new(config: &Config, attributes: &Attributes) -> Answer {
        let headers = attributes.borrowed_headers();
        let request = attributes.request(&headers);
        let explanation = Classifier::new(config).explain(config, &request);
        let level = &config.levels[explanation.matched.level];
        let queuing = match level.handling {
            Handling::Queue(queuing) => Some(queuing),
            Handling::Exempt | Handling::Reject => None,
        };
        let dealer = queuing.and_then(|q| Dealer::new(q.queues, q.hand_size).ok());
        Answer {
            handling: level.handling.name(),
            hand: dealer.map(|dealer| dealer.deal(explanation.hash).to_vec()),
            queues: queuing.map(|queuing| queuing.queues),
            explanation,
        }
    }

    /// Each schema that was tried, and why it matched or did not.
    pub fn tried<'a>(
        &'a self,
        config: &'a Config,
    ) -> impl ExactSizeIterator<Item = (&'a Tried, String)> {
        let tried = self.explanation.tried.iter().zip(&config.schemas);
        tried.map(|(tried, schema)| (tried, because(tried, &schema.predicate)))
    }
}

fn because(tried: &Tried, predicate: &Predicate) -> String {
    let field = match predicate {
        Predicate::Match(_) => "match",
        Predicate::Rules(_) => "rules",
    };
    match &tried.verdict {
        Verdict::Matched(number) => format!("matched by spec.{field}[{number}]"),
        Verdict::Missed(miss) => miss.to_string(),
    }
}

/// A request in words.
pub fn described(attributes: &Attributes) -> String {
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
