//! Individual rules of decoding and printing.

use evenkeel_store::schema::{canonical, check, decode};
use serde_json::{Value, json};

use super::of;
use crate::types::schema;

fn error(name: &str, json: &Value) -> String {
    decode(schema(), of(name), json.to_string().as_bytes()).expect_err("wrong type").to_string()
}

#[test]
fn a_value_of_a_wrong_type_is_refused_in_gos_words() {
    let service = "io.k8s.api.core.v1.Service";
    let pod = "io.k8s.api.core.v1.Pod";
    for (name, json, words) in [
        (
            service,
            json!({"spec": {"ports": [{"port": "80"}]}}),
            "string into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            service,
            json!({"spec": {"ports": {"port": 80}}}),
            "object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort",
        ),
        (
            service,
            json!({"spec": {"ports": ["x"]}}),
            "string into Go struct field ServiceSpec.spec.ports of type v1.ServicePort",
        ),
        (
            service,
            json!({"spec": {"selector": ["a"]}}),
            "array into Go struct field ServiceSpec.spec.selector of type map[string]string",
        ),
        (
            service,
            json!({"spec": {"selector": {"a": 1}}}),
            "number into Go struct field ServiceSpec.spec.selector of type string",
        ),
        (
            service,
            json!({"spec": {"ports": [{"port": 80.5}]}}),
            "number 80.5 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            service,
            json!({"spec": {"ports": [{"port": 99999999999_i64}]}}),
            "number 99999999999 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            service,
            json!({"spec": {"ports": [{"protocol": 1}]}}),
            "number into Go struct field ServicePort.spec.ports.protocol of type v1.Protocol",
        ),
        (
            service,
            json!({"spec": {"ports": [{"targetPort": true}]}}),
            "bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            service,
            json!({"spec": {"publishNotReadyAddresses": "yes"}}),
            "string into Go struct field ServiceSpec.spec.publishNotReadyAddresses of type bool",
        ),
        (
            service,
            json!({"spec": []}),
            "array into Go struct field Service.spec of type v1.ServiceSpec",
        ),
        (
            service,
            json!({"kind": 1}),
            "number into Go struct field Service.TypeMeta.kind of type string",
        ),
        (
            service,
            json!({"metadata": {"creationTimestamp": 1}}),
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            service,
            json!({"metadata": {"uid": 1}}),
            "number into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        (
            pod,
            json!({"spec": {"volumes": [{"name": "a", "hostPath": 1}]}}),
            "number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
        ),
        (
            pod,
            json!({"spec": {"containers": [{"resources": {"limits": 1}}]}}),
            "number into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            "io.k8s.api.core.v1.ConfigMap",
            json!({"data": {"k": 5}}),
            "number into Go struct field ConfigMap.data of type string",
        ),
    ] {
        assert_eq!(error(name, &json), format!("json: cannot unmarshal {words}"));
    }
}

#[test]
fn what_a_reader_of_its_own_refuses_comes_before_wrong_types() {
    let quantity = json!({"spec": {"hostNetwork": 1, "containers": [{"resources": {"limits": {"cpu": "x"}}}]}});
    assert!(error("io.k8s.api.core.v1.Pod", &quantity).starts_with("quantities must match"));
    let base64 = json!({"data": {"k": "***"}, "type": 1});
    assert_eq!(error("io.k8s.api.core.v1.Secret", &base64), "illegal base64 data at input byte 0");
    let lease = json!({"spec": {"renewTime": "yesterday"}});
    assert_eq!(
        error("io.k8s.api.coordination.v1.Lease", &lease),
        "parsing time \"yesterday\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"yesterday\" as \"2006\"",
    );
}

#[test]
fn unknown_and_duplicate_fields_are_found_in_order() {
    let json = br#"{"metadata":{"name":"a","labelz":{}},"spec":{"ports":[{"port":80,"prot":1,"port":81}],"selectr":{},"selector":{"a":"1"},"selector":{"a":"2"}}}"#;
    let decoded = decode(schema(), of("io.k8s.api.core.v1.Service"), json).expect("a service");
    let found: Vec<String> = decoded.unknown.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "unknown field \"metadata.labelz\"",
            "unknown field \"spec.ports[0].prot\"",
            "duplicate field \"spec.ports[0].port\"",
            "unknown field \"spec.selectr\"",
            "duplicate field \"spec.selector\"",
        ]
    );
    let expected = json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 81}], "selector": {"a": "2"}}});
    assert_eq!(decoded.value, expected);
}

#[test]
fn a_second_occurrence_is_read_into_the_first_as_go_does() {
    let json = br#"{"data":{"a":"1","b":"2"},"data":{"b":"3","c":null},"immutable":true,"immutable":null,"metadata":{"name":"a"},"metadata":{"namespace":"b"}}"#;
    let decoded = decode(schema(), of("io.k8s.api.core.v1.ConfigMap"), json).expect("a map");
    let expected =
        json!({"data": {"a": "1", "b": "3", "c": ""}, "metadata": {"name": "a", "namespace": "b"}});
    assert_eq!(decoded.value, expected);
    let json = br#"{"spec":{"ports":[{"name":"a","port":1},{"port":2}],"ports":[{"port":3}]}}"#;
    let decoded = decode(schema(), of("io.k8s.api.core.v1.Service"), json).expect("a service");
    assert_eq!(decoded.value, json!({"spec": {"ports": [{"name": "a", "port": 3}]}}));
}

#[test]
fn the_printed_form_has_what_go_always_prints() {
    for (name, given, expected) in [
        (
            "io.k8s.api.core.v1.Service",
            json!({"spec": {"ports": [{"port": 80}], "selector": {}, "clusterIP": "", "allocateLoadBalancerNodePorts": false}}),
            json!({"metadata": {}, "spec": {"ports": [{"port": 80, "targetPort": 0}], "allocateLoadBalancerNodePorts": false}, "status": {"loadBalancer": {}}}),
        ),
        (
            "io.k8s.api.discovery.v1.EndpointSlice",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": []}),
            json!({"metadata": {}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {}}], "ports": null}),
        ),
        (
            "io.k8s.api.core.v1.Event",
            json!({"metadata": {"creationTimestamp": "2020-01-01T01:00:00+01:00"}, "lastTimestamp": "2020-01-01T00:00:00.5Z"}),
            json!({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}, "involvedObject": {}, "source": {}, "firstTimestamp": null, "lastTimestamp": "2020-01-01T00:00:00Z", "eventTime": null, "reportingComponent": "", "reportingInstance": ""}),
        ),
        (
            "io.k8s.api.core.v1.ResourceRequirements",
            json!({"limits": {"cpu": "0.5", "memory": "1024Ki"}, "requests": {}}),
            json!({"limits": {"cpu": "500m", "memory": "1Mi"}}),
        ),
    ] {
        let mut value = given;
        canonical(schema(), of(name), &mut value);
        assert_eq!(value, expected, "{name}");
        let read = check(schema(), of(name), value.clone()).expect("what is printed can be read");
        assert_eq!(read.unknown, []);
        let mut again = read.value;
        canonical(schema(), of(name), &mut again);
        assert_eq!(again, value, "{name}");
    }
}

#[test]
fn every_type_is_printed_and_read_again_when_empty() {
    for of in schema().types() {
        let mut value = json!({});
        canonical(schema(), of, &mut value);
        let read = check(schema(), of, value.clone()).expect("what is printed can be read");
        let mut again = read.value;
        canonical(schema(), of, &mut again);
        assert_eq!(again, value, "{}", of.name);
    }
}
