//! What nodes report of their rules, and what the controller makes of it.

use evenkeel_k8s::convert::{report, report_lease_name};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::{
    cluster::{REPORTS, until},
    space::Space,
};

#[test]
fn leases_report_the_revision_and_the_condition_becomes_true() {
    let space = Space::new("acknowledged");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", json!({"trafficDistribution": "PreferSameZone"}));
    space.reaches(space.client("a1"), web.http(), &["a1"]);
    let slice = space.slices("web").remove(0);
    let revision = |text: Option<String>| text.unwrap().parse::<u64>().unwrap();
    let (services, slices) =
        (revision(web.0.resource_version()), revision(slice.resource_version()));
    let leases: Api<Lease> = Api::namespaced(space.cluster.client.clone(), REPORTS);
    for node in ["node-a1", "node-b1", "node-c1"] {
        until(&format!("the report of {node}"), || {
            let lease = space.cluster.runtime.block_on(leases.get_opt(&report_lease_name(node)));
            let lease = lease.unwrap().ok_or("there is no Lease")?;
            let told = report(&lease).map_err(|error| format!("{error:?}"))?.report;
            let has = |told: Option<&evenkeel_model::Revision>, at_least: u64| {
                told.is_some_and(|told| told.as_str().parse::<u64>().unwrap() >= at_least)
            };
            let is = has(told.services.as_ref(), services) && has(told.slices.as_ref(), slices);
            if is && told.exceptions.is_empty() { Ok(()) } else { Err(format!("{told:?}")) }
        });
    }
    until("TrafficDistributionHonored", || {
        let conditions = space.get("web").status.and_then(|status| status.conditions);
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let honored = conditions.find(|it| it.type_.ends_with("TrafficDistributionHonored"));
        match honored {
            Some(honored) if honored.status == "True" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}
