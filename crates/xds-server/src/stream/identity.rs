//! Who a client says it is. Of the node that Envoy sends, some tens of kilobytes, only this is kept.

use std::sync::Arc;

use envoy_types::pb::{
    envoy::config::core::v3::Node,
    google::protobuf::{Struct, Value, value::Kind},
};
use evenkeel_locality::view::ProxyKey;
use evenkeel_model::harmless;
use prost::Message as _;

/// Metadata above this is not kept.
const METADATA: usize = 16 * 1024;
/// A name above this is refused.
const NAME: usize = 512;
/// How deep metadata may be nested.
const DEEPEST: usize = 16;

/// The parts of a node that are kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identity {
    pub(crate) proxy: ProxyKey,
    pub(crate) id: Arc<str>,
    pub(crate) cluster: Arc<str>,
    pub(crate) zone: Option<Arc<str>>,
    pub(crate) metadata: serde_json::Value,
}

/// Why a node names no proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unidentified {
    #[error(
        "the first request has no node.id: set it to MESH.DATAPLANE in the bootstrap, or print one with `evenkeel xds bootstrap --dataplane NAME`"
    )]
    NoId,
    #[error(
        "node.id {id:?} names no proxy: it must be MESH.DATAPLANE, or the metadata must have mesh and dataplane"
    )]
    NotAProxy { id: String },
    #[error("node.id is longer than {NAME} bytes")]
    TooLong,
}

// === impl Identity ===

impl Identity {
    pub(crate) fn of(node: Option<&Node>) -> Result<Self, Unidentified> {
        let node = node.ok_or(Unidentified::NoId)?;
        if node.id.len() > NAME || node.cluster.len() > NAME {
            return Err(Unidentified::TooLong);
        }
        let zone = node.locality.as_ref().map(|locality| locality.zone.as_str());
        let zone = zone.filter(|zone| !zone.is_empty() && zone.len() <= NAME);
        let metadata = node.metadata.as_ref().filter(|metadata| metadata.encoded_len() <= METADATA);
        Ok(Self {
            proxy: proxy(node)?,
            id: node.id.as_str().into(),
            cluster: node.cluster.as_str().into(),
            zone: zone.map(Arc::from),
            metadata: metadata.map_or(serde_json::Value::Null, |metadata| object(metadata, 0)),
        })
    }
}

/// Metadata comes first: it serves meshes that have a dot in their name.
fn proxy(node: &Node) -> Result<ProxyKey, Unidentified> {
    let field = |name: &str| match &node.metadata.as_ref()?.fields.get(name)?.kind {
        Some(Kind::StringValue(text)) if !text.is_empty() && text.len() <= NAME => Some(&**text),
        _ => None,
    };
    if let (Some(mesh), Some(dataplane)) = (field("mesh"), field("dataplane")) {
        return Ok(ProxyKey::new(mesh, dataplane));
    }
    if node.id.is_empty() {
        return Err(Unidentified::NoId);
    }
    let parts = node.id.split_once('.').filter(|(mesh, name)| !mesh.is_empty() && !name.is_empty());
    let (mesh, name) =
        parts.ok_or_else(|| Unidentified::NotAProxy { id: harmless(&node.id).into_owned() })?;
    Ok(ProxyKey::new(mesh, name))
}

fn object(metadata: &Struct, depth: usize) -> serde_json::Value {
    // A hash table has no order; an object of JSON is sorted.
    let fields =
        metadata.fields.iter().map(|(name, field)| (name.clone(), value(field, depth + 1)));
    serde_json::Value::Object(fields.collect())
}

fn value(value: &Value, depth: usize) -> serde_json::Value {
    match &value.kind {
        _ if depth > DEEPEST => serde_json::Value::Null,
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::NumberValue(number)) => (*number).into(),
        Some(Kind::StringValue(text)) => text.as_str().into(),
        Some(Kind::BoolValue(flag)) => (*flag).into(),
        Some(Kind::StructValue(fields)) => object(fields, depth),
        Some(Kind::ListValue(list)) => {
            list.values.iter().map(|item| self::value(item, depth + 1)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(node: Option<&Node>, expected: Result<&str, &str>) {
        let found = Identity::of(node);
        let found = found.map(|identity| identity.proxy.to_string());
        match expected {
            Ok(proxy) => assert_eq!(found.as_deref(), Ok(proxy)),
            Err(part) => assert!(found.unwrap_err().to_string().contains(part)),
        }
    }

    fn node(id: &str, metadata: &[(&str, &str)]) -> Node {
        let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
        let fields = metadata.iter().map(|(name, value)| ((*name).to_owned(), text(value)));
        let metadata = Struct { fields: fields.collect() };
        Node { id: id.to_owned(), metadata: Some(metadata), ..Node::default() }
    }

    #[test]
    fn a_proxy_is_named_by_its_id_or_its_metadata() {
        check(Some(&node("default.web-1", &[])), Ok("default/web-1"));
        check(Some(&node("default.web-1.shop", &[])), Ok("default/web-1.shop"));
        check(Some(&node("x", &[("mesh", "a.b"), ("dataplane", "c")])), Ok("a.b/c"));
        check(Some(&node("m.d", &[("mesh", "a.b")])), Ok("m/d"));
    }

    #[test]
    fn a_client_that_is_nobody_is_told_what_to_do() {
        check(None, Err("set it to MESH.DATAPLANE"));
        check(Some(&node("", &[])), Err("set it to MESH.DATAPLANE"));
        check(Some(&node("web", &[])), Err("names no proxy"));
        check(Some(&node(".web", &[])), Err("names no proxy"));
        check(Some(&node("default.", &[])), Err("names no proxy"));
        check(Some(&node(&"a.".repeat(400), &[])), Err("longer than"));
    }

    #[test]
    fn large_metadata_is_dropped() {
        let identity = Identity::of(Some(&node("m.d", &[("a", &"x".repeat(20_000))]))).unwrap();
        assert_eq!(identity.metadata, serde_json::Value::Null);
        let identity = Identity::of(Some(&node("m.d", &[("a", "x")]))).unwrap();
        assert_eq!(identity.metadata, serde_json::json!({ "a": "x" }));
    }
}
