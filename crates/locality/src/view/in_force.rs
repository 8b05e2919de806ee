//! What the policies for a client say about one destination.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

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
    Compat, Conf, Errors, FieldError, FieldPath, Spec, Strategy, TargetKind, TargetRef,
    predict::Pick,
    resource::{BackendRef, BreakerConf, HealthCheckConf, Kind, RouteConf},
    strategy::{self, WrittenIn},
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
    let mut merging =
        Merging { policies, to, compat, merged: BTreeMap::new(), reasons: Vec::new() };
    let (conf, mut ranks) =
        merging.conf(Kind::MeshLoadBalancingStrategy, |conf| ranking(conf, compat));
    if to.kind == TargetKind::MeshExternalService {
        // Its endpoints are in no zone, so that there is nothing to rank.
        ranks = Strategy::AllAlike;
    }
    if ranks == Strategy::OwnZoneFirst
        && let Some(topology) = facts.plain.as_ref().and_then(|plain| plain.topology.clone())
    {
        ranks = topology;
    }
    let load_balancer = conf.load_balancer.as_ref().map(strategy::LoadBalancer::to_model);
    let load_balancer = load_balancer.unwrap_or_default();
    if Pick::from(&load_balancer) == Pick::Hashed {
        ranks = ranks.hashing();
    }
    let path = FieldPath::root("default");
    let health_check = merging.conf(Kind::MeshHealthCheck, |conf| {
        decoded(|errors| HealthCheckConf::decode(conf, path, errors))
    });
    let breaker = merging.conf(Kind::MeshCircuitBreaker, |conf| {
        decoded(|errors| BreakerConf::decode(conf, path, errors))
    });
    let http = merging.rules(Kind::MeshHttpRoute);
    let tcp = merging.rules(Kind::MeshTcpRoute);
    InForce {
        strategy: known.intern(StrategyInForce::new(ranks)),
        load_balancer,
        hash_policies: hash_policies(&conf),
        health_check,
        breaker,
        policies: merging.merged,
        http,
        tcp,
        reasons: merging.reasons,
        facts: facts.clone(),
        is_multi_zone: to.is_multi_zone,
    }
}

struct Merging<'a> {
    policies: &'a [Arc<PolicyEntry>],
    to: &'a Destination<'a>,
    compat: Compat,
    merged: BTreeMap<Kind, Merged>,
    reasons: Vec<PlanReason>,
}

impl<'a> Merging<'a> {
    /// Merges and reads. What makes no sense together is left out, the most specific first.
    fn conf<T: Default>(
        &mut self,
        kind: Kind,
        read: impl Fn(&Value) -> Result<T, Vec<FieldError>>,
    ) -> T {
        let mut items = self.items(kind);
        loop {
            let merged = merge(items.iter().map(|(_, entry, conf)| (&entry.name, *conf)));
            let errors = match read(&merged.value) {
                Ok(conf) => {
                    self.keep(kind, merged);
                    return conf;
                }
                Err(errors) => errors,
            };
            let Some((_, entry, _)) = items.pop() else { return T::default() };
            self.reasons.push(PlanReason::MergedPolicyInvalid {
                policy: kind,
                name: entry.name.clone(),
                service: self.to.name.into(),
                problem: errors.first().map(ToString::to_string).unwrap_or_default(),
            });
        }
    }

    /// The rules of routes; `None` if no route is for the destination.
    fn rules(&mut self, kind: Kind) -> Option<Vec<RuleInForce>> {
        let items = self.items(kind);
        let rules = merge_rules(items.iter().map(|(_, entry, conf)| (&entry.name, *conf)));
        if rules.is_empty() {
            return None;
        }
        self.keep(kind, all_rules(&rules));
        let of_destination = self.items(Kind::MeshLoadBalancingStrategy);
        let read = |rule: &MergedRule| {
            rule_in_force(kind, rule, self.route_hash_policies(&of_destination, rule))
        };
        Some(rules.iter().filter_map(read).collect())
    }

    /// A strategy for a route has hash policies only, and beats those for the destination.
    fn route_hash_policies(
        &self,
        of_destination: &[Item<'_>],
        rule: &MergedRule,
    ) -> Vec<HashPolicy> {
        let is_of_rule = |entry: &&Arc<PolicyEntry>| {
            entry.kind == Kind::MeshHttpRoute && rule.routes.contains(&entry.name)
        };
        let routes: Vec<&Arc<PolicyEntry>> = self.policies.iter().filter(is_of_rule).collect();
        let is_for_rule = |target: &TargetRef| {
            let Some(name) = &target.name else { return false };
            let mut routes = routes.iter();
            target.kind == TargetKind::MeshHttpRoute
                && routes.any(|route| route.name == *name || route.display_name == *name)
        };
        let of_route = items(self.policies, Kind::MeshLoadBalancingStrategy, is_for_rule);
        let all = of_destination.iter().chain(&of_route);
        let merged = merge(all.map(|(_, entry, conf)| (&entry.name, *conf)));
        let only_hashes = json!({"hashPolicies": merged.value.get("hashPolicies")});
        let conf = ranking(&only_hashes, self.compat);
        conf.map(|(conf, _)| hash_policies(&conf)).unwrap_or_default()
    }

    fn items(&self, kind: Kind) -> Vec<Item<'a>> {
        items(self.policies, kind, |target| is_for_destination(target, self.to))
    }

    fn keep(&mut self, kind: Kind, policy: Merged) {
        if !policy.origins.is_empty() {
            self.merged.insert(kind, policy);
        }
    }
}

/// The items of a kind that are for a destination, the most specific last.
fn items<'a>(
    policies: &'a [Arc<PolicyEntry>],
    kind: Kind,
    is_for: impl Fn(&TargetRef) -> bool,
) -> Vec<Item<'a>> {
    let of_kind = policies.iter().filter(|entry| entry.kind == kind);
    let mut items: Vec<Item<'a>> = Vec::new();
    for entry in of_kind {
        let to = entry.policy.to.iter().enumerate().filter(|(_, item)| is_for(&item.target));
        items.extend(to.map(|(index, item)| {
            let precedence = Precedence {
                client: client_rank(&entry.policy.target),
                destination: destination_rank(&item.target),
                name: Reverse(entry.name.clone()),
                item: index,
            };
            (precedence, &**entry, &*item.conf)
        }));
    }
    items.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    items
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
    conf.hash_policies.iter().flatten().filter_map(strategy::HashPolicy::to_model).collect()
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
