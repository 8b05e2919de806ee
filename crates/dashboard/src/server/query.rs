//! The queries of requests for the pages of Services and of proxies.

use evenkeel_model::ServiceKey;
use evenkeel_topology::Policy;
use percent_encoding::percent_decode_str;

use crate::{
    mesh::ProxyName,
    view::{MOST_REPLICAS, Wish},
};

/// Longer than any name in Kubernetes.
const LONGEST: usize = 512;

/// Which Service, and what is asked about it. Errors are sentences.
pub(super) fn parse(query: &str) -> Result<(ServiceKey, Wish), String> {
    let (mut namespace, mut name, mut wish) = (None, None, Wish::default());
    for (key, value) in pairs(query) {
        let value = decoded(value)?;
        match key {
            "namespace" => namespace = Some(value),
            "name" => name = Some(value),
            _ if value.is_empty() => {}
            "policy" => wish.policy = Some(policy(&value)?),
            "replicas" => wish.replicas = Some(replicas(&value)?),
            "lose" => wish.lose = Some(value),
            _ => return Err("unknown parameter".to_owned()),
        }
    }
    match (namespace, name) {
        (Some(namespace), Some(name)) => Ok((ServiceKey::new(namespace, name), wish)),
        _ => Err("namespace and name are needed".to_owned()),
    }
}

/// Which proxy, and which of its destinations is the only one to show whole, if one is. Errors are sentences.
pub(super) fn parse_proxy(query: &str) -> Result<(ProxyName, Option<String>), String> {
    let (mut mesh, mut dataplane, mut cluster) = (None, None, None);
    for (key, value) in pairs(query) {
        let value = decoded(value)?;
        match key {
            "mesh" => mesh = Some(value),
            "dataplane" => dataplane = Some(value),
            _ if value.is_empty() => {}
            "cluster" => cluster = Some(value),
            _ => return Err("unknown parameter".to_owned()),
        }
    }
    match (mesh, dataplane) {
        (Some(mesh), Some(dataplane)) => Ok((ProxyName { mesh, dataplane }, cluster)),
        _ => Err("mesh and dataplane are needed".to_owned()),
    }
}

/// Names and values, which are still encoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

pub(super) fn decoded(value: &str) -> Result<String, String> {
    let spaced = value.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8().map_err(|_| "not UTF-8".to_owned())?;
    if text.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    Ok(text.into_owned())
}

fn policy(value: &str) -> Result<Policy, String> {
    let known = Policy::ALL.into_iter().find(|policy| policy.as_str() == value);
    known.ok_or_else(|| "no such policy".to_owned())
}

fn replicas(value: &str) -> Result<u32, String> {
    let n = value.parse().ok().filter(|n| *n <= MOST_REPLICAS);
    n.ok_or_else(|| format!("replicas: a number up to {MOST_REPLICAS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_service_and_a_wish() {
        let (key, wish) =
            parse("namespace=shop&name=w%C3%A9b&policy=Auto&replicas=9&lose=").unwrap();
        assert_eq!(key, ServiceKey::new("shop", "wéb"));
        assert_eq!(wish, Wish { policy: Some(Policy::Auto), replicas: Some(9), lose: None });
    }

    #[test]
    fn a_query_names_a_proxy() {
        let (name, cluster) =
            parse_proxy("mesh=default&dataplane=web-1.shop&cluster=b%26w").unwrap();
        assert_eq!((name.mesh.as_str(), name.dataplane.as_str()), ("default", "web-1.shop"));
        assert_eq!(cluster.as_deref(), Some("b&w"));
        for query in
            ["", "mesh=default", "dataplane=a", "mesh=a&dataplane=b&c=d", "mesh=a&dataplane=%ff"]
        {
            assert!(parse_proxy(query).is_err(), "{query}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!("namespace=a&name={}", "x".repeat(600));
        for query in [
            "",
            "name=web",
            "namespace=a&name=b&policy=auto",
            "namespace=a&name=b&replicas=-1",
            "namespace=a&name=b&replicas=10001",
            "namespace=a&name=b&replicas=99999999999999999999",
            "namespace=a&name=%ff",
            "namespace=a&name=b&zone=c",
            long.as_str(),
        ] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
