//! Reading a slice without an API object gives what reading it by way of one gives.

use evenkeel_k8s::{
    FieldError,
    convert::{self, to_endpoint_slice},
    slim::{self, Named, SlimError},
};
use evenkeel_model::{Slice, Topology};
use k8s_openapi::{List, api::discovery::v1::EndpointSlice};
use proptest::{collection, prelude::*};

use crate::slim_given::{any_slice, spelled};

/// What came of a slice by way of an API object.
enum Expected {
    Slice(Named<Slice>),
    WrongValue(FieldError),
    WrongType { field: String },
}

/// Both ways use one table of names: what both read then has the same ids.
fn check(json: &str) {
    let mut topology = Topology::default();
    let expected = by_way_of_object(json, &mut topology);
    let read = slim::endpoint_slice(json.as_bytes(), &mut topology);
    match (expected, read) {
        (Expected::Slice(expected), Ok(read)) => {
            assert_eq!(read, expected, "{json}");
            check_with_fresh_names(json, &read.object, &topology);
        }
        (Expected::WrongValue(expected), Err(SlimError::WrongValue(read))) => {
            assert_eq!(read.object, expected, "{json}");
        }
        (Expected::WrongType { field }, Err(SlimError::WrongType(read))) => {
            // API objects check what they are only when they have left that field.
            let is_type = field == "." && matches!(read.field.as_str(), "kind" | "apiVersion");
            assert!(read.field == field || is_type, "{read} instead of {field} for {json}");
        }
        (Expected::Slice(expected), read) => panic!("{read:?} instead of {expected:?} for {json}"),
        (Expected::WrongValue(error), read) => panic!("{read:?} instead of {error} for {json}"),
        (Expected::WrongType { field }, read) => panic!("{read:?} but {field} in {json}"),
    }
}

/// Like [`check`] for text that may be no slice at all. What is wrong with it may then lie where
/// nothing is read without an API object.
pub(crate) fn check_if_readable(json: &str) {
    let object = serde_json::from_str::<EndpointSlice>(json);
    let read = slim::endpoint_slice(json.as_bytes(), &mut Topology::default());
    let is_torn = read.is_err_and(|error| error.to_string().contains("after the endpoints"));
    if object.is_ok() && !is_torn {
        check(json);
    }
}

fn by_way_of_object(json: &str, topology: &mut Topology) -> Expected {
    let object = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json));
    let object: EndpointSlice = match object {
        Ok(object) => object,
        Err(error) => return Expected::WrongType { field: error.path().to_string() },
    };
    match convert::endpoint_slice(topology, &object) {
        Ok(slice) => Expected::Slice(named(&object, slice)),
        Err(error) => Expected::WrongValue(error),
    }
}

fn named<T>(object: &EndpointSlice, converted: T) -> Named<T> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let meta = &object.metadata;
    Named {
        namespace: text(&meta.namespace).into(),
        name: text(&meta.name).into(),
        resource_version: text(&meta.resource_version).into(),
        deleting: meta.deletion_timestamp.is_some(),
        object: converted,
    }
}

/// Ids may differ, since names are met in another order, but not what they stand for.
fn check_with_fresh_names(json: &str, expected: &Slice, topology: &Topology) {
    let mut fresh = Topology::default();
    let read = slim::endpoint_slice(json.as_bytes(), &mut fresh).unwrap();
    let read = to_endpoint_slice(&read.object, &fresh, "");
    assert_eq!(read, to_endpoint_slice(expected, topology, ""), "{json}");
}

proptest! {
    #[test]
    fn a_slice_is_read_as_by_way_of_an_object(object in any_slice(), seed: u64) {
        check(&spelled(&serde_json::to_value(&object).unwrap(), seed));
    }

    #[test]
    fn a_list_is_read_as_by_way_of_objects(
        items in collection::vec(any_slice(), 0..4),
        version: Option<String>,
        token: Option<String>,
        seed: u64,
    ) {
        let mut list = List { items, ..List::default() };
        list.metadata.resource_version = version.clone();
        list.metadata.continue_ = token.clone();
        let json = spelled(&serde_json::to_value(&list).unwrap(), seed);

        let mut topology = Topology::default();
        let (mut slices, mut refused) = (Vec::new(), Vec::new());
        for object in &list.items {
            match convert::endpoint_slice(&mut topology, object) {
                Ok(slice) => slices.push(named(object, slice)),
                Err(error) => refused.push(named(object, error)),
            }
        }
        let read = slim::endpoint_slices(json.as_bytes(), &mut topology).unwrap();
        prop_assert_eq!(read.slices, slices);
        prop_assert_eq!(read.refused, refused);
        prop_assert_eq!(&*read.resource_version, version.unwrap_or_default());
        prop_assert_eq!(read.continue_token.as_deref(), token.as_deref().filter(|t| !t.is_empty()));
    }
}

#[test]
fn slices_are_read_as_by_way_of_an_object() {
    let cases = [
        "{}",
        "null",
        r#"{"addressType":null}"#,
        r#"{"addressType":"IPv4"}"#,
        r#"{"addressType":"IPv4","metadata":null,"endpoints":null,"ports":null}"#,
        r#"{"addressType":"IPv4","metadata":{},"endpoints":[],"ports":[]}"#,
        r#"{"addressType":"ipv4"}"#,
        r#"{"addressType":"IPv4","metadata":{"labels":{"b":"1","a":"2","b":"3"}}}"#,
        r#"{"addressType":"IPv4","metadata":{"labels":{"a":"2"},"labels":null}}"#,
        r#"{"addressType":"IPv4","metadata":{"name":"x"},"metadata":{"namespace":"y"}}"#,
        r#"{"addressType":"IPv4","metadata":{"deletionTimestamp":null}}"#,
        r#"{"addressType":"IPv4","metadata":{"ownerReferences":[{"uid":"a"},
            {"apiVersion":"v1","kind":"Service"},{"apiVersion":"v1","kind":"Service","uid":"b"}]}}"#,
        r#"{"addressType":"IPv4","endpoints":[{"addresses":["x"],"addresses":["10.0.0.1"]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"addresses":["x"],"addresses":null}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"addresses":["x"]}],"endpoints":[{}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{},{"addresses":["1.2.3.4","x"]},{"addresses":["y"]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"zone":"a","zone":null,"nodeName":null}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"z\u006fne":"\u0061\n","\u0061ddresses":[]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"conditions":null,"hints":null,"targetRef":null}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"conditions":{"ready":null},"targetRef":{}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"hints":{"forZones":[{},{"name":null}]}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"hints":{"forZones":null,"forNodes":[]}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"hints":{"forZones":[null]}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"]}],"addressType":null}"#,
        r#"{"addressType":"FQDN","endpoints":[{"addresses":["","a.b","10.0.0.1"]}]}"#,
        r#"{"addressType":"IPv6","endpoints":[{"addresses":["::ffff:1.2.3.4"]}]}"#,
        r#"{"endpoints":[{"addresses":["x"]}],"ports":[{"port":0}],"addressType":"IPv4"}"#,
        r#"{"addressType":"IPv4","ports":[{"port":0,"protocol":"x"}]}"#,
        r#"{"addressType":"IPv4","ports":[{},{"port":-1},{"port":65536}]}"#,
        r#"{"addressType":"IPv4","ports":[{"port":1.0}]}"#,
        r#"{"addressType":"IPv4","ports":[{"port":2147483648}]}"#,
        r#"{"addressType":"IPv4","ports":[{"port":65535,"protocol":"","appProtocol":""}]}"#,
        r#"{"addressType":"IPv4","ports":[{"protocol":"udp"}],"endpoints":[{"addresses":["x"]}]}"#,
        r#"{"addressType":"IPv4","unknown":{"deep":[{"zone":1}]},"apiVersion":"discovery.k8s.io/v1"}"#,
        r#"{"addressType":"IPv4","kind":"EndpointSliceList"}"#,
        r#"{"addressType":"IPv4","endpoints":[{"targetRef":{"kind":1}}]}"#,
        r#"{"addressType":["IPv4"]}"#,
    ];
    for json in cases {
        check(json);
    }
}
