//! Policies, clients and endpoints for tests, and assignments as text.

#![allow(dead_code, reason = "every test file uses a part")]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_locality::{
    Assigned, Client, Compat, Errors, FieldPath, Strategy, assign, strategy::LocalityAwareness,
};
use evenkeel_model::mesh::MeshEndpoint;
use serde_json::Value;

pub(crate) fn awareness(value: &Value) -> LocalityAwareness {
    let mut errors = Errors::default();
    let path = FieldPath::root("localityAwareness");
    let awareness = LocalityAwareness::decode(value, path, &mut errors);
    errors.or(awareness).unwrap().unwrap()
}

pub(crate) fn strategy(value: &Value) -> Strategy {
    strategy_as(value, Compat::Record)
}

pub(crate) fn strategy_as(value: &Value, compat: Compat) -> Strategy {
    Strategy::new(Some(&awareness(value)), compat).unwrap()
}

pub(crate) fn client(zone: &str, tags: &[(&str, &str)]) -> Client {
    let tags = tags.iter().map(|(key, value)| (Arc::from(*key), [Arc::from(*value)].into()));
    Client { zone: Some(zone.into()), tags: tags.collect(), labels: BTreeMap::new() }
}

/// Address, zone and tags; an empty zone is none.
pub(crate) type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

pub(crate) fn endpoint((address, zone, tags): Row<'_>) -> Arc<MeshEndpoint> {
    let tags = tags.iter().map(|(key, value)| (Arc::from(*key), Arc::from(*value)));
    Arc::new(MeshEndpoint {
        address: address.parse().unwrap(),
        zone: (!zone.is_empty()).then(|| zone.into()),
        tags: Arc::new(tags.collect()),
        weight: None,
        health: Default::default(),
    })
}

pub(crate) fn assigned(strategy: &Strategy, client: &Client, rows: &[Row<'_>]) -> Assigned {
    let endpoints: Vec<_> = rows.iter().copied().map(endpoint).collect();
    assign(client, &endpoints, strategy)
}

/// One line for each group: priority, zone and sub-zone, weight, endpoints.
pub(crate) fn groups(assigned: &Assigned) -> Vec<String> {
    let groups = assigned.assignment.groups.iter().map(|group| {
        let mut line = format!("{} {}", group.priority, group.zone.as_deref().unwrap_or("-"));
        if !group.sub_zone.is_empty() {
            line += &format!("/{}", group.sub_zone);
        }
        if let Some(weight) = group.weight {
            line += &format!(" w{weight}");
        }
        for endpoint in &group.endpoints {
            line += &format!(" {}", endpoint.address);
        }
        line
    });
    groups.collect()
}

pub(crate) fn reasons(assigned: &Assigned) -> Vec<String> {
    assigned.reasons.iter().map(ToString::to_string).collect()
}
