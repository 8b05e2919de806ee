//! Slices to read, right and wrong ones, and the many ways to write one down.

use k8s_openapi::{
    api::{core::v1::ObjectReference, discovery::v1::*},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use proptest::{collection, option, prelude::*, sample};
use serde_json::{Map, Value, json};

/// Keys that may be there as `null`, wherever an object has none of that name.
const KEYS: &[&str] = &[
    "addressType",
    "addresses",
    "affinity",
    "allocatable",
    "annotations",
    "appProtocol",
    "clusterIP",
    "conditions",
    "containerPort",
    "containers",
    "creationTimestamp",
    "deletionTimestamp",
    "endpoints",
    "externalIPs",
    "forNodes",
    "forZones",
    "generation",
    "hints",
    "hostname",
    "ingress",
    "initContainers",
    "ip",
    "ipFamilies",
    "labels",
    "lastTransitionTime",
    "loadBalancer",
    "matchExpressions",
    "metadata",
    "name",
    "namespace",
    "nodeAffinity",
    "nodeName",
    "nodePort",
    "nodeSelector",
    "nodeSelectorTerms",
    "ownerReferences",
    "phase",
    "podIP",
    "podIPs",
    "port",
    "ports",
    "protocol",
    "publishNotReadyAddresses",
    "ready",
    "resourceVersion",
    "restartPolicy",
    "selector",
    "serving",
    "spec",
    "status",
    "targetPort",
    "targetRef",
    "terminating",
    "trafficDistribution",
    "type",
    "uid",
    "zone",
];

/// Keys of maps, in which there are no fields.
const MAPS: &[&str] = &["allocatable", "annotations", "labels", "nodeSelector", "selector"];

/// Any slice. Of three at least one is right in all its fields.
pub(crate) fn any_slice() -> impl Strategy<Value = EndpointSlice> {
    let right = sample::select(vec!["IPv4", "IPv6", "FQDN"]);
    let right = right.prop_flat_map(|kind| slice(kind, addresses(kind), ports(&[1, 80, 65535])));
    let kind = sample::select(vec!["IPv4", "IPv6", "FQDN", "", "ipv4", "banana"]);
    let address = prop_oneof![addresses("IPv4"), addresses("IPv6"), addresses("FQDN")];
    let wrong = kind.prop_flat_map(move |kind| {
        slice(kind, address.clone(), ports(&[-1, 0, 80, 65536, i32::MIN, i32::MAX]))
    });
    prop_oneof![right, wrong]
}

/// `value` as JSON in one of many ways: fields in any order, some absent ones as `null`, unknown
/// ones in between, some characters escaped, some white space.
pub(crate) fn spelled(value: &Value, seed: u64) -> String {
    let mut text = String::new();
    Speller { state: seed, text: &mut text }.value(value, true);
    text
}

struct Speller<'t> {
    state: u64,
    text: &'t mut String,
}

// === impl Speller ===

impl Speller<'_> {
    /// Whether something with a chance of one in `n` happens.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 33) as usize % n
    }

    fn value(&mut self, value: &Value, fields_are_known: bool) {
        match value {
            Value::Object(fields) => self.object(fields, fields_are_known),
            Value::Array(items) => {
                self.text.push('[');
                for (nth, item) in items.iter().enumerate() {
                    self.text.push_str(if nth == 0 { "" } else { "," });
                    self.value(item, fields_are_known);
                }
                self.text.push(']');
            }
            Value::String(text) => self.string(text),
            other => self.text.push_str(&other.to_string()),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, fields_are_known: bool) {
        let mut fields: Vec<(String, Value)> = fields.clone().into_iter().collect();
        if fields_are_known {
            let absent = KEYS.iter().filter(|&&key| fields.iter().all(|(given, _)| given != key));
            let absent: Vec<_> = absent.filter(|_| self.one_in(8)).collect();
            fields.extend(absent.into_iter().map(|key| ((*key).to_owned(), Value::Null)));
            if self.one_in(8) {
                fields.push(("unknown".to_owned(), json!({"zone": [1, null, {"name": "\u{0}"}]})));
            }
        }
        for nth in 0..fields.len() {
            let other = nth + self.below(fields.len() - nth);
            fields.swap(nth, other);
        }
        self.text.push('{');
        for (nth, (key, value)) in fields.iter().enumerate() {
            self.text.push_str(if nth == 0 { "" } else { "," });
            self.string(key);
            let colon = if self.one_in(8) { "\n : \t" } else { ":" };
            self.text.push_str(colon);
            // A label called like a field, or a key below an unknown one, is none.
            let is_known = !MAPS.contains(&key.as_str()) && key != "unknown";
            self.value(value, fields_are_known && is_known);
        }
        self.text.push('}');
    }

    fn string(&mut self, text: &str) {
        let escape = self.one_in(8);
        self.text.push('"');
        for char in text.chars() {
            if escape || char < ' ' || matches!(char, '"' | '\\') {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    self.text.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                self.text.push(char);
            }
        }
        self.text.push('"');
    }
}

fn slice(
    address_type: &'static str,
    address: impl Strategy<Value = String> + Clone + 'static,
    port: impl Strategy<Value = EndpointPort>,
) -> impl Strategy<Value = EndpointSlice> {
    let endpoints = option::of(collection::vec(endpoint(address), 0..6));
    let ports = option::of(collection::vec(port, 0..3));
    (metadata(), endpoints, ports).prop_map(|(metadata, endpoints, ports)| EndpointSlice {
        address_type: address_type.to_owned(),
        endpoints,
        metadata,
        ports,
    })
}

fn addresses(kind: &str) -> sample::Select<String> {
    let addresses: &[&str] = match kind {
        "IPv4" => &["10.0.0.1", "10.0.0.2", "010.000.0.01", "::ffff:10.0.0.1"],
        "IPv6" => &["fd00::1", "FD00:0::01", "::"],
        _ => &["a.example.org", "", "10.0.0.1", "[::1]", "ä"],
    };
    sample::select(addresses.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Few enough different ones that the same comes again.
fn name() -> impl Strategy<Value = String> + Clone {
    let names = ["", "a", "b", "web", "Pod", "Service", "v1", "zone-a", "ä\"\\\n😀", "TCP"];
    sample::select(names.map(str::to_owned).to_vec())
}

fn ports(numbers: &'static [i32]) -> impl Strategy<Value = EndpointPort> {
    let protocols = match numbers.contains(&0) {
        true => vec!["", "TCP", "UDP", "SCTP", "tcp", "banana"],
        false => vec!["", "TCP", "UDP", "SCTP"],
    };
    let number = option::of(sample::select(numbers));
    let protocol = option::of(sample::select(protocols).prop_map(str::to_owned));
    (option::of(name()), number, protocol, option::of(name())).prop_map(
        |(name, port, protocol, app_protocol)| EndpointPort { name, port, protocol, app_protocol },
    )
}

fn endpoint(address: impl Strategy<Value = String>) -> impl Strategy<Value = Endpoint> {
    let conditions = any::<[Option<bool>; 3]>().prop_map(|[ready, serving, terminating]| {
        EndpointConditions { ready, serving, terminating }
    });
    (
        collection::vec(address, 0..4),
        option::of(conditions),
        option::of(hints()),
        option::of(name()),
        option::of(name()),
        option::of(target()),
        option::of(name()),
    )
        .prop_map(|(addresses, conditions, hints, hostname, node_name, target_ref, zone)| {
            Endpoint {
                addresses,
                conditions,
                deprecated_topology: None,
                hints,
                hostname,
                node_name,
                target_ref,
                zone,
            }
        })
}

fn hints() -> impl Strategy<Value = EndpointHints> {
    let zones = collection::vec(name().prop_map(|name| ForZone { name }), 0..4);
    let nodes = collection::vec(name().prop_map(|name| ForNode { name }), 0..3);
    (option::of(zones), option::of(nodes))
        .prop_map(|(for_zones, for_nodes)| EndpointHints { for_nodes, for_zones })
}

fn target() -> impl Strategy<Value = ObjectReference> {
    let names = || option::of(name());
    (names(), names(), names(), names(), names()).prop_map(
        |(kind, namespace, name, uid, resource_version)| ObjectReference {
            kind,
            namespace,
            name,
            uid,
            resource_version,
            ..ObjectReference::default()
        },
    )
}

fn metadata() -> impl Strategy<Value = ObjectMeta> {
    let names = || option::of(name());
    let pairs = || option::of(collection::btree_map(name(), name(), 0..4));
    let owner = (name(), name(), name(), name(), any::<Option<bool>>()).prop_map(
        |(api_version, kind, name, uid, controller)| OwnerReference {
            api_version,
            kind,
            name,
            uid,
            controller,
            block_owner_deletion: None,
        },
    );
    let owners = option::of(collection::vec(owner, 0..4));
    let shares = ["", "{}", r#"{"a":{"a":400,"b":600}}"#, r#"{"a":{"a":-1}}"#].map(str::to_owned);
    let shares = option::of(sample::select(shares.to_vec()));
    let annotations = (pairs(), shares).prop_map(|(pairs, shares)| {
        let shares = shares.map(|text| ("evenkeel.dev/zone-shares".to_owned(), text));
        pairs.map(|pairs| pairs.into_iter().chain(shares).collect())
    });
    (names(), names(), names(), pairs(), annotations, owners, any::<bool>()).prop_map(
        |(name, namespace, resource_version, labels, annotations, owner_references, deleting)| {
            let time = || serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            ObjectMeta {
                name,
                namespace,
                resource_version,
                labels,
                annotations,
                owner_references,
                deletion_timestamp: deleting.then(time),
                ..ObjectMeta::default()
            }
        },
    )
}
