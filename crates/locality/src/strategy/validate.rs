//! Kuma's rules for a policy, with its paths and sentences.
//!
//! Two rules hold only with [`Compat::Kuma`], because the decision record's own examples break them:
//! services are named by labels, and `crossZone` is refused for a MeshService. Limits that Kuma
//! leaves to an API server's schema, or to Envoy, are checked here too.

use std::sync::Arc;

use super::{
    AffinityTag, Conf, CrossZone, Failover, HashPolicy, HashPolicyType, IntOrText, LeastRequest,
    LoadBalancer, LocalityAwareness, Spec, To, ToZoneType,
    checked::{MOST_RULES, MOST_TAGS, MOST_WEIGHTED_TAGS, weights},
    decimal::Decimal,
    threshold::{self, ThresholdError},
};
use crate::{Compat, Errors, FieldError, FieldPath, TargetKind, TargetRef};

const ONLY_HASH_POLICIES: &str =
    "field is not allowed when targetRef.kind is MeshHTTPRoute, only hashPolicies is supported";
const LARGEST_RING: u32 = 8_000_000;
const LARGEST_TABLE: u32 = 5_000_011;
/// No zone and no tag has a longer name, see `resource`.
const LONGEST_NAME: usize = 253;

impl Spec {
    /// All that is wrong with it, in the order of the fields; none if it is valid.
    pub fn validate(&self, compat: Compat) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let root = FieldPath::root("spec");
        if let Some(target) = &self.target_ref {
            top_target(target, &root.field("targetRef"), &mut errors);
        }
        let list = root.field("to");
        for (index, to) in self.to.iter().flatten().enumerate() {
            let path = list.index(index);
            destination(&to.target_ref, &path.field("targetRef"), compat, &mut errors);
            conf(&to.default, to, &path.field("default"), compat, &mut errors);
        }
        errors.into_vec()
    }
}

fn top_target(target: &TargetRef, path: &FieldPath<'_>, errors: &mut Errors) {
    match target.kind {
        TargetKind::Mesh => must_be_unset(target, &["labels", "tags", "sectionName"], path, errors),
        TargetKind::MeshSubset | TargetKind::MeshService | TargetKind::MeshServiceSubset => {}
        TargetKind::Dataplane => {
            if target.section_name.is_some() {
                errors.push(&path.field("sectionName"), "can only be used with inbound policies");
            }
        }
        _ => unsupported(target.kind, path, errors),
    }
}

fn destination(target: &TargetRef, path: &FieldPath<'_>, compat: Compat, errors: &mut Errors) {
    let unset: &[&str] = match target.kind {
        TargetKind::Mesh => &["labels", "tags", "sectionName"],
        TargetKind::MeshService | TargetKind::MeshMultiZoneService => &["tags"],
        TargetKind::MeshExternalService | TargetKind::MeshHttpRoute => &["tags", "sectionName"],
        _ => return unsupported(target.kind, path, errors),
    };
    must_be_unset(target, unset, path, errors);
    if compat == Compat::Kuma && target.kind != TargetKind::Mesh && target.labels.is_empty() {
        errors.push(&path.field("labels"), format!("must be set when kind is {}", target.kind));
    }
}

fn unsupported(kind: TargetKind, path: &FieldPath<'_>, errors: &mut Errors) {
    errors.push(&path.field("kind"), format!("value '{kind}' is not supported"));
}

fn must_be_unset(target: &TargetRef, names: &[&str], path: &FieldPath<'_>, errors: &mut Errors) {
    for &name in names {
        let is_set = match name {
            "labels" => !target.labels.is_empty(),
            "tags" => !target.tags.is_empty(),
            _ => target.section_name.is_some(),
        };
        if is_set {
            errors.push(&path.field(name), format!("must not be set with kind {}", target.kind));
        }
    }
}

fn conf(conf: &Conf, to: &To, path: &FieldPath<'_>, compat: Compat, errors: &mut Errors) {
    let Conf { locality_awareness, load_balancer, hash_policies } = conf;
    let balancer_path = path.field("loadBalancer");
    let awareness_path = path.field("localityAwareness");
    if to.target_ref.kind == TargetKind::MeshHttpRoute {
        if load_balancer.is_some() {
            errors.push(&balancer_path, ONLY_HASH_POLICIES);
        }
        if locality_awareness.is_some() {
            errors.push(&awareness_path, ONLY_HASH_POLICIES);
        }
    } else {
        if let Some(balancer) = load_balancer {
            load_balancer_section(balancer, &balancer_path, errors);
        }
        if let Some(awareness) = locality_awareness {
            let target = &to.target_ref;
            let is_local = compat == Compat::Kuma
                && target.kind == TargetKind::MeshService
                && (target.section_name.is_some() || !target.labels.is_empty());
            if is_local && awareness.cross_zone.is_some() {
                let message = "must not be set: MeshService traffic is local";
                errors.push(&awareness_path.field("crossZone"), message);
            }
            locality_awareness_section(awareness, &awareness_path, compat, errors);
        }
    }
    let list = path.field("hashPolicies");
    for (index, policy) in hash_policies.iter().flatten().enumerate() {
        hash_policy(policy, &list.index(index), errors);
    }
}

/// Also the check of what merging made, before it becomes a strategy.
pub(super) fn locality_awareness_section(
    awareness: &LocalityAwareness,
    path: &FieldPath<'_>,
    compat: Compat,
    errors: &mut Errors,
) {
    let local = path.field("localZone");
    affinity_tags(awareness.affinity_tags(), &local.field("affinityTags"), errors);
    if let Some(cross_zone) = &awareness.cross_zone {
        cross_zone_section(cross_zone, &path.field("crossZone"), compat, errors);
    }
}

fn affinity_tags(tags: &[AffinityTag], path: &FieldPath<'_>, errors: &mut Errors) {
    for (index, tag) in tags.iter().enumerate() {
        let path = path.index(index);
        if tag.key.is_empty() {
            errors.push(&path.field("key"), "must not be empty");
        }
        not_too_long(&tag.key, &path.field("key"), errors);
        if tag.weight == Some(0) {
            errors.push(&path.field("weight"), "must be greater than 0");
        }
    }
    let weighted = tags.iter().filter(|tag| tag.weight.is_some()).count();
    if weighted > 0 && weighted < tags.len() {
        errors.push(path, "all or none affinity tags should have weight");
    } else if weighted == 0 && tags.len() > MOST_TAGS {
        let message = format!(
            "must have at most {MOST_TAGS} tags without weights: the default weight of the first \
             of {} tags does not fit 32 bits; set weights",
            tags.len()
        );
        errors.push(path, message);
    } else if tags.len() > MOST_WEIGHTED_TAGS {
        let message = format!("must have at most {MOST_WEIGHTED_TAGS} tags, not {}", tags.len());
        errors.push(path, message);
    } else if weights(tags).is_none() {
        errors.push(path, "the sum of the weights must be at most 4294967295, Envoy's limit");
    }
}

fn cross_zone_section(
    cross_zone: &CrossZone,
    path: &FieldPath<'_>,
    compat: Compat,
    errors: &mut Errors,
) {
    let CrossZone { failover, failover_threshold } = cross_zone;
    let list = path.field("failover");
    let rules = failover.as_deref().unwrap_or_default();
    if rules.len() > MOST_RULES {
        let message = format!(
            "must have at most {MOST_RULES} rules, as many as Envoy has priorities, not {}",
            rules.len()
        );
        errors.push(&list, message);
    }
    for (index, rule) in rules.iter().enumerate() {
        failover_rule(rule, &list.index(index), errors);
    }
    if let Some(threshold) = failover_threshold {
        let at = path.field("failoverThreshold");
        if let Err(error) = percentage(&threshold.percentage, compat) {
            errors.push(&at.field("percentage"), error.to_string());
        }
    }
}

fn percentage(percentage: &IntOrText, compat: Compat) -> Result<(), ThresholdError> {
    threshold::check(percentage)?;
    threshold::overprovisioning_factor(Some(percentage), compat).map(drop)
}

fn failover_rule(rule: &Failover, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(from) = &rule.from {
        let from_path = path.field("from");
        let zones = from_path.field("zones");
        if from.zones.is_empty() {
            errors.push(&zones, "must not be empty");
        }
        for (index, zone) in from.zones.iter().enumerate() {
            if zone.is_empty() {
                errors.push(&zones.index(index), "must not be empty");
            }
            not_too_long(zone, &zones.index(index), errors);
        }
    }
    let to = path.field("to");
    let zones = to.field("zones");
    for (index, zone) in rule.to.zones().iter().enumerate() {
        not_too_long(zone, &zones.index(index), errors);
    }
    let has_zones = !rule.to.zones().is_empty();
    let written = &rule.to.r#type;
    match rule.to.zone_type() {
        None => errors.push(&to.field("type"), "unrecognized type"),
        Some(ToZoneType::Any | ToZoneType::None) if has_zones => {
            errors.push(&zones, format!("must be empty when type is {written}"));
        }
        Some(ToZoneType::Only | ToZoneType::AnyExcept) if !has_zones => {
            errors.push(&zones, format!("must not be empty when type is {written}"));
        }
        Some(_) => {}
    }
}

fn not_too_long(name: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if name.len() > LONGEST_NAME {
        errors.push(path, format!("must not be longer than {LONGEST_NAME}"));
    }
}

fn load_balancer_section(balancer: &LoadBalancer, path: &FieldPath<'_>, errors: &mut Errors) {
    let at_least = |value: Option<u32>, least: u32, path: FieldPath<'_>, errors: &mut Errors| {
        if value.is_some_and(|value| value < least) {
            errors.push(&path, format!("must be at least {least}"));
        }
    };
    let at_most = |value: Option<u32>, most: u32, path: FieldPath<'_>, errors: &mut Errors| {
        if value.is_some_and(|value| value > most) {
            errors.push(&path, format!("must be at most {most}"));
        }
    };
    if let Some(LeastRequest { choice_count, active_request_bias }) = &balancer.least_request {
        let path = path.field("leastRequest");
        at_least(*choice_count, 2, path.field("choiceCount"), errors);
        if let Some(bias) = active_request_bias {
            request_bias(bias, &path.field("activeRequestBias"), errors);
        }
    }
    if let Some(ring) = &balancer.ring_hash {
        let path = path.field("ringHash");
        let (least, most) = (ring.min_ring_size, ring.max_ring_size);
        at_least(least, 1, path.field("minRingSize"), errors);
        at_most(least, LARGEST_RING, path.field("minRingSize"), errors);
        at_least(most, 1, path.field("maxRingSize"), errors);
        at_most(most, LARGEST_RING, path.field("maxRingSize"), errors);
        if least.zip(most).is_some_and(|(least, most)| least > most) {
            errors.push(&path.field("minRingSize"), "must be at most maxRingSize");
        }
    }
    let table_size = balancer.maglev.as_ref().and_then(|maglev| maglev.table_size);
    let path = path.field("maglev");
    at_most(table_size, LARGEST_TABLE, path.field("tableSize"), errors);
    if table_size.is_some_and(|size| size <= LARGEST_TABLE && !is_prime(size)) {
        errors.push(&path.field("tableSize"), "must be a prime number");
    }
}

fn request_bias(bias: &IntOrText, path: &FieldPath<'_>, errors: &mut Errors) {
    match Decimal::read(bias) {
        Err(_) => errors.push(path, "string must be a valid number"),
        Ok(bias) if bias.is_negative() => errors.push(path, "must be greater or equal then: 0"),
        Ok(bias) if bias.is_huge() => errors.push(path, "must be below 1000000000000000"),
        Ok(_) => {}
    }
}

fn hash_policy(policy: &HashPolicy, path: &FieldPath<'_>, errors: &mut Errors) {
    let HashPolicy { header, cookie, connection, query_parameter, filter_state, .. } = policy;
    let named = |name: Option<&Arc<str>>, section: &str, field: &str, errors: &mut Errors| {
        let path = path.field(section);
        match name {
            None => errors.push(&path, "must be defined"),
            Some(name) if name.is_empty() => errors.push(&path.field(field), "must not be empty"),
            Some(_) => {}
        }
    };
    match policy.policy_type() {
        None => errors.push(&path.field("type"), "unrecognized type"),
        Some(HashPolicyType::Header) => {
            named(header.as_ref().map(|h| &h.name), "header", "name", errors);
        }
        Some(HashPolicyType::Cookie) => {
            named(cookie.as_ref().map(|c| &c.name), "cookie", "name", errors);
            let cookie_path = cookie.as_ref().and_then(|c| c.path.as_ref());
            if cookie_path.is_some_and(|path| !path.starts_with('/')) {
                let path = path.field("cookie");
                errors.push(&path.field("path"), "must be an absolute path");
            }
        }
        Some(HashPolicyType::Connection) => {
            if connection.is_none() {
                errors.push(&path.field("connection"), "must be defined");
            }
        }
        Some(HashPolicyType::QueryParameter) => {
            named(query_parameter.as_ref().map(|q| &q.name), "queryParameter", "name", errors);
        }
        Some(HashPolicyType::FilterState) => {
            named(filter_state.as_ref().map(|f| &f.key), "filterState", "key", errors);
        }
    }
}

fn is_prime(n: u32) -> bool {
    let divisors = (2..).take_while(|d| d * d <= n);
    n >= 2 && divisors.into_iter().all(|d| !n.is_multiple_of(d))
}
