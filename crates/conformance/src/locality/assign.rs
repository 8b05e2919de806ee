//! `locality_cases.jsonl`: a policy, a client and endpoints; the groups the client is sent.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU32, sync::Arc};

use evenkeel_locality::{
    Assigned, Client, Compat, Errors, FieldPath, Place, Strategy, assign,
    strategy::LocalityAwareness,
};
use evenkeel_model::mesh::{EndpointHealth, MeshEndpoint};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    policy: Value,
    local: Local,
    endpoints: Vec<EndpointCase>,
    expect: Value,
    expect_groups: Option<Value>,
    overprovisioning_factor: Option<u32>,
    inverse_factor_ceil: Option<u32>,
    locality_weighted: bool,
    #[serde(default)]
    contested: bool,
    expect_record: Option<Value>,
    record_overprovisioning_factor: Option<u32>,
}

#[derive(Deserialize)]
struct Local {
    zone: Arc<str>,
    tags: BTreeMap<Arc<str>, OneOrMore>,
    #[serde(default)]
    labels: BTreeMap<Arc<str>, Arc<str>>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Arc<str>),
    More(Vec<Arc<str>>),
}

#[derive(Deserialize)]
struct EndpointCase {
    address: String,
    port: u16,
    zone: Option<Arc<str>>,
    tags: BTreeMap<Arc<str>, Arc<str>>,
    weight: Option<NonZeroU32>,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let mut diffs = Vec::new();
    for compat in [Compat::Kuma, Compat::Record] {
        let outcome = outcome(case, compat).unwrap_or_else(Value::String);
        diffs.extend(diff(&format!("{compat:?}"), &case.expected(compat), &outcome));
    }
    diffs
}

fn outcome(case: &Case, compat: Compat) -> Result<Value, String> {
    let strategy = strategy(&case.policy, compat)?;
    let client = case.local.client();
    let endpoints: Result<Vec<_>, String> =
        case.endpoints.iter().map(EndpointCase::endpoint).collect();
    let Assigned { assignment, locality_weighted, .. } = assign(&client, &endpoints?, &strategy);
    let groups: Vec<Value> = assignment
        .groups
        .iter()
        .map(|group| {
            json!({
                "priority": group.priority, "weight": group.weight, "zone": group.zone,
                "sub_zone": group.sub_zone,
                "endpoints": group.endpoints.iter().map(|e| e.address.to_string()).collect::<Vec<_>>(),
            })
        })
        .collect();
    let place = Place::of(&client, &strategy);
    let resolved = place.affinity(&strategy);
    let resolved: Vec<Value> = resolved
        .map(|(tag, value)| json!({"key": tag.key, "value": value, "weight": tag.weight}))
        .collect();
    Ok(json!({
        "groups": groups,
        "factor": assignment.overprovisioning_factor,
        "locality_weighted": locality_weighted,
        "resolved": case.expect_groups.as_ref().map(|_| resolved),
    }))
}

fn strategy(policy: &Value, compat: Compat) -> Result<Strategy, String> {
    let mut errors = Errors::default();
    let path = FieldPath::root("policy");
    let awareness = match policy {
        Value::Null => None,
        policy => LocalityAwareness::decode(policy, path, &mut errors),
    };
    let all = |errors: Vec<_>| format!("{errors:?}");
    let awareness = errors.or(awareness).map_err(all)?;
    Strategy::new(awareness.as_ref(), compat).map_err(all)
}

// === impl Case ===

impl Case {
    fn expected(&self, compat: Compat) -> Value {
        let groups = match (compat, &self.expect_record) {
            (Compat::Record, Some(groups)) => groups,
            _ => &self.expect,
        };
        let factor = match compat {
            Compat::Record if self.contested => self.record_overprovisioning_factor,
            Compat::Record => self.inverse_factor_ceil.or(self.overprovisioning_factor),
            Compat::Kuma => self.overprovisioning_factor,
        };
        json!({
            "groups": groups,
            "factor": factor,
            "locality_weighted": self.locality_weighted,
            "resolved": self.expect_groups,
        })
    }
}

// === impl Local ===

impl Local {
    fn client(&self) -> Client {
        let values = |values: &OneOrMore| match values.clone() {
            OneOrMore::One(value) => [value].into(),
            OneOrMore::More(values) => values.into_iter().collect(),
        };
        let tags = self.tags.iter().map(|(key, value)| (key.clone(), values(value)));
        let zone = Some(self.zone.clone());
        Client { zone, tags: tags.collect(), labels: self.labels.clone() }
    }
}

// === impl EndpointCase ===

impl EndpointCase {
    fn endpoint(&self) -> Result<Arc<MeshEndpoint>, String> {
        let ip = self.address.parse().map_err(|e| format!("{}: {e}", self.address))?;
        Ok(Arc::new(MeshEndpoint {
            address: SocketAddr::new(ip, self.port),
            zone: self.zone.clone(),
            tags: Arc::new(self.tags.clone()),
            weight: self.weight,
            health: EndpointHealth::Healthy,
        }))
    }
}
