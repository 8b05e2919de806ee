use std::sync::Arc;

use envoy_types::pb::{
    envoy::service::discovery::v3::{
        DeltaDiscoveryResponse, DiscoveryResponse, Resource as Message,
    },
    google::protobuf::Any,
};
use evenkeel_xds::{Nonce, Resource, ResourceType, Response, Variant, Version};
use prost::Message as _;

fn response(variant: Variant) -> Response {
    let resource = |name: &str, body: &[u8]| {
        Arc::new(Resource::new(ResourceType::Endpoint, name.into(), body))
    };
    Response {
        variant,
        kind: ResourceType::Endpoint,
        nonce: Nonce(17),
        version: Version::of(ResourceType::Endpoint, "", b""),
        tainted: false,
        resources: vec![resource("a", b"one"), resource("b", &[0; 300]), resource("c", b"")],
        removed: vec!["gone".into(), "lost".into()],
    }
}

fn any(resource: &Resource) -> Any {
    Any { type_url: resource.kind().type_url().to_owned(), value: resource.body().to_vec() }
}

#[test]
fn state_of_the_world_decodes_to_what_was_meant() {
    let response = response(Variant::StateOfTheWorld);
    let expected = DiscoveryResponse {
        version_info: response.version.to_string(),
        resources: response.resources.iter().map(|r| any(r)).collect(),
        type_url: ResourceType::Endpoint.type_url().to_owned(),
        nonce: "17".to_owned(),
        ..DiscoveryResponse::default()
    };
    let bytes = response.encode();
    assert_eq!(DiscoveryResponse::decode(bytes.clone()).unwrap(), expected);
    assert_eq!(bytes.len(), response.encoded_len());
}

#[test]
fn incremental_decodes_to_what_was_meant() {
    let response = response(Variant::Incremental);
    let resources = response.resources.iter().map(|r| Message {
        name: r.name().to_string(),
        version: r.version().to_string(),
        resource: Some(any(r)),
        ..Message::default()
    });
    let expected = DeltaDiscoveryResponse {
        system_version_info: response.version.to_string(),
        resources: resources.collect(),
        type_url: ResourceType::Endpoint.type_url().to_owned(),
        removed_resources: vec!["gone".to_owned(), "lost".to_owned()],
        nonce: "17".to_owned(),
        ..DeltaDiscoveryResponse::default()
    };
    let bytes = response.encode();
    assert_eq!(DeltaDiscoveryResponse::decode(bytes.clone()).unwrap(), expected);
    assert_eq!(bytes.len(), response.encoded_len());
}

#[test]
fn versions_are_text_and_back() {
    let version = Version::of(ResourceType::Route, "a", b"b");
    assert_eq!(version.to_string().parse(), Ok(version));
    assert_eq!(version.to_string().len(), 32);
    for text in ["", "1", "+0000000000000000000000000000000", "é", &"f".repeat(33)] {
        assert!(text.parse::<Version>().is_err(), "{text:?}");
    }
}

#[test]
fn versions_tell_type_name_and_body_apart() {
    let of = |kind, name, body: &[u8]| Version::of(kind, name, body);
    let one = of(ResourceType::Route, "ab", b"c");
    assert_ne!(one, of(ResourceType::Route, "a", b"bc"));
    assert_ne!(one, of(ResourceType::Cluster, "ab", b"c"));
}
