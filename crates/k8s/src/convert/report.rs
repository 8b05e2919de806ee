//! What the proxy of a node reports, as a Lease and back.
//!
//! The holder of the Lease is the node, its duration says how long the report counts, and
//! annotations carry the rest. A revision that can't be compared is none. Anything else that is not
//! as the proxy writes it is an error: a report that is half understood is none.

use std::time::Duration;

use evenkeel_model::{
    ProxyException, ProxyReport, Revision, SeenReport, ServiceKey, Version, label,
};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use crate::{
    convert::{FieldError, field, metadata::Meta},
    excerpt,
};

/// Names of objects are at most so long.
const LONGEST_NAME: usize = 253;

/// Where a Lease does not say how long it counts.
const VALID_FOR: i64 = 120;

/// A day: who says more has mistaken the unit.
const LONGEST: i64 = 24 * 60 * 60;

/// What is read of the spec of a Lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseFacts<'a> {
    pub(crate) holder: Option<&'a str>,
    pub(crate) seconds: Option<i64>,
    /// In seconds since 1970.
    pub(crate) renewed: Option<i64>,
}

/// The name of the Lease of a node's proxy. That of a node whose name is too long to be part of it is
/// cut and ends in a hash: `spec.holderIdentity` has the node's name in any case.
pub fn report_lease_name(node: &str) -> String {
    let name = format!("evenkeel-proxy-{node}");
    if name.len() <= LONGEST_NAME {
        return name;
    }
    // FNV-1a: it must be the same in every version.
    let hash = node.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let kept: String = name.chars().take(LONGEST_NAME - 17).collect();
    format!("{}-{hash:016x}", kept.trim_end_matches(['-', '.']))
}

/// The Lease to create for a report. `owner`: the uid of the Node, with which the garbage collector
/// deletes it.
pub fn report_lease(
    report: &ProxyReport,
    owner: Option<&str>,
    namespace: &str,
    renewed: Timestamp,
    valid_for: Duration,
) -> Lease {
    let annotations = annotations(report).into_iter();
    let annotations = annotations.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Lease {
        metadata: ObjectMeta {
            name: Some(report_lease_name(&report.node)),
            namespace: Some(namespace.to_owned()),
            labels: Some([(label::COMPONENT.to_owned(), label::PROXY.to_owned())].into()),
            annotations: Some(annotations.collect()),
            owner_references: owner.map(|uid| vec![owner_reference(report, uid)]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(report.node.to_string()),
            lease_duration_seconds: Some(seconds(valid_for)),
            renew_time: Some(MicroTime(renewed)),
            ..LeaseSpec::default()
        }),
    }
}

/// A merge patch of a Lease that exists, with the same content.
pub fn report_patch(report: &ProxyReport, renewed: Timestamp, valid_for: Duration) -> Value {
    let annotations = annotations(report).into_iter();
    let annotations = annotations.map(|(key, value)| (key.to_owned(), json!(value)));
    json!({
        "metadata": {
            "labels": { label::COMPONENT: label::PROXY },
            "annotations": annotations.collect::<serde_json::Map<_, _>>(),
        },
        "spec": {
            "holderIdentity": &*report.node,
            "leaseDurationSeconds": seconds(valid_for),
            "renewTime": MicroTime(renewed),
        },
    })
}

/// The report in a Lease.
pub fn report(lease: &Lease) -> Result<SeenReport, FieldError> {
    let spec = lease.spec.as_ref();
    let facts = LeaseFacts {
        holder: spec.and_then(|spec| spec.holder_identity.as_deref()),
        seconds: spec.and_then(|spec| spec.lease_duration_seconds).map(Into::into),
        renewed: spec.and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0.as_second()),
    };
    let version = Version {
        uid: field::text(lease.metadata.uid.as_deref()),
        resource_version: field::text(lease.metadata.resource_version.as_deref()),
        generation: 0,
    };
    from_facts(Meta::from(&lease.metadata), &facts, version)
}

/// Whether a Lease is one of a proxy.
pub(crate) fn is_report(lease: &Lease) -> bool {
    let labels = lease.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(label::COMPONENT)).is_some_and(|one| one == label::PROXY)
}

pub(crate) fn from_facts(
    meta: Meta<'_>,
    facts: &LeaseFacts<'_>,
    version: Version,
) -> Result<SeenReport, FieldError> {
    let holder = facts.holder.unwrap_or_default();
    if holder.is_empty() {
        return Err(FieldError::new("spec.holderIdentity", "is missing; expected a node's name"));
    }
    let revision = |key| Revision::new(meta.annotation(key)?);
    let left_out = match meta.annotation(label::NOT_IN_FORCE_LEFT_OUT) {
        None => 0,
        Some(text) => text.parse().map_err(|_| unexpected(label::NOT_IN_FORCE_LEFT_OUT, text))?,
    };
    let report = ProxyReport {
        node: holder.into(),
        services: revision(label::SERVICES_IN_FORCE),
        slices: revision(label::SLICES_IN_FORCE),
        exceptions: exceptions(meta.annotation(label::NOT_IN_FORCE).unwrap_or_default())?,
        left_out,
    };
    let seconds = facts.seconds.filter(|seconds| *seconds > 0).unwrap_or(VALID_FOR).min(LONGEST);
    let valid_for = Duration::from_secs(seconds.unsigned_abs());
    Ok(SeenReport { report, version, renewed: facts.renewed, valid_for })
}

fn exceptions(text: &str) -> Result<Vec<ProxyException>, FieldError> {
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    let exceptions = entries.map(|entry| {
        let (service, reason) = entry.split_once('=')?;
        let (namespace, name) = service.split_once('/')?;
        Some(ProxyException { service: ServiceKey::new(namespace, name), reason: reason.into() })
    });
    let exceptions: Option<Vec<ProxyException>> = exceptions.collect();
    let mut exceptions = exceptions.ok_or_else(|| unexpected(label::NOT_IN_FORCE, text))?;
    exceptions.sort();
    Ok(exceptions)
}

fn unexpected(key: &str, found: &str) -> FieldError {
    let found = excerpt::quoted(found);
    FieldError::new(format!("metadata.annotations[{key}]"), format!("{found} can't be read"))
}

/// `None`: the annotation is to be removed.
fn annotations(report: &ProxyReport) -> [(&'static str, Option<String>); 4] {
    let ProxyReport { node: _, services, slices, exceptions, left_out } = report;
    let revision = |given: &Option<Revision>| given.as_ref().map(|it| it.as_str().to_owned());
    let listed = exceptions.iter().map(|ProxyException { service, reason }| {
        format!("{}/{}={reason}", service.namespace, service.name)
    });
    let listed: Vec<String> = listed.collect();
    [
        (label::SERVICES_IN_FORCE, revision(services)),
        (label::SLICES_IN_FORCE, revision(slices)),
        (label::NOT_IN_FORCE, (!listed.is_empty()).then(|| listed.join(","))),
        (label::NOT_IN_FORCE_LEFT_OUT, (*left_out > 0).then(|| left_out.to_string())),
    ]
}

fn owner_reference(report: &ProxyReport, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: report.node.to_string(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

fn seconds(valid_for: Duration) -> i32 {
    i32::try_from(valid_for.as_secs().max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::watched;

    fn exception(service: &str, reason: &str) -> ProxyException {
        let (namespace, name) = service.split_once('/').unwrap();
        ProxyException { service: ServiceKey::new(namespace, name), reason: reason.into() }
    }

    fn reported() -> ProxyReport {
        ProxyReport {
            node: Arc::from("node-7"),
            services: Revision::new("4711"),
            slices: Revision::new("4800"),
            exceptions: vec![exception("shop/cart", "Contested"), exception("shop/web", "Refused")],
            left_out: 3,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const LONG: Duration = Duration::from_secs(90);

    #[test]
    fn a_report_comes_back_from_its_lease_and_from_the_wire() {
        let plain =
            ProxyReport { exceptions: Vec::new(), left_out: 0, services: None, ..reported() };
        for given in [reported(), plain] {
            let mut lease = report_lease(&given, None, "kube-system", at(7), LONG);
            lease.metadata.resource_version = Some("9".to_owned());
            let seen = report(&lease).unwrap();
            assert_eq!((&seen.report, seen.renewed, seen.valid_for), (&given, Some(7), LONG));
            let wire = serde_json::to_value(&lease).unwrap();
            let slim: watched::Lease = serde_json::from_value(wire).unwrap();
            assert_eq!(slim.seen().unwrap(), seen);
            assert!(is_report(&lease));
        }
    }

    #[test]
    fn a_patch_removes_what_the_report_no_longer_has() {
        let plain = ProxyReport { exceptions: Vec::new(), left_out: 0, ..reported() };
        let patch = report_patch(&plain, at(7), LONG);
        let annotations = &patch["metadata"]["annotations"];
        assert_eq!(annotations[label::SLICES_IN_FORCE], "4800");
        assert!(annotations.as_object().unwrap()[label::NOT_IN_FORCE].is_null());
        assert!(annotations.as_object().unwrap()[label::NOT_IN_FORCE_LEFT_OUT].is_null());
        assert_eq!(patch["spec"]["renewTime"], "1970-01-01T00:00:07.000000Z");
    }

    #[test]
    fn the_node_owns_it() {
        let owners = |uid: Option<&str>| {
            report_lease(&reported(), uid, "x", at(7), LONG).metadata.owner_references
        };
        let owner = owners(Some("u")).unwrap().remove(0);
        assert_eq!((&*owner.kind, &*owner.name, &*owner.uid), ("Node", "node-7", "u"));
        assert_eq!(owners(None), None);
    }

    #[test]
    fn what_no_proxy_writes_is_refused_or_unknown() {
        let broken = |key: &str, value: &str| {
            let mut lease = report_lease(&reported(), None, "x", at(7), LONG);
            lease.metadata.annotations.as_mut().unwrap().insert(key.to_owned(), value.to_owned());
            report(&lease).map(|seen| seen.report.services).map_err(|error| error.field)
        };
        assert_eq!(broken(label::SERVICES_IN_FORCE, "12a"), Ok(None), "not comparable");
        for (key, value) in [
            (label::NOT_IN_FORCE, "web=Refused"),
            (label::NOT_IN_FORCE, "shop/web"),
            (label::NOT_IN_FORCE_LEFT_OUT, "-1"),
        ] {
            assert_eq!(broken(key, value), Err(format!("metadata.annotations[{key}]")), "{value}");
        }
        let mut lease = report_lease(&reported(), None, "x", at(7), LONG);
        let spec = lease.spec.as_mut().unwrap();
        spec.lease_duration_seconds = Some(-5);
        assert_eq!(report(&lease).unwrap().valid_for, Duration::from_secs(120));
        lease.spec = None;
        assert_eq!(report(&lease).unwrap_err().field, "spec.holderIdentity");
    }

    #[test]
    fn names_of_leases_are_no_longer_than_names_may_be() {
        assert_eq!(report_lease_name("node-7"), "evenkeel-proxy-node-7");
        let long = |last: &str| report_lease_name(&format!("{}{last}", "a.".repeat(126)));
        assert!(long("a").len() <= LONGEST_NAME);
        assert_ne!(long("a"), long("b"));
        assert!(!long("a").contains(".-"), "{}", long("a"));
    }
}
