//! One Service's migration, setting by setting.

use std::sync::Arc;

use evenkeel_model::{Service, TrafficPolicy, label};

use super::{
    AutoTarget, Migration, MigrationReason as Why, Note, Outcome, Setting, TOPOLOGY_KEYS,
    keys::{Ladder, Target},
};
use crate::{
    Patch, Policy, Removed, ServerVersion,
    policy::{CannotAct, FIELD},
    version::{Expression, UnavailableBefore, expression},
};

const INTERNAL: &str = "spec.internalTrafficPolicy";

/// The first version that ignores topologyKeys, and has `internalTrafficPolicy` on by default.
const WITHOUT_KEYS: ServerVersion = ServerVersion::new(1, 22);

/// A migration in the making.
pub(super) struct Draft<'a> {
    service: &'a Service,
    /// Evenkeel's controller writes the hints.
    evenkeel: bool,
    server: ServerVersion,
    from: Vec<Setting>,
    to: Vec<Setting>,
    reasons: Vec<Why>,
    patch: Patch,
}

// === impl Draft ===

impl<'a> Draft<'a> {
    pub(super) fn new(service: &'a Service, evenkeel: bool, server: ServerVersion) -> Self {
        Draft {
            service,
            evenkeel,
            server,
            from: Vec::new(),
            to: Vec::new(),
            reasons: Vec::new(),
            patch: Patch::default(),
        }
    }

    /// Both annotations; returns the one that requests Auto. The older one counts where both are set.
    pub(super) fn annotations(&mut self, target: AutoTarget) -> Option<&'static str> {
        let service = self.service;
        let set = [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE].into_iter();
        let mut set = set.filter_map(|name| Some((name, service.annotations.get(name)?)));
        let (name, value) = set.next()?;
        let shadowed = set.next();
        self.found(name, value);
        let auto = matches!(&**value, "Auto" | "auto").then_some(name);
        let removed = match &**value {
            "Auto" | "auto" => self.auto(name, target),
            "Disabled" | "disabled" => {
                self.patch.remove_annotation(name, service);
                self.reasons.push(Why::DisabledIsDefault { annotation: name });
                true
            }
            _ => {
                let value = Arc::clone(value);
                self.reasons.push(Why::UnknownValue { annotation: name, value });
                false
            }
        };
        if let Some((other, value)) = shadowed.filter(|_| removed) {
            self.shadowed(other, value, name);
        }
        auto
    }

    /// The annotation that the older one, `by`, overrides. Without that one, it would count.
    fn shadowed(&mut self, name: &'static str, value: &Arc<str>, by: &'static str) {
        self.found(name, value);
        if matches!(&**value, "Auto" | "auto" | "Disabled" | "disabled") {
            self.patch.remove_annotation(name, self.service);
            self.reasons.push(Why::Overridden { place: name, by });
        } else {
            let value = Arc::clone(value);
            self.reasons.push(Why::UnknownValue { annotation: name, value });
        }
    }

    /// Auto is in force by the annotation `name`. Whether it is removed.
    fn auto(&mut self, name: &'static str, target: AutoTarget) -> bool {
        let balanced = match target {
            AutoTarget::ByDataPlane => self.evenkeel,
            AutoTarget::Balanced => true,
            AutoTarget::SameZone => false,
        };
        let policy = if balanced { Policy::Balanced } else { Policy::PreferSameZone };
        if let Some(why) = self.cannot_act() {
            self.patch.remove_annotation(name, self.service);
            self.reasons.push(Why::NoEffect { why });
            return true;
        }
        if self.service.selector.is_none() {
            self.reasons.push(Why::NoSelector { place: name });
            return false;
        }
        let to = match available(policy, self.server) {
            Ok(to) => to,
            Err(error) => {
                self.unavailable(error);
                return false;
            }
        };
        self.patch.remove_annotation(name, self.service);
        if balanced {
            self.reasons.push(Why::NeverGivesUp);
            if !self.evenkeel {
                self.reasons.push(Why::ReadByEvenkeelOnly { policy });
            }
        } else {
            self.reasons.push(Why::OverloadProtectionLost);
        }
        self.set(to);
        self.replaced(name);
        true
    }

    /// Notes the settings that Auto overrides and the patch replaces.
    fn replaced(&mut self, by: &'static str) {
        let own = label::TRAFFIC_DISTRIBUTION;
        if self.patch.metadata.annotations.contains_key(own)
            && let Some(value) = self.service.annotations.get(own)
        {
            self.found(own, value);
            self.reasons.push(Why::Overridden { place: own, by });
        }
        if self.patch.spec.traffic_distribution.is_some()
            && let Some(value) = &self.service.traffic_distribution
        {
            self.found(FIELD, value);
            self.reasons.push(Why::Overridden { place: FIELD, by });
        }
    }

    /// The field's older value, unless the field is replaced anyway.
    pub(super) fn prefer_close(&mut self) {
        let value = self.service.traffic_distribution.as_ref();
        let Some(value) = value.filter(|value| &***value == "PreferClose") else { return };
        if self.patch.spec.traffic_distribution.is_some() {
            return;
        }
        self.found(FIELD, value);
        match expression(Policy::PreferSameZone, self.server) {
            Ok(Expression::Field { value: "PreferSameZone" }) => {
                let to = "PreferSameZone";
                self.patch.spec.traffic_distribution = Some(Some(to));
                self.to.push(Setting { place: FIELD, value: to.into() });
                self.reasons.push(Why::Renamed);
            }
            _ => {
                let gate = "PreferSameTrafficDistribution";
                let version = ServerVersion::of_gate(gate).unwrap_or(ServerVersion::NEWEST);
                self.reasons.push(Why::CurrentName { version });
            }
        }
    }

    pub(super) fn keys(&mut self, keys: &[Arc<str>], auto: Option<&'static str>) {
        self.found(TOPOLOGY_KEYS, &keys.join(", ").into());
        match self.migrate_keys(keys, auto) {
            Ok(reasons) => {
                self.patch.spec.topology_keys = Some(Removed);
                self.reasons.extend(reasons);
            }
            Err(why) => self.reasons.push(why),
        }
    }

    /// What changes with the keys, or why they stay.
    fn migrate_keys(
        &mut self,
        keys: &[Arc<str>],
        auto: Option<&'static str>,
    ) -> Result<Vec<Why>, Why> {
        if self.server < WITHOUT_KEYS {
            return Err(Why::StillInUse { version: WITHOUT_KEYS });
        }
        if let Some(by) = auto.or_else(|| self.overrides_keys()) {
            return Ok(vec![Why::Overridden { place: TOPOLOGY_KEYS, by }]);
        }
        if let Some(why) = self.cannot_act() {
            return Ok(vec![Why::NoEffect { why }]);
        }
        let ladder = Ladder::of(keys).map_err(|key| Why::LabelNotSupported { key })?;
        if !ladder.is_preference() {
            return Ok(vec![Why::NoPreference]);
        }
        let reasons = match ladder.target(self.evenkeel)? {
            Target::NodeLocal => self.node_local(),
            Target::Policy(_) if self.service.selector.is_none() => {
                return Err(Why::NoSelector { place: TOPOLOGY_KEYS });
            }
            Target::Policy(policy) => {
                let unavailable = |UnavailableBefore { policy, version }| Why::UnavailableBefore {
                    policy,
                    version,
                };
                let to = available(policy, self.server).map_err(unavailable)?;
                self.set(to);
                let differences = ladder.differences(policy);
                let same = differences.is_empty().then_some(Why::SamePreference { policy });
                same.into_iter().chain(differences).collect()
            }
        };
        let again = Why::EffectiveAgain { version: WITHOUT_KEYS };
        Ok(reasons.into_iter().chain([again]).collect())
    }

    fn node_local(&mut self) -> Vec<Why> {
        self.patch.spec.internal_traffic_policy = Some(TrafficPolicy::Local);
        self.to.push(Setting { place: INTERNAL, value: "Local".into() });
        let external = self.service.exposure.external.map(|_| Why::ExternalNotRestricted);
        [Why::NodeOrDropped].into_iter().chain(external).collect()
    }

    /// The setting of today's Kubernetes, or Evenkeel's, that says where traffic goes.
    fn overrides_keys(&self) -> Option<&'static str> {
        let Service { annotations, traffic_distribution, exposure, .. } = self.service;
        if annotations.contains_key(label::TRAFFIC_DISTRIBUTION) {
            Some(label::TRAFFIC_DISTRIBUTION)
        } else if traffic_distribution.is_some() {
            Some(FIELD)
        } else {
            let local = exposure.internal == TrafficPolicy::Local && exposure.external.is_none();
            local.then_some(INTERNAL)
        }
    }

    /// Why no proxy ever looks at a preference of the Service.
    fn cannot_act(&self) -> Option<CannotAct> {
        match self.service {
            Service { external_name: true, .. } => Some(CannotAct::ExternalName),
            Service { cluster_ip_none: true, .. } => Some(CannotAct::Headless),
            _ => None,
        }
    }

    fn set(&mut self, to: Expression) {
        self.patch.set(to, label::TRAFFIC_DISTRIBUTION, self.service);
        match to {
            Expression::Annotation { name, value } => {
                self.to.push(Setting { place: name, value: value.into() });
            }
            Expression::Field { value } => {
                self.to.push(Setting { place: FIELD, value: value.into() });
            }
            Expression::Unset => {}
        }
    }

    fn found(&mut self, place: &'static str, value: &Arc<str>) {
        self.from.push(Setting { place, value: Arc::clone(value) });
    }

    fn unavailable(&mut self, UnavailableBefore { policy, version }: UnavailableBefore) {
        self.reasons.push(Why::UnavailableBefore { policy, version });
    }

    pub(super) fn finish(self) -> Migration {
        let outcome = match (self.patch.is_empty(), self.from.is_empty()) {
            (false, _) => Outcome::ToChange,
            (true, false) => Outcome::LeftAlone,
            (true, true) => Outcome::UpToDate,
        };
        Migration {
            namespace: Arc::clone(&self.service.key.namespace),
            service: Arc::clone(&self.service.key.name),
            outcome,
            from: self.from,
            to: self.to,
            notes: self.reasons.into_iter().map(Note::from).collect(),
            patch: self.patch,
        }
    }
}

/// How a policy is written for a server whose kube-proxy follows its hints: before 1.31 kube-proxy
/// looks at hints under Auto only.
fn available(policy: Policy, server: ServerVersion) -> Result<Expression, UnavailableBefore> {
    match ServerVersion::of_gate("ServiceTrafficDistribution") {
        Some(version) if server < version => Err(UnavailableBefore { policy, version }),
        _ => expression(policy, server),
    }
}
