//! Slices: how full, how often written, and every Pod in one place.

use std::collections::BTreeSet;

use evenkeel_model::{AddressType, Endpoint, Pod, Slice};
use evenkeel_testkit::{Cluster, ServiceExt, World, endpoint, profiles, service};
use evenkeel_topology::{Assignment, Plan};
use proptest::prelude::*;

use crate::{
    generate::{config, spec},
    spec::Spec,
};

/// Whether the Pod is to have an endpoint of this family.
fn is_eligible(world: &World, pod: &Pod, family: AddressType) -> bool {
    let known = |node| world.cluster.nodes.iter().any(|n| n.id == node);
    let placed = pod.node.is_some_and(known) || world.service.publish_not_ready;
    let has_address = |v4: bool| pod.ips.iter().any(|ip| ip.is_ipv4() == v4);
    pod.has_endpoint() && placed && has_address(family == AddressType::IPv4)
}

/// The endpoints that slices of one family desired to hold, without hints, in order of Pods.
fn expected(world: &World, family: AddressType) -> Vec<Endpoint> {
    let nodes = world.cluster.table();
    let eligible = world.pods.iter().filter(|p| is_eligible(world, p, family));
    let endpoints = eligible.map(|pod| {
        let zone = pod.node.and_then(|node| nodes.get(node)).and_then(|node| node.zone);
        let mut endpoint = endpoint(pod, family, zone, None);
        if world.service.publish_not_ready {
            endpoint.conditions.ready = Some(true);
        }
        endpoint
    });
    in_order(endpoints.collect())
}

fn in_order(mut endpoints: Vec<Endpoint>) -> Vec<Endpoint> {
    endpoints.sort_by_cached_key(|e| e.target.as_ref().map(|target| target.name.clone()));
    endpoints
}

/// Those they do hold.
fn held(world: &World, family: AddressType) -> Vec<Endpoint> {
    let slices = world.slices.iter().filter(|s| s.address_type == family);
    let endpoints = slices.flat_map(|s| s.endpoints.iter().cloned());
    in_order(endpoints.map(|e| Endpoint { hints: None, ..e }).collect())
}

/// Every slice that was there is deleted, updated or left alone, and none of it twice.
fn check_writes(before: &World, after: &World, plan: &Plan) -> Result<(), TestCaseError> {
    let updated = plan.update.iter().map(|s| &s.name);
    let said: Vec<&str> =
        updated.chain(&plan.delete).chain(&plan.unchanged).map(|name| &**name).collect();
    let distinct: BTreeSet<&str> = said.iter().copied().collect();
    let there: BTreeSet<&str> = before.slices.iter().map(|s| &*s.name).collect();
    prop_assert_eq!(said.len(), distinct.len());
    prop_assert_eq!(distinct, there);

    let is_new = |s: &&Slice| !before.slices.contains(s);
    let n_new = after.slices.iter().filter(is_new).count();
    // Kubernetes writes a placeholder again that is beside slices to be deleted.
    let again = before.settings.assignment == Assignment::WholeSlices;
    let is_placeholder = |s: &&Slice| again && s.endpoints.is_empty() && !is_new(s);
    let n_placeholders = plan.update.iter().filter(is_placeholder).count();
    let n_writes = plan.create.len() + plan.update.len() - n_placeholders;
    prop_assert_eq!(n_writes, n_new);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_slice_grows_beyond_its_limit(spec in spec()) {
        let mut world = spec.build();
        let before = world.slices.clone();
        world.sync();
        for slice in &world.slices {
            let was = before.iter().find(|s| s.name == slice.name);
            // A limit that was lowered later splits no slice.
            let limit = was.map_or(0, |s| s.endpoints.len());
            let limit = limit.max(spec.max_endpoints_per_slice);
            prop_assert!(slice.endpoints.len() <= limit, "{}", slice.name);
        }
    }

    #[test]
    fn every_eligible_pod_has_one_endpoint_of_each_family_that_is_up_to_date(spec in spec()) {
        let mut world = spec.build();
        world.sync();
        for &family in &world.service.families {
            prop_assert_eq!(held(&world, family), expected(&world, family));
        }
        for slice in &world.slices {
            prop_assert!(world.service.families.contains(&slice.address_type));
        }
    }

    #[test]
    fn a_slice_that_lost_its_last_endpoint_goes(spec in spec()) {
        let mut world = spec.build();
        let before = world.slices.clone();
        world.sync();
        for slice in world.slices.iter().filter(|s| s.endpoints.is_empty()) {
            let same_family = |s: &&Slice| s.address_type == slice.address_type;
            let alone = world.slices.iter().filter(same_family).count() == 1;
            let was_empty = before.iter().any(|s| s.name == slice.name && s.endpoints.is_empty());
            prop_assert!(alone || was_empty, "{}", slice.name);
        }
    }

    #[test]
    fn there_is_one_write_for_each_slice_that_changes(spec in spec()) {
        let before = Spec { kubernetes: false, ..spec }.build();
        let mut after = before.clone();
        let plan = after.sync();
        check_writes(&before, &after, &plan)?;
    }

    #[test]
    fn at_most_one_new_slice_is_not_full(spec in spec()) {
        let mut world = spec.build();
        let plan = world.sync();
        for &family in &world.service.families {
            let created = plan.create.iter().filter(|s| s.address_type == family);
            let created: Vec<usize> = created.map(|s| s.endpoints.len()).collect();
            let full = created.iter().filter(|n| **n == spec.max_endpoints_per_slice);
            prop_assert!(created.len() - full.count() <= 1, "{:?}", created);
        }
    }
}

// New slices would race with the garbage collector.
#[test]
fn a_service_that_is_being_deleted_gets_no_new_slices() {
    for (profile, settings) in profiles() {
        let mut world = World::new(Cluster::equal_zones(2), service("web").auto(), settings)
            .with_pods(&[("a", 1), ("b", 1)]);
        world.service.deleting = true;
        assert!(world.sync().is_empty(), "{profile}");
    }
}
