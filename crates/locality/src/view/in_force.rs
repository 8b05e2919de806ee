//! What the policies for a client say about one destination.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::mesh::{HashPolicy, LoadBalancer, RouteMatch};
use serde_json::{Value, json};

use super::{
    StrategyInForce,
    intern::Held,
    matching::{Destination, Facts, Precedence, client_rank, destination_rank, is_for_destination},
    merge::{Merged, MergedRule, merge, merge_rules},
    policies::PolicyEntry,
    reason::PlanReason,
};
use crate::{
    Compat, Conf, Errors, FieldError, FieldPath, Spec, Strategy, TargetKind,
    resource::{BackendRef, BreakerConf, HealthCheckConf, Kind, RouteConf},
    strategy::WrittenIn,
};

/// Merged policies, with the policy that each field comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct InForce {
    pub strategy: Arc<StrategyInForce>,
    pub load_balancer: LoadBalancer,
    pub hash_policies: Vec<HashPolicy>,
    pub health_check: HealthCheckConf,
    pub breaker: BreakerConf,
    /// By the kind of the policies. Routes are merged rule by rule, under `rules[N]`.
    pub policies: BTreeMap<Kind, Merged>,
    pub(super) http: Option<Vec<RuleInForce>>,
    pub(super) tcp: Option<Vec<RuleInForce>>,
    pub(super) reasons: Vec<PlanReason>,
    /// The facts it was made from.
    pub(super) facts: Arc<Facts>,
    pub(super) is_multi_zone: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleInForce {
    pub(super) matches: Vec<RouteMatch>,
    pub(super) backends: Option<Vec<(BackendRef, u32)>>,
    pub(super) hash_policies: Vec<HashPolicy>,
}

type Item<'a> = (Precedence, &'a PolicyEntry, &'a Value);

/// Merges the policies that are for the destination; they are for the client already.
pub(super) fn in_force(
    policies: &[Arc<PolicyEntry>],
    to: &Destination<'_>,
    facts: &Arc<Facts>,
    compat: Compat,
    known: &mut Held<StrategyInForce>,
) -> InForce {
    let mut reasons = Vec::new();
    let mut merged = BTreeMap::new();
    let mut keep = |kind: Kind, policy: Merged| {
        if !policy.origins.is_empty() {
            merged.insert(kind, policy);
        }
    };
    let destination = |target: &crate::TargetRef| is_for_destination(target, to);
    let mut settle_kind = Settle { to: to.name, reasons: &mut reasons };
    let strategies = items(policies, Kind::MeshLoadBalancingStrategy, &destination);
    let (policy, ranking) = settle_kind.settle(strategies.clone(), |conf| ranking(conf, compat));
    keep(Kind::MeshLoadBalancingStrategy, policy);
    let checks = items(policies, Kind::MeshHealthCheck, &destination);
    let (policy, health_check) = settle_kind.settle(checks, |conf| {
        decoded(|errors| HealthCheckConf::decode(conf, FieldPath::root("default"), errors))
    });
    keep(Kind::MeshHealthCheck, policy);
    let breakers = items(policies, Kind::MeshCircuitBreaker, &destination);
    let (policy, breaker) = settle_kind.settle(breakers, |conf| {
        decoded(|errors| BreakerConf::decode(conf, FieldPath::root("default"), errors))
    });
    keep(Kind::MeshCircuitBreaker, policy);

    let (conf, mut strategy) = ranking;
    if to.kind == TargetKind::MeshExternalService {
        // Its endpoints are in no zone, so that there is nothing to rank.
        strategy = Strategy::AllAlike;
    }
    let mut route_rules = |kind: Kind| {
        let rules = merged_rules(policies, kind, &destination);
        if !rules.is_empty() {
            keep(kind, all_rules(&rules));
        }
        let read = |rule: &MergedRule| {
            let hashed = route_hash_policies(policies, &strategies, rule, compat);
            rule_in_force(kind, rule, hashed)
        };
        (!rules.is_empty()).then(|| rules.iter().filter_map(read).collect())
    };
    let (http, tcp) = (route_rules(Kind::MeshHttpRoute), route_rules(Kind::MeshTcpRoute));
    InForce {
        strategy: known.intern(StrategyInForce::new(strategy)),
        load_balancer: conf
            .load_balancer
            .as_ref()
            .map(crate::strategy::LoadBalancer::to_model)
            .unwrap_or_default(),
        hash_policies: hash_policies(&conf),
        health_check,
        breaker,
        policies: merged,
        http,
        tcp,
        reasons,
        facts: facts.clone(),
        is_multi_zone: to.is_multi_zone,
    }
}

/// The items of a kind that are for a destination, the most specific last.
fn items<'a>(
    policies: &'a [Arc<PolicyEntry>],
    kind: Kind,
    is_for: &dyn Fn(&crate::TargetRef) -> bool,
) -> Vec<Item<'a>> {
    let of_kind = policies.iter().filter(|entry| entry.kind == kind);
    let mut items: Vec<Item<'a>> = Vec::new();
    for entry in of_kind {
        let to = entry.policy.to.iter().enumerate().filter(|(_, item)| is_for(&item.target));
        items.extend(to.map(|(index, item)| {
            let precedence = Precedence {
                client: client_rank(&entry.policy.target),
                destination: destination_rank(&item.target),
                name: std::cmp::Reverse(entry.name.clone()),
                item: index,
            };
            (precedence, &**entry, &*item.conf)
        }));
    }
    items.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    items
}

struct Settle<'a> {
    to: &'a str,
    reasons: &'a mut Vec<PlanReason>,
}

impl Settle<'_> {
    /// Merges and reads. What makes no sense together is left out, the most specific first.
    fn settle<T: Default>(
        &mut self,
        mut items: Vec<Item<'_>>,
        read: impl Fn(&Value) -> Result<T, Vec<FieldError>>,
    ) -> (Merged, T) {
        loop {
            let merged = merge(items.iter().map(|(_, entry, conf)| (&entry.name, *conf)));
            let errors = match read(&merged.value) {
                Ok(conf) => return (merged, conf),
                Err(errors) => errors,
            };
            let Some((_, entry, _)) = items.pop() else { return (merged, T::default()) };
            self.reasons.push(PlanReason::MergedPolicyInvalid {
                policy: entry.kind,
                name: entry.name.clone(),
                service: self.to.into(),
                message: errors.first().map(ToString::to_string).unwrap_or_default(),
            });
        }
    }
}

fn decoded<T>(read: impl FnOnce(&mut Errors) -> Option<T>) -> Result<T, Vec<FieldError>> {
    let mut errors = Errors::default();
    match read(&mut errors) {
        Some(value) => errors.or(value),
        None => Err(errors.into_vec()),
    }
}

fn ranking(conf: &Value, compat: Compat) -> Result<(Conf, Strategy), Vec<FieldError>> {
    let spec = json!({"to": [{"targetRef": {"kind": "Mesh"}, "default": conf}]});
    let spec = Spec::decode(&spec, WrittenIn::Resource)?;
    let errors = spec.validate(compat);
    if !errors.is_empty() {
        return Err(errors);
    }
    let conf = spec.to.unwrap_or_default().pop().map(|to| to.default).unwrap_or_default();
    let strategy = Strategy::new(conf.locality_awareness.as_ref(), compat)?;
    Ok((conf, strategy))
}

fn hash_policies(conf: &Conf) -> Vec<HashPolicy> {
    conf.hash_policies.iter().flatten().filter_map(crate::strategy::HashPolicy::to_model).collect()
}

// === Routes ===

fn merged_rules(
    policies: &[Arc<PolicyEntry>],
    kind: Kind,
    is_for: &dyn Fn(&crate::TargetRef) -> bool,
) -> Vec<MergedRule> {
    let items = items(policies, kind, is_for);
    merge_rules(items.iter().map(|(_, entry, conf)| (&entry.name, *conf)))
}

fn all_rules(rules: &[MergedRule]) -> Merged {
    let values: Vec<&Value> = rules.iter().map(|rule| &rule.rule.value).collect();
    let mut merged = Merged { value: json!({ "rules": values }), ..Merged::default() };
    for (i, rule) in rules.iter().enumerate() {
        let origins = rule.rule.origins.iter();
        let origins = origins.map(|(path, name)| (format!("rules[{i}].{path}"), name.clone()));
        merged.origins.extend(origins);
        let routes = rule.routes.last().map(|name| (format!("rules[{i}]"), name.clone()));
        merged.origins.extend(routes);
    }
    merged
}

/// A strategy for a route has hash policies only, and beats those for the destination.
fn route_hash_policies(
    policies: &[Arc<PolicyEntry>],
    of_destination: &[Item<'_>],
    rule: &MergedRule,
    compat: Compat,
) -> Vec<HashPolicy> {
    let display_names = |name: &Arc<str>| {
        let mut routes = policies.iter().filter(|entry| entry.kind == Kind::MeshHttpRoute);
        routes.find(|entry| entry.name == *name).map(|entry| entry.display_name.clone())
    };
    let routes: Vec<Arc<str>> = rule.routes.iter().filter_map(display_names).collect();
    let is_for_rule = |target: &crate::TargetRef| {
        let name = target.name.as_ref();
        target.kind == TargetKind::MeshHttpRoute
            && name.is_some_and(|name| routes.contains(name) || rule.routes.contains(name))
    };
    let of_route = items(policies, Kind::MeshLoadBalancingStrategy, &is_for_rule);
    let all = of_destination.iter().chain(&of_route);
    let merged = merge(all.map(|(_, entry, conf)| (&entry.name, *conf)));
    let only_hashes = json!({"hashPolicies": merged.value.get("hashPolicies")});
    ranking(&only_hashes, compat).map(|(conf, _)| hash_policies(&conf)).unwrap_or_default()
}

fn rule_in_force(
    kind: Kind,
    rule: &MergedRule,
    hash_policies: Vec<HashPolicy>,
) -> Option<RuleInForce> {
    let conf = json!({"rules": [rule.rule.value]});
    let path = FieldPath::root("to");
    let conf = decoded(|errors| RouteConf::decode(kind, &conf, path, errors)).ok()?;
    let rule = conf.rules.into_iter().next()?;
    Some(RuleInForce { matches: rule.matches, backends: rule.backends, hash_policies })
}
