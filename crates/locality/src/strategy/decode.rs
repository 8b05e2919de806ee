//! From JSON to the policy as written.

use serde_json::Value;

use super::{
    AffinityTag, Conf, CrossZone, Failover, FailoverThreshold, FromZone, IntOrText, LocalZone,
    LocalityAwareness, Spec, To, ToZone,
    balancer::{
        Connection, Cookie, Empty, FUNCTIONS, HashPolicy, Keyed, LeastRequest, LoadBalancer,
        Maglev, Named, RingHash, TYPES,
    },
    parse_duration,
};
use crate::{
    Errors, FieldError, FieldPath, TargetRef,
    decode::{Fields, wrong_type},
    field_error::quoted,
};

/// Where a policy is written decides which forms it may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WrittenIn {
    /// A custom resource: Kuma's schema only.
    #[default]
    Resource,
    /// A file: also the forms of the decision record, `defaults` for `default` and `to` as one
    /// object.
    File,
}

impl Spec {
    /// Reads the `spec` of a policy. Errors have paths that begin with `spec`.
    pub fn decode(value: &Value, written_in: WrittenIn) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let spec = spec(value, FieldPath::root("spec"), written_in, &mut errors);
        errors.or(spec.unwrap_or_default())
    }
}

impl LocalityAwareness {
    /// Reads the `localityAwareness` section alone.
    pub fn decode(
        value: &Value,
        path: FieldPath<'_>,
        errors: &mut Errors,
    ) -> Option<LocalityAwareness> {
        let fields = Fields::of(value, path, &["disabled", "localZone", "crossZone"], errors)?;
        Some(LocalityAwareness {
            disabled: fields.flag("disabled", errors),
            local_zone: fields.nested("localZone", errors, local_zone),
            cross_zone: fields.nested("crossZone", errors, cross_zone),
        })
    }
}

fn spec(
    value: &Value,
    path: FieldPath<'_>,
    written_in: WrittenIn,
    errors: &mut Errors,
) -> Option<Spec> {
    let fields = Fields::of(value, path, &["targetRef", "to"], errors)?;
    let read = |value: &_, path: FieldPath<'_>, errors: &mut _| to(value, path, written_in, errors);
    let to = match fields.get("to") {
        Some(one @ Value::Object(_)) if written_in == WrittenIn::File => {
            read(one, fields.path.field("to"), errors).map(|to| vec![to])
        }
        _ => fields.list("to", errors, read),
    };
    Some(Spec { target_ref: fields.nested("targetRef", errors, TargetRef::decode), to })
}

fn to(
    value: &Value,
    path: FieldPath<'_>,
    written_in: WrittenIn,
    errors: &mut Errors,
) -> Option<To> {
    let known: &[&str] = match written_in {
        WrittenIn::Resource => &["targetRef", "default"],
        WrittenIn::File => &["targetRef", "default", "defaults"],
    };
    let fields = Fields::of(value, path, known, errors)?;
    if fields.get("targetRef").is_none() {
        errors.push(&path.field("targetRef"), "must be set");
    }
    let default = fields.nested("default", errors, conf);
    let defaults = fields.nested("defaults", errors, conf);
    if default.is_some() && defaults.is_some() {
        errors.push(&path.field("defaults"), "must not be set beside 'default'");
    }
    Some(To {
        target_ref: fields.nested("targetRef", errors, TargetRef::decode).unwrap_or_default(),
        default: default.or(defaults).unwrap_or_default(),
    })
}

fn conf(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Conf> {
    let known = ["localityAwareness", "loadBalancer", "hashPolicies"];
    let fields = Fields::of(value, path, &known, errors)?;
    Some(Conf {
        locality_awareness: fields.nested("localityAwareness", errors, LocalityAwareness::decode),
        load_balancer: fields.nested("loadBalancer", errors, load_balancer),
        hash_policies: fields.list("hashPolicies", errors, hash_policy),
    })
}

fn local_zone(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<LocalZone> {
    let fields = Fields::of(value, path, &["affinityTags"], errors)?;
    let tag = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["key", "weight"], errors)?;
        let key = fields.text("key", errors).unwrap_or_default();
        Some(AffinityTag { key, weight: fields.number("weight", errors) })
    };
    Some(LocalZone { affinity_tags: fields.list("affinityTags", errors, tag) })
}

fn cross_zone(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<CrossZone> {
    let fields = Fields::of(value, path, &["failover", "failoverThreshold"], errors)?;
    let threshold = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["percentage"], errors)?;
        if fields.get("percentage").is_none() {
            errors.push(&path.field("percentage"), "must be set");
        }
        let percentage = fields.nested("percentage", errors, int_or_text)?;
        Some(FailoverThreshold { percentage })
    };
    Some(CrossZone {
        failover: fields.list("failover", errors, failover),
        failover_threshold: fields.nested("failoverThreshold", errors, threshold),
    })
}

fn failover(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Failover> {
    let fields = Fields::of(value, path, &["from", "to"], errors)?;
    let from = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["zones"], errors)?;
        Some(FromZone { zones: fields.texts("zones", errors).unwrap_or_default() })
    };
    let to = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["type", "zones"], errors)?;
        let r#type = fields.text("type", errors).unwrap_or_default();
        Some(ToZone { r#type, zones: fields.texts("zones", errors) })
    };
    Some(Failover {
        from: fields.nested("from", errors, from),
        to: fields.nested("to", errors, to).unwrap_or_default(),
    })
}

fn int_or_text(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<IntOrText> {
    if let Value::String(text) = value {
        return Some(IntOrText::Text(text.as_str().into()));
    }
    let int = value.as_i64().and_then(|n| i32::try_from(n).ok());
    if int.is_none() {
        let expected = "a whole number, or a text such as \"70.5\"";
        wrong_type(value, &path, expected, errors);
    }
    int.map(IntOrText::Int)
}

fn empty(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Empty> {
    Fields::of(value, path, &[], errors).map(|_| Empty {})
}

fn load_balancer(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<LoadBalancer> {
    let known = ["type", "roundRobin", "leastRequest", "ringHash", "random", "maglev"];
    let fields = Fields::of(value, path, &known, errors)?;
    if fields.get("type").is_none() {
        errors.push(&path.field("type"), "must be set");
    }
    let least_request = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["choiceCount", "activeRequestBias"], errors)?;
        Some(LeastRequest {
            choice_count: fields.number("choiceCount", errors),
            active_request_bias: fields.nested("activeRequestBias", errors, int_or_text),
        })
    };
    let ring_hash = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let known = ["hashFunction", "minRingSize", "maxRingSize"];
        let fields = Fields::of(value, path, &known, errors)?;
        Some(RingHash {
            hash_function: fields.one_of("hashFunction", &FUNCTIONS, errors),
            min_ring_size: fields.number("minRingSize", errors),
            max_ring_size: fields.number("maxRingSize", errors),
        })
    };
    let maglev = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["tableSize"], errors)?;
        Some(Maglev { table_size: fields.number("tableSize", errors) })
    };
    Some(LoadBalancer {
        r#type: fields.one_of("type", &TYPES, errors).unwrap_or_default(),
        round_robin: fields.nested("roundRobin", errors, empty),
        least_request: fields.nested("leastRequest", errors, least_request),
        ring_hash: fields.nested("ringHash", errors, ring_hash),
        random: fields.nested("random", errors, empty),
        maglev: fields.nested("maglev", errors, maglev),
    })
}

fn hash_policy(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<HashPolicy> {
    let known =
        ["type", "terminal", "header", "cookie", "connection", "queryParameter", "filterState"];
    let fields = Fields::of(value, path, &known, errors)?;
    let named = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["name"], errors)?;
        Some(Named { name: fields.text("name", errors).unwrap_or_default() })
    };
    let keyed = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["key"], errors)?;
        Some(Keyed { key: fields.text("key", errors).unwrap_or_default() })
    };
    let connection = |value: &_, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["sourceIP"], errors)?;
        Some(Connection { source_ip: fields.flag("sourceIP", errors) })
    };
    Some(HashPolicy {
        r#type: fields.text("type", errors).unwrap_or_default(),
        terminal: fields.flag("terminal", errors),
        header: fields.nested("header", errors, named),
        cookie: fields.nested("cookie", errors, cookie),
        connection: fields.nested("connection", errors, connection),
        query_parameter: fields.nested("queryParameter", errors, named),
        filter_state: fields.nested("filterState", errors, keyed),
    })
}

fn cookie(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Cookie> {
    let fields = Fields::of(value, path, &["name", "ttl", "path"], errors)?;
    let ttl = fields.text("ttl", errors).and_then(|text| {
        let duration = parse_duration(&text);
        if duration.is_none() {
            let message = format!("'{}' is not a duration such as 1h30m or 500ms", quoted(&text));
            errors.push(&path.field("ttl"), message);
        }
        duration
    });
    let name = fields.text("name", errors).unwrap_or_default();
    Some(Cookie { name, ttl, path: fields.text("path", errors) })
}
