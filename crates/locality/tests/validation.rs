//! Policies as written: what is refused, where, and with which sentence.

#![expect(clippy::unwrap_used, reason = "a test")]

use evenkeel_locality::{Compat, FieldError, Spec, strategy::WrittenIn};
use serde_json::{Value, json};

fn shown(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(spec: &Value, expected: &[&str]) {
    let errors = Spec::decode(spec, WrittenIn::Resource).unwrap_err();
    assert_eq!(shown(&errors), expected, "{spec}");
}

fn to(target: &Value, default: &Value) -> Value {
    json!({"targetRef": {"kind": "Mesh"}, "to": [{"targetRef": target, "default": default}]})
}

fn invalid(spec: &Value, compat: Compat) -> Vec<String> {
    shown(&Spec::decode(spec, WrittenIn::Resource).unwrap().validate(compat))
}

/// In a `to` for a MeshMultiZoneService with labels, valid in both modes.
#[track_caller]
fn check(default: &Value, expected: &[(&str, &str)]) {
    let target = json!({"kind": "MeshMultiZoneService", "labels": {"a": "b"}});
    let expected: Vec<String> =
        expected.iter().map(|(path, text)| format!("spec.to[0].default.{path}: {text}")).collect();
    for compat in [Compat::Record, Compat::Kuma] {
        assert_eq!(invalid(&to(&target, default), compat), expected, "{default:.300}");
    }
}

#[test]
fn what_is_no_policy_is_refused_with_the_path_and_the_nearest_name() {
    let target = json!({"kind": "Mesh"});
    let default = |default: Value| to(&target, &default);
    let at = "spec.to[0].default.localityAwareness";
    refused(&json!([]), &["spec: must be an object, not a list"]);
    refused(&json!({"too": []}), &["spec.too: unknown field; did you mean 'to'?"]);
    refused(&json!({"to": {}}), &["spec.to: must be a list, not an object"]);
    refused(&json!({"to": [{}]}), &["spec.to[0].targetRef: must be set"]);
    refused(
        &default(json!({"localityAwareness": {"crossZones": {}, "disabled": "yes"}})),
        &[
            &format!("{at}.crossZones: unknown field; did you mean 'crossZone'?"),
            &format!("{at}.disabled: must be true or false, not \"yes\""),
        ],
    );
    let weight = |weight| json!({"localityAwareness": {"localZone": {"affinityTags": [{"key": "a", "weight": weight}]}}});
    let weight_at = format!("{at}.localZone.affinityTags[0].weight");
    refused(
        &default(weight(json!(-5))),
        &[&format!("{weight_at}: must be a whole number from 0 to 4294967295, not -5")],
    );
    let percentage = |percentage| json!({"localityAwareness": {"crossZone": {"failoverThreshold": {"percentage": percentage}}}});
    refused(
        &default(percentage(json!(70.5))),
        &[&format!(
            "{at}.crossZone.failoverThreshold.percentage: must be a whole number, or a text such as \"70.5\", not 70.5"
        )],
    );
    refused(
        &default(json!({"loadBalancer": {"type": "ringhash"}})),
        &[
            "spec.to[0].default.loadBalancer.type: value 'ringhash' is not known; did you mean 'RingHash'?",
        ],
    );
    refused(
        &default(
            json!({"hashPolicies": [{"type": "Cookie", "cookie": {"name": "c", "ttl": "soon"}}]}),
        ),
        &[
            "spec.to[0].default.hashPolicies[0].cookie.ttl: 'soon' is not a duration such as 1h30m or 500ms",
        ],
    );
}

/// The forms of the decision record: `defaults`, and `to` as one object.
#[test]
fn files_may_have_the_forms_of_the_record_and_resources_may_not() {
    let record = json!({
        "targetRef": {"kind": "Mesh"},
        "to": {
            "targetRef": {"kind": "MeshService", "name": "backend"},
            "defaults": {"localityAwareness": {"crossZone": {"failover": [{"to": {"type": "Any"}}]}}},
        },
    });
    let kuma = json!({
        "targetRef": {"kind": "Mesh"},
        "to": [{
            "targetRef": {"kind": "MeshService", "name": "backend"},
            "default": {"localityAwareness": {"crossZone": {"failover": [{"to": {"type": "Any"}}]}}},
        }],
    });
    let spec = Spec::decode(&record, WrittenIn::File).unwrap();
    assert_eq!(spec, Spec::decode(&kuma, WrittenIn::Resource).unwrap());
    assert_eq!(serde_json::to_value(&spec).unwrap(), kuma);
    assert_eq!(shown(&spec.validate(Compat::Record)), Vec::<String>::new());
    refused(&record, &["spec.to: must be a list, not an object"]);
    let both = json!({"to": {"targetRef": {"kind": "Mesh"}, "default": {}, "defaults": {}}});
    let errors = Spec::decode(&both, WrittenIn::File).unwrap_err();
    assert_eq!(shown(&errors), ["spec.to.defaults: must not be set beside 'default'"]);
}

#[test]
fn two_rules_hold_for_kuma_only() {
    let cross =
        json!({"localityAwareness": {"crossZone": {"failover": [{"to": {"type": "Any"}}]}}});
    let by_name = to(&json!({"kind": "MeshService", "name": "backend"}), &cross);
    let by_labels = to(&json!({"kind": "MeshService", "labels": {"a": "b"}}), &cross);
    assert!(invalid(&by_name, Compat::Record).is_empty());
    assert!(invalid(&by_labels, Compat::Record).is_empty());
    let labels = "spec.to[0].targetRef.labels: must be set when kind is MeshService";
    assert_eq!(invalid(&by_name, Compat::Kuma), [labels]);
    let local = "spec.to[0].default.localityAwareness.crossZone: must not be set: MeshService traffic is local";
    assert_eq!(invalid(&by_labels, Compat::Kuma), [local]);
}

#[test]
fn only_the_kinds_of_kuma_have_a_place() {
    for kind in ["Mesh", "MeshSubset", "MeshService", "MeshServiceSubset", "Dataplane"] {
        let spec = json!({"targetRef": {"kind": kind}});
        assert!(invalid(&spec, Compat::Record).is_empty(), "{kind}");
    }
    for kind in ["MeshGateway", "MeshHTTPRoute", "MeshMultiZoneService"] {
        let expected = format!("spec.targetRef.kind: value '{kind}' is not supported");
        assert_eq!(invalid(&json!({"targetRef": {"kind": kind}}), Compat::Record), [expected]);
    }
    for kind in ["MeshSubset", "MeshServiceSubset", "MeshTCPRoute", "Dataplane"] {
        let expected = format!("spec.to[0].targetRef.kind: value '{kind}' is not supported");
        assert_eq!(invalid(&to(&json!({"kind": kind}), &json!({})), Compat::Record), [expected]);
    }
    let mesh = json!({"kind": "Mesh", "labels": {"a": "b"}, "sectionName": "x"});
    let expected = [
        "spec.to[0].targetRef.labels: must not be set with kind Mesh",
        "spec.to[0].targetRef.sectionName: must not be set with kind Mesh",
    ];
    assert_eq!(invalid(&to(&mesh, &json!({})), Compat::Record), expected);
}

#[test]
fn as_many_rules_as_envoy_has_priorities() {
    let rules = |n| {
        let rules = vec![json!({"to": {"type": "Any"}}); n];
        json!({"localityAwareness": {"crossZone": {"failover": rules}}})
    };
    check(&rules(128), &[]);
    let message = "must have at most 128 rules, as many as Envoy has priorities, not 129";
    check(&rules(129), &[("localityAwareness.crossZone.failover", message)]);
}

#[test]
fn weights_fit_32_bits_together() {
    let tags =
        |tags: Vec<Value>| json!({"localityAwareness": {"localZone": {"affinityTags": tags}}});
    let unweighted = |n: usize| tags((0..n).map(|n| json!({"key": n.to_string()})).collect());
    let path = "localityAwareness.localZone.affinityTags";
    check(&unweighted(9), &[]);
    let message = "must have at most 9 tags without weights: the default weight of the first of 10 \
                   tags does not fit 32 bits; set weights";
    check(&unweighted(10), &[(path, message)]);
    let weighted = |weights: &[u32]| {
        let tag = |weight: &u32| json!({"key": format!("k{weight}"), "weight": weight});
        tags(weights.iter().map(tag).collect())
    };
    check(&weighted(&[u32::MAX]), &[]);
    check(&weighted(&[u32::MAX - 1, 1]), &[]);
    let message = "the sum of the weights must be at most 4294967295, Envoy's limit";
    check(&weighted(&[u32::MAX, 1]), &[(path, message)]);
    check(&weighted(&[1; 128]), &[]);
    check(&weighted(&[1; 129]), &[(path, "must have at most 128 tags, not 129")]);
}

#[test]
fn names_of_a_megabyte_are_refused() {
    let long = "z".repeat(1_000_000);
    let awareness = json!({"localityAwareness": {
        "localZone": {"affinityTags": [{"key": long}]},
        "crossZone": {"failover": [
            {"from": {"zones": ["a", long]}, "to": {"type": "Only", "zones": [long]}},
        ]},
    }});
    let message = "must not be longer than 253";
    let paths = [
        "localityAwareness.localZone.affinityTags[0].key",
        "localityAwareness.crossZone.failover[0].from.zones[1]",
        "localityAwareness.crossZone.failover[0].to.zones[0]",
    ];
    check(&awareness, &paths.map(|path| (path, message)));
}

#[test]
fn thresholds_that_are_none_are_refused() {
    let threshold = |percentage: &str| json!({"localityAwareness": {"crossZone": {"failoverThreshold": {"percentage": percentage}}}});
    let path = "localityAwareness.crossZone.failoverThreshold.percentage";
    let huge = "9".repeat(1_000_000);
    let table = [
        ("0", "must be greater than 0"),
        ("101", "must be in inclusive range [0.0, 100.0]"),
        ("-1", "must be in inclusive range [0.0, 100.0]"),
        (huge.as_str(), "must be in inclusive range [0.0, 100.0]"),
        ("banana", "string must be a valid number"),
        ("NaN", "string must be a valid number"),
        ("1e3", "string must be a valid number"),
    ];
    for (percentage, message) in table {
        check(&threshold(percentage), &[(path, message)]);
    }
}

#[test]
fn load_balancers_stay_within_envoys_limits() {
    let balancer = |section: &str, settings: Value| {
        let name = format!("{}{}", section[..1].to_uppercase(), &section[1..]);
        json!({"loadBalancer": {"type": name, section: settings}})
    };
    check(&balancer("leastRequest", json!({"choiceCount": 2, "activeRequestBias": "1.3"})), &[]);
    check(
        &balancer("leastRequest", json!({"choiceCount": 1, "activeRequestBias": "-0.1"})),
        &[
            ("loadBalancer.leastRequest.choiceCount", "must be at least 2"),
            ("loadBalancer.leastRequest.activeRequestBias", "must be greater or equal then: 0"),
        ],
    );
    check(
        &balancer("ringHash", json!({"minRingSize": 0, "maxRingSize": 8_000_001})),
        &[
            ("loadBalancer.ringHash.minRingSize", "must be at least 1"),
            ("loadBalancer.ringHash.maxRingSize", "must be at most 8000000"),
        ],
    );
    check(
        &balancer("ringHash", json!({"minRingSize": 2, "maxRingSize": 1})),
        &[("loadBalancer.ringHash.minRingSize", "must be at most maxRingSize")],
    );
    for prime in [2, 3, 65537, 5_000_011] {
        check(&balancer("maglev", json!({"tableSize": prime})), &[]);
    }
    for other in [0, 1, 65536, 65535] {
        let message = "must be a prime number";
        check(
            &balancer("maglev", json!({"tableSize": other})),
            &[("loadBalancer.maglev.tableSize", message)],
        );
    }
    let message = "must be at most 5000011";
    check(
        &balancer("maglev", json!({"tableSize": u32::MAX})),
        &[("loadBalancer.maglev.tableSize", message)],
    );
}
