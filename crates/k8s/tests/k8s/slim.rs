//! The way around API objects, case by case. That it ends where the way over them does is held
//! down in [`slim_same`](crate::slim_same).

use std::sync::Arc;

use evenkeel_k8s::{
    FieldError,
    slim::{Named, SlimError, endpoint_slice, endpoint_slices},
};
use evenkeel_model::{Address, AddressType, Conditions, Hints, Slice, Topology};
use serde_json::{Value, json};

const SLICE: &str = r#"{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{
    "name":"web-abc12","generateName":"web-","namespace":"shop","uid":"s1","resourceVersion":"42",
    "generation":7,"creationTimestamp":"2026-01-01T00:00:00Z",
    "deletionTimestamp":"2026-01-01T00:00:00Z",
    "labels":{"app":"web","kubernetes.io/service-name":"web"},
    "ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"web","uid":"u1"}],
    "managedFields":[{"manager":"x","fieldsV1":{"f:endpoints":{}}}]},
    "addressType":"IPv4",
    "endpoints":[
        {"addresses":["10.0.0.1"],"conditions":{"ready":true,"serving":true,"terminating":false},
            "targetRef":{"kind":"Pod","namespace":"shop","name":"web-0","uid":"p0"},
            "nodeName":"n1","zone":"zone-a","hints":{"forZones":[{"name":"zone-a"}]}},
        {"addresses":["10.0.0.2","10.0.0.3"],"hostname":"web-1",
            "targetRef":{"kind":"Pod","namespace":"shop","name":"web-1","uid":"p1"},
            "hints":{}},
        {"addresses":["10.0.0.4"],"zone":""}],
    "ports":[{"name":"http","port":8080,"protocol":"TCP","appProtocol":"http"},{"name":null}]}"#;

fn slice(json: &str) -> Result<Named<Slice>, SlimError> {
    endpoint_slice(json.as_bytes(), &mut Topology::default())
}

fn wrong_type(json: Value) -> FieldError {
    match slice(&json.to_string()).unwrap_err() {
        SlimError::WrongType(error) => error,
        other => panic!("{other:?} for {json}"),
    }
}

#[test]
fn a_slice_is_read_with_its_name_and_version() {
    let mut topology = Topology::default();
    let read = endpoint_slice(SLICE.as_bytes(), &mut topology).unwrap();
    assert_eq!((&*read.namespace, &*read.name), ("shop", "web-abc12"));
    assert_eq!((&*read.resource_version, read.deleting), ("42", true));
    let Slice { name, address_type, ports, endpoints, owner, labels, shares: _ } = read.object;
    assert_eq!((&*name, address_type), ("web-abc12", AddressType::IPv4));
    assert_eq!((ports.len(), ports[0].port, ports[1].port), (2, Some(8080), None));
    assert_eq!((owner.as_deref(), labels.len()), (Some("u1"), 2));
    let [full, several, bare] = &endpoints[..] else { panic!("three endpoints were given") };
    assert_eq!(full.conditions, Conditions::READY);
    assert_eq!(full.address(), Some(&Address::Ip("10.0.0.1".parse().unwrap())));
    assert_eq!(full.node, topology.nodes.find("n1"));
    assert_eq!(full.zone_hints(), topology.zones.find("zone-a").as_slice());
    assert_eq!((several.addresses.iter().len(), &several.hints), (2, &Some(Hints::default())));
    assert_eq!((bare.zone, bare.node), (topology.zones.find(""), None));
    assert_eq!((&bare.target, &bare.hints), (&None, &None));
}

#[test]
fn equal_texts_share_one_allocation() {
    let list = json!({"items": [read(SLICE), read(SLICE)]}).to_string();
    let read = endpoint_slices(list.as_bytes(), &mut Topology::default()).unwrap().slices;
    let targets = read.iter().flat_map(|slice| &slice.object.endpoints);
    let targets: Vec<_> = targets.filter_map(|endpoint| endpoint.target.as_ref()).collect();
    assert_eq!(targets.len(), 4);
    for target in &targets {
        assert!(Arc::ptr_eq(&target.kind, &targets[0].kind));
        assert!(Arc::ptr_eq(&target.namespace, &read[0].namespace));
    }
    let mut labels = read[0].object.labels.iter().zip(&read[1].object.labels);
    assert!(labels.all(|(one, other)| Arc::ptr_eq(one.0, other.0) && Arc::ptr_eq(one.1, other.1)));
}

fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_address_type_may_come_after_the_endpoints() {
    let late = |kind: &str, address: &str| {
        slice(&format!(r#"{{"endpoints":[{{"addresses":["{address}"]}}],"addressType":"{kind}"}}"#))
    };
    let address = |read: Named<Slice>| read.object.endpoints[0].address().cloned().unwrap();
    let ip = address(late("IPv4", "010.0.0.1").unwrap());
    assert_eq!(ip, Address::Ip("10.0.0.1".parse().unwrap()));
    assert_eq!(address(late("FQDN", "10.0.0.1").unwrap()), Address::Name("10.0.0.1".into()));
    let error = late("IPv6", "10.0.0.1").unwrap_err();
    assert_eq!(error.to_string(), "endpoints[0].addresses[0]: \"10.0.0.1\" is not an IPv6 address");
}

#[test]
fn two_address_types_around_the_endpoints_are_refused() {
    let around = |before: &str, after: &str| {
        let json = format!(
            r#"{{"addressType":"{before}","endpoints":[{{"addresses":["::1"]}}],"addressType":"{after}"}}"#
        );
        slice(&json).map_err(|error| error.to_string())
    };
    let refused = Err("addressType: IPv4 after the endpoints, but IPv6 before them".to_owned());
    assert_eq!(around("IPv6", "IPv4"), refused);
    assert!(around("IPv6", "IPv6").is_ok());
    assert!(around("IP", "IPv6").is_ok(), "the last value counts");
    assert!(around("FQDN", "IPv6").is_ok(), "no text was lost");
}

#[test]
fn a_wrong_value_is_told_with_the_object_it_is_in() {
    let mut json = read(SLICE);
    json["endpoints"][2]["addresses"] = json!(["10.0.0.1", "banana", "x"]);
    let error = slice(&json.to_string()).unwrap_err();
    assert_eq!(error.to_string(), "endpoints[2].addresses[1]: \"banana\" is not an IPv4 address");
    assert_eq!(error.field(), Some("endpoints[2].addresses[1]"));
    let SlimError::WrongValue(refused) = error else { panic!("{error:?}") };
    assert_eq!((&*refused.name, &*refused.resource_version), ("web-abc12", "42"));
}

#[test]
fn a_wrong_type_is_told_with_its_path() {
    let cases = [
        (json!([]), ".", "invalid type: sequence, expected EndpointSlice"),
        (json!({"kind": "Pod"}), "kind", "invalid value: string \"Pod\", expected EndpointSlice"),
        (json!({"kind": null}), "kind", "invalid type: null, expected EndpointSlice"),
        (
            json!({"apiVersion": "discovery.k8s.io/v1beta1"}),
            "apiVersion",
            "invalid value: string \"discovery.k8s.io/v1beta1\", expected discovery.k8s.io/v1",
        ),
        (json!({"metadata": 1}), "metadata", "invalid type: integer `1`, expected ObjectMeta"),
        (
            json!({"metadata": {"labels": {"app": null}}}),
            "metadata.labels.app",
            "invalid type: null, expected a string",
        ),
        (
            json!({"metadata": {"ownerReferences": [{"uid": {}}]}}),
            "metadata.ownerReferences[0].uid",
            "invalid type: map, expected a string",
        ),
        (json!({"endpoints": {}}), "endpoints", "invalid type: map, expected a list"),
        (json!({"endpoints": [{}, null]}), "endpoints[1]", "invalid type: null, expected Endpoint"),
        (
            json!({"endpoints": [{}, {}, {}, {"addresses": [1]}]}),
            "endpoints[3].addresses[0]",
            "invalid type: integer `1`, expected a string",
        ),
        (
            json!({"endpoints": [{"conditions": {"ready": "yes"}}]}),
            "endpoints[0].conditions.ready",
            "invalid type: string \"yes\", expected a boolean",
        ),
        (
            json!({"endpoints": [{"hints": {"forZones": [{"name": []}]}}]}),
            "endpoints[0].hints.forZones[0].name",
            "invalid type: sequence, expected a string",
        ),
        (
            json!({"ports": [{"port": "http"}]}),
            "ports[0].port",
            "invalid type: string \"http\", expected a whole number",
        ),
        (
            json!({"ports": [{"port": 4_294_967_296_u64}]}),
            "ports[0].port",
            "invalid value: integer `4294967296`, expected a whole number",
        ),
    ];
    for (json, field, problem) in cases {
        assert_eq!(wrong_type(json), FieldError::new(field, problem));
    }
}

#[test]
fn a_wrong_type_weighs_more_than_a_wrong_value_before_it() {
    let json = json!({"addressType": "IP", "ports": [{"port": 0}, {"port": true}]});
    assert_eq!(wrong_type(json).field, "ports[1].port");
}

#[test]
fn what_is_not_json_is_told_with_its_place() {
    let cases: [(&[u8], &str); 5] = [
        (b"", "not JSON: EOF while parsing a value at line 1, column 0"),
        (b"{\n\"kind\": }", "not JSON: expected value at line 2, column 9"),
        (b"{} {}", "not JSON: trailing characters at line 1, column 4"),
        (b"{\"endpoints\": [{", "not JSON: EOF while parsing an object at line 1, column 16"),
        (b"{\n\"x\": \"\xff\"}", "not JSON: invalid UTF-8 at line 2, column 7"),
    ];
    for (json, expected) in cases {
        let error = endpoint_slice(json, &mut Topology::default()).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.field()), (expected, None));
    }
}

#[test]
fn a_list_is_read_with_what_is_needed_to_go_on() {
    let wrong = json!({"metadata": {"name": "odd", "namespace": "shop", "resourceVersion": "7"},
        "addressType": "IPv7"});
    let list = json!({"kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"resourceVersion": "99", "continue": "abc", "remainingItemCount": 3},
        "items": [wrong, read(SLICE)]});
    let list = endpoint_slices(list.to_string().as_bytes(), &mut Topology::default()).unwrap();
    assert_eq!(&*list.resource_version, "99");
    assert_eq!(list.continue_token.as_deref(), Some("abc"));
    assert_eq!((list.slices.len(), &*list.slices[0].name), (1, "web-abc12"));
    assert_eq!((list.refused.len(), &*list.refused[0].name), (1, "odd"));
    assert_eq!(list.refused[0].object.field, "addressType");
}

#[test]
fn the_last_page_has_no_token() {
    for json in [r#"{"metadata":{"continue":""},"items":null}"#, r#"{"metadata":null}"#, "{}"] {
        let list = endpoint_slices(json.as_bytes(), &mut Topology::default()).unwrap();
        assert_eq!((list.continue_token, list.slices.len()), (None, 0));
    }
}

#[test]
fn a_wrong_type_in_a_list_is_told_with_the_place_of_its_item() {
    let list = json!({"items": [{"addressType": "IPv4"}, {"endpoints": [{"zone": 1}]}]});
    let read = endpoint_slices(list.to_string().as_bytes(), &mut Topology::default());
    assert_eq!(read.unwrap_err().field(), Some("items[1].endpoints[0].zone"));
    let slice = endpoint_slices(SLICE.as_bytes(), &mut Topology::default());
    assert_eq!(slice.unwrap_err().field(), Some("kind"));
}
