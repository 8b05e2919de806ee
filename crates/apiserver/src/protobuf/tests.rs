mod recorded;
mod round_trip;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use evenkeel_store::schema::Shape;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ProtobufError, decode};
use crate::{kinds::KINDS, types};

/// Recorded bytes sent by kubectl, and the corresponding objects.
fn sent_by_kubectl() -> Vec<(&'static str, Value)> {
    vec![
        (
            "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhwKFAoEZGVtbxIAGgAiACoAMgA4AEIAEgAaAgoAGgAiAA==",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}}),
        ),
        (
            "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYxIAGgAiACoAMgA4AEIAEgYKAWESAWIaACIA",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}),
        ),
        (
            "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA=",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg=="}}),
        ),
        (
            "azhzAAoNCgJ2MRIHU2VydmljZRJpCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkIKGwoHODAtODA4MBIDVENQGFAiBwgAEJA/\
             GgAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
            json!({"apiVersion": "v1", "kind": "Service",
                   "metadata": {"name": "web", "labels": {"app": "web"}},
                   "spec": {"type": "ClusterIP", "selector": {"app": "web"},
                            "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}]}}),
        ),
        (
            "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErgBCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEoYBCAASDAoKCgNhcHASA3dl\
             YhpsChwKABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkwSLgoFbmdpbngSBW5naW54KgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCi\
             AQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA=",
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                   "metadata": {"name": "web", "labels": {"app": "web"}},
                   "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                            "template": {"metadata": {"labels": {"app": "web"}},
                                         "spec": {"containers": [{"name": "nginx", "image": "nginx",
                                                                  "ports": [{"containerPort": 80}]}]}}}}),
        ),
        (
            "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSOQoQCgASABoAIgAqADIAOABCABIbChkK\
             BGRlbW8SA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=",
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                   "spec": {"resourceAttributes": {"namespace": "demo", "verb": "get", "resource": "pods"}}}),
        ),
        (
            "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoECgASABoAIgA=",
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        ),
        (
            "azhzAAoxChdhdXRob3JpemF0aW9uLms4cy5pby92MRIWU2VsZlN1YmplY3RSdWxlc1JldmlldxIgChAKABIAGgAiACoAMgA4AEIAEgYKBGRl\
             bW8aBBgAIgAaACIA",
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "demo"}}),
        ),
    ]
}

#[test]
fn what_kubectl_sends_is_the_object_it_means() {
    for (body, expected) in sent_by_kubectl() {
        let (version, kind, object) = decode(&STANDARD.decode(body).unwrap()).unwrap();
        assert_eq!(version, expected["apiVersion"]);
        assert_eq!(kind, expected["kind"]);
        assert_eq!(object, expected);
        let json = object.to_string();
        assert_eq!(
            STANDARD.encode(super::object(&version, &kind, json.as_bytes()).unwrap()),
            body,
            "kubectl writes the same bytes"
        );
    }
}

/// A length-delimited field: wire type 2.
fn counted(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
    field.extend(bytes);
    field
}

fn varint(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_ = [counted(1, version.as_bytes()), counted(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), counted(1, &type_), counted(2, raw)].concat()
}

#[test]
fn types_with_a_json_of_their_own_are_read_as_json_has_them() {
    let second = varint(1, 1);
    let half = [varint(1, 1), vec![2 << 3, 0x80, 0xca, 0xb5, 0xee, 0x01]].concat();
    let port = |int_or_string: &[u8]| counted(2, &counted(1, &counted(4, int_or_string)));
    let managed = |fields: &[u8]| counted(1, &counted(17, &counted(7, fields)));
    // Field 17 takes a tag of two bytes.
    let managed = |fields: &[u8]| {
        let inner = managed(fields);
        let entry = &inner[4..];
        counted(1, &[vec![0x8a, 0x01, u8::try_from(entry.len()).unwrap()], entry.to_vec()].concat())
    };
    let table = [
        (
            "v1",
            "ConfigMap",
            counted(1, &counted(8, &second)),
            "/metadata/creationTimestamp",
            json!("1970-01-01T00:00:01Z"),
        ),
        (
            "v1",
            "ConfigMap",
            counted(1, &counted(8, &[])),
            "/metadata/creationTimestamp",
            Value::Null,
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            counted(2, &counted(4, &half)),
            "/spec/renewTime",
            json!("1970-01-01T00:00:01.500000Z"),
        ),
        (
            "coordination.k8s.io/v1",
            "Lease",
            counted(2, &varint(2, 0)),
            "/spec/leaseDurationSeconds",
            json!(0),
        ),
        (
            "v1",
            "Service",
            port(&[varint(1, 1), counted(3, b"http")].concat()),
            "/spec/ports/0/targetPort",
            json!("http"),
        ),
        (
            "v1",
            "Service",
            port(&[varint(1, 0), varint(2, 80)].concat()),
            "/spec/ports/0/targetPort",
            json!(80),
        ),
        (
            "v1",
            "ConfigMap",
            managed(&counted(1, br#"{"f:data":{}}"#)),
            "/metadata/managedFields/0/fieldsV1",
            json!({"f:data": {}}),
        ),
        (
            "v1",
            "ConfigMap",
            counted(3, &[counted(1, b"k"), counted(2, &[0xff])].concat()),
            "/binaryData/k",
            json!("/w=="),
        ),
        ("v1", "ConfigMap", counted(2, &counted(1, b"k")), "/data/k", json!("")),
        ("apps/v1", "DeleteOptions", counted(4, b"Orphan"), "/propagationPolicy", json!("Orphan")),
        ("v1", "DeleteOptions", varint(1, 0), "/gracePeriodSeconds", json!(0)),
    ];
    for (version, kind, raw, pointer, expected) in table {
        let (_, _, object) = decode(&body(version, kind, &raw)).unwrap();
        assert_eq!(
            object.pointer(pointer).cloned().unwrap_or(Value::Null),
            expected,
            "{kind}{pointer}"
        );
    }
}

#[test]
fn inlined_structs_and_quantities_land_where_json_has_them() {
    let limit = [counted(1, b"cpu"), counted(2, &counted(1, b"250m"))].concat();
    let probe = counted(1, &counted(3, &counted(1, &varint(2, 80))));
    let container =
        [counted(1, b"c"), counted(8, &counted(1, &limit)), counted(10, &probe)].concat();
    let volume = [counted(1, b"v"), counted(2, &counted(2, &[]))].concat();
    let spec = [counted(1, &volume), counted(2, &container)].concat();
    let (_, _, pod) = decode(&body("v1", "Pod", &counted(2, &spec))).unwrap();
    assert_eq!(
        pod["spec"],
        json!({"volumes": [{"name": "v", "emptyDir": {}}],
               "containers": [{"name": "c", "resources": {"limits": {"cpu": "250m"}},
                               "livenessProbe": {"tcpSocket": {"port": 80}}}]})
    );
}

#[test]
fn packed_and_single_numbers_read_alike() {
    // fsGroup's neighbour: supplementalGroups is field 4 of the pod's security context (14).
    for groups in [[varint(4, 1), varint(4, 2)].concat(), counted(4, &[1, 2])] {
        let (_, _, pod) = decode(&body("v1", "Pod", &counted(2, &counted(14, &groups)))).unwrap();
        assert_eq!(pod["spec"]["securityContext"]["supplementalGroups"], json!([1, 2]));
    }
}

#[test]
fn malformed_bodies_are_named() {
    use ProtobufError::{
        Encoding, Json, NoMagic, Overflow, Time, Truncated, UnknownKind, Utf8, WireType,
    };
    let unknown = |version: &str, kind: &str| UnknownKind {
        version: version.to_owned(),
        kind: kind.to_owned(),
    };
    let table = [
        (b"{}".to_vec(), NoMagic),
        (b"k8s\0".to_vec(), unknown("", "")),
        (body("v1", "Frob", &[]), unknown("v1", "Frob")),
        (body("-", "ObjectMeta", &[]), unknown("-", "ObjectMeta")),
        (body("v1", "ConfigMap", &[0x0a, 5]), Truncated("a field")),
        (body("v1", "ConfigMap", &[0x80]), Truncated("a number")),
        (body("v1", "ConfigMap", &[0xff; 11]), Overflow),
        (
            body("v1", "ConfigMap", &[0x0b]),
            WireType { message: "a message".into(), field: 1, wire: 3 },
        ),
        (
            body("v1", "ConfigMap", &varint(1, 1)),
            WireType { message: "io.k8s.api.core.v1.ConfigMap".into(), field: 1, wire: 0 },
        ),
        (
            body("v1", "ConfigMap", &counted(1, &counted(1, &[0xff]))),
            Utf8 {
                message: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".into(),
                field: "name".into(),
            },
        ),
        (
            body(
                "v1",
                "ConfigMap",
                &counted(1, &counted(8, &[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])),
            ),
            Time("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".into()),
        ),
        (
            body(
                "v1",
                "ConfigMap",
                &counted(1, &[vec![0x8a, 1, 5], counted(7, &counted(1, b"{"))].concat()),
            ),
            Json("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry".into()),
        ),
        (
            [body("v1", "ConfigMap", &[]), counted(4, b"application/json")].concat(),
            Encoding("application/json".into()),
        ),
    ];
    for (body, expected) in table {
        assert_eq!(decode(&body), Err(expected), "{body:?}");
    }
}

#[test]
fn every_field_of_the_table_has_its_number() {
    for of in types::schema().types() {
        for field in &of.fields {
            let is_type_meta = field.via.as_deref() == Some("TypeMeta");
            let at = format!("{}.{}", of.name, field.name);
            assert_eq!(field.number.is_none(), is_type_meta, "{at}");
            let within = field.number.and_then(|number| number.within);
            // In protobuf this list is a message of its own.
            let is_message = of.go.as_ref() == "APIResource" && field.name.as_ref() == "verbs";
            let is_embedded = field.via.is_some() && !is_type_meta;
            assert_eq!(within.is_some(), is_embedded || is_message, "{at}");
            assert!(has_message(&field.shape), "{at}: {:?} has no encoding", field.shape);
        }
    }
}

fn has_message(shape: &Shape) -> bool {
    match shape {
        Shape::Duration => false,
        Shape::List(inner) | Shape::Map(inner) => {
            !matches!(**inner, Shape::Map(_)) && has_message(inner)
        }
        _ => true,
    }
}

#[test]
fn every_kind_is_known_by_its_version_and_its_name() {
    for kind in KINDS {
        let of = super::kind(&kind.api_version(), &kind.kind);
        assert_eq!(of.map(|of| &*of.name), Some(&*kind.schema), "{}", kind.kind);
        assert!(super::kind(&kind.api_version(), &kind.list_kind()).is_some(), "{}", kind.kind);
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(raw in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = decode(&raw);
        for (version, kind) in [("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "DeleteOptions")] {
            if let Ok((_, named, object)) = decode(&body(version, kind, &raw)) {
                prop_assert_eq!(named, kind);
                prop_assert!(object.is_object());
            }
        }
    }

    #[test]
    fn a_body_with_one_byte_changed_never_panics(which in 0_usize..8, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = STANDARD.decode(sent_by_kubectl()[which].0).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok((version, kind, object)) = decode(&bytes) {
            prop_assert_eq!(&object["apiVersion"], &Value::from(version));
            prop_assert_eq!(&object["kind"], &Value::from(kind));
        }
    }
}
