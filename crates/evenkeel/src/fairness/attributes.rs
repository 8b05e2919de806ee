//! Requests, as scenarios and request files describe them.

use std::collections::BTreeMap;

use evenkeel_fairness::simulate::Attributes;
use serde::Deserialize;

/// The group of all authenticated users.
const AUTHENTICATED: &str = "system:authenticated";

/// A request for a resource, or else for a path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RequestSpec {
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

impl RequestSpec {
    pub(super) fn attributes(&self) -> Attributes {
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
