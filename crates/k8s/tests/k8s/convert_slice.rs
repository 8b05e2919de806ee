use evenkeel_k8s::{
    FieldError,
    convert::{endpoint_slice, to_endpoint_slice},
};
use evenkeel_model::{Address, AddressType, Conditions, Hints, Slice, Topology};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::object;

/// A slice as the EndpointSlice controller writes it.
fn written() -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "web-abc12",
            "namespace": "shop",
            "labels": {
                "app": "web",
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                "kubernetes.io/service-name": "web",
            },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u1",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "addressType": "IPv4",
        "ports": [
            {"name": "", "protocol": "UDP"},
            {"name": "http", "protocol": "TCP", "port": 8080, "appProtocol": "http"},
        ],
        "endpoints": [
            {
                "addresses": ["10.0.0.1"],
                "conditions": {"ready": true, "serving": true, "terminating": false},
                "hostname": "web-0",
                "nodeName": "n1",
                "zone": "zone-a",
                "targetRef": {"kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "p0"},
                "hints": {"forZones": [{"name": "zone-a"}, {"name": "zone-b"}],
                    "forNodes": [{"name": "n1"}]},
            },
            {
                "addresses": ["10.0.0.2", "10.0.0.3"],
                "conditions": {"ready": false, "serving": true, "terminating": true},
                "hints": {},
            },
            {"addresses": ["10.0.0.4"], "zone": ""},
        ],
    })
}

fn slice(json: Value) -> Result<Slice, FieldError> {
    endpoint_slice(&mut Topology::default(), &object(json))
}

#[test]
fn a_slice_survives_the_way_to_the_model_and_back() {
    let mut topology = Topology::default();
    let given: EndpointSlice = object(written());
    let model = endpoint_slice(&mut topology, &given).unwrap();
    let back = to_endpoint_slice(&model, &topology, "shop");
    assert_eq!(serde_json::to_value(&back).unwrap(), written());
    assert_eq!(back, given);
    assert_eq!(endpoint_slice(&mut topology, &back).unwrap(), model);
}

#[test]
fn a_slice_without_a_name_gets_the_prefix_of_its_service() {
    let mut topology = Topology::default();
    let mut model = endpoint_slice(&mut topology, &object(written())).unwrap();
    model.name = "".into();
    model.owner = None;
    let back = to_endpoint_slice(&model, &topology, "shop");
    assert_eq!(back.metadata.name, None);
    assert_eq!(back.metadata.generate_name.as_deref(), Some("web-"));
    assert_eq!(back.metadata.owner_references, None);
}

#[test]
fn absent_and_empty_are_told_apart() {
    let mut topology = Topology::default();
    let model = endpoint_slice(&mut topology, &object(written())).unwrap();
    let [full, serving, bare] = &model.endpoints[..] else {
        panic!("three endpoints were given");
    };
    assert_eq!(full.conditions, Conditions::READY);
    assert_eq!(full.zone_hints().len(), 2);
    assert_eq!(serving.hints, Some(Hints::default()));
    assert_eq!((serving.zone, serving.node), (None, None));
    assert_eq!((&bare.hints, bare.conditions), (&None, Conditions::default()));
    let zone = bare.zone.map(|zone| topology.zones.name(zone).to_string());
    assert_eq!(zone.as_deref(), Some(""));
    assert_eq!(model.ports[0].port, None);
    assert_eq!(model.owner.as_deref(), Some("u1"));
}

#[test]
fn addresses_are_of_the_type_of_the_slice() {
    let given = |kind: &str, address: &str| json!({"addressType": kind, "endpoints": [{"addresses": [address]}]});
    let slice4 = slice(given("IPv4", "010.0.0.1")).unwrap();
    assert_eq!(slice4.address_type, AddressType::IPv4);
    let expected = Address::Ip("10.0.0.1".parse().unwrap());
    assert_eq!(slice4.endpoints[0].address(), Some(&expected));
    let slice6 = slice(given("IPv6", "fd00::0001")).unwrap();
    let expected = Address::Ip("fd00::1".parse().unwrap());
    assert_eq!(slice6.endpoints[0].address(), Some(&expected));
    let named = slice(given("FQDN", "a.example.org")).unwrap();
    let expected = Address::Name("a.example.org".into());
    assert_eq!(named.endpoints[0].address(), Some(&expected));
}

#[test]
fn bad_fields_are_told_with_their_place() {
    let cases = [
        (
            json!({"addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2", "x"]}]}),
            "endpoints[1].addresses[1]: \"x\" is not an IPv4 address",
        ),
        (
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["fd00::1"]}]}),
            "endpoints[0].addresses[0]: \"fd00::1\" is not an IPv4 address",
        ),
        (
            json!({"addressType": "IPv6", "endpoints": [{"addresses": ["10.0.0.1"]}]}),
            "endpoints[0].addresses[0]: \"10.0.0.1\" is not an IPv6 address",
        ),
        (
            json!({"addressType": "IP", "endpoints": []}),
            "addressType: \"IP\" is not an address type; expected IPv4, IPv6 or FQDN",
        ),
        (
            json!({"addressType": "IPv4", "ports": [{"port": 0}]}),
            "ports[0].port: 0 is not a port; expected a number from 1 to 65535",
        ),
        (
            json!({"addressType": "IPv4", "ports": [{"protocol": "x"}]}),
            "ports[0].protocol: \"x\" is not a protocol; expected TCP, UDP or SCTP",
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(slice(given).unwrap_err().to_string(), expected);
    }
}

#[test]
fn only_a_core_service_owns_a_slice() {
    let owned = |api: &str, kind: &str| {
        let owner = json!({"apiVersion": api, "kind": kind, "name": "x", "uid": "u"});
        slice(json!({"addressType": "IPv4", "metadata": {"ownerReferences": [owner]}}))
    };
    assert_eq!(owned("v1", "Service").unwrap().owner.as_deref(), Some("u"));
    assert_eq!(owned("serving.knative.dev/v1", "Service").unwrap().owner, None);
    assert_eq!(owned("v1", "Pod").unwrap().owner, None);
}

/// Slices with the same ports in another order are one set.
#[test]
fn ports_are_in_one_order() {
    let ports = [json!({"name": "b", "port": 1}), json!({"name": "a", "port": 2})];
    let read = |ports: &[Value]| {
        let given = json!({"addressType": "IPv4", "ports": ports});
        endpoint_slice(&mut Topology::default(), &object(given)).unwrap().ports
    };
    let turned = [ports[1].clone(), ports[0].clone()];
    assert_eq!(read(&ports), read(&turned));
}
