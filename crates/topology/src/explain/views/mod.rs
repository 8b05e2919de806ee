//! Which endpoints clients use from one viewpoint, which they don't, and by which rule.

mod ports;
mod reasons;
mod scene;
mod viewpoints;

use std::sync::Arc;

use evenkeel_model::{
    AddressType, Endpoint, Exposure, Rule, Selection, Topology, TrafficPolicy, Viewpoint,
    WithMessage,
};
use serde::Serialize;

pub use self::reasons::{ExcludedReason, RuleReason};
use self::{
    reasons::{excluded_reason, rule_reason},
    scene::Scene,
    viewpoints::{Look, looks},
};
use super::{EndpointName, From, Subject};
use crate::{SharesIgnored, select::select, shares_ignored};

/// Clients that see the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "from")]
pub enum Client {
    /// On any node of the zone that has no endpoint of its own hinted for it.
    Zone {
        zone: Arc<str>,
    },
    /// On a node without a zone label.
    NoZone,
    Node {
        node: Arc<str>,
        zone: Option<Arc<str>>,
    },
    /// On any node that has no endpoint.
    OtherNodes,
}

/// The kind of traffic that a view is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Traffic {
    /// Internal and external alike.
    All,
    Internal,
    External,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    #[serde(flatten)]
    pub client: Client,
    pub traffic: Traffic,
    /// The Service's ports that these clients use; empty when all are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Arc<str>>,
    pub rule: WithMessage<RuleReason>,
    pub uses: Vec<Use>,
    pub excluded: Vec<Excluded>,
    /// The part of the traffic that stays in the client's zone; `None` when that has no meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_zone_share: Option<f64>,
    /// Why zone shares don't decide although the policy writes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares_ignored: Option<WithMessage<SharesIgnored>>,
    /// Nodes of the zone that use endpoints of their own instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_nodes: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub weight: u32,
    /// Its part of the traffic of these clients; all shares sum to one.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excluded {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub why: WithMessage<ExcludedReason>,
}

/// The views that `from` requests; by default each zone, or under policy Local nodes that
/// have endpoints. With them, how many nodes would have views of their own but are not shown.
pub(super) fn views(subject: &Subject<'_>, family: AddressType, from: &From) -> (Vec<View>, usize) {
    let mut views = Vec::new();
    let mut not_shown = 0;
    for group in ports::groups(subject, family) {
        let scene = Scene::new(subject, group);
        let looks = looks(subject, &scene, from);
        not_shown = not_shown.max(looks.not_shown);
        views.extend(looks.looks.iter().map(|look| view(subject, &scene, look)));
    }
    (views, not_shown)
}

fn view(subject: &Subject<'_>, scene: &Scene<'_>, look: &Look) -> View {
    let topology = &subject.snapshot.topology;
    let own = scene.own_nodes(look);
    let empty = || View {
        client: look.client.clone(),
        traffic: look.traffic,
        ports: scene.ports.clone(),
        rule: RuleReason::NoUsableEndpoint.into(),
        uses: Vec::new(),
        excluded: Vec::new(),
        in_zone_share: None,
        shares_ignored: None,
        except_nodes: own.nodes.iter().map(|&n| Arc::clone(topology.nodes.name(n))).collect(),
    };
    if let (true, Client::Zone { zone }) = (own.are_all, &look.client) {
        let rule = RuleReason::OwnNodeEndpoints { zone: Arc::clone(zone), nodes: own.nodes.len() };
        return View { rule: rule.into(), ..empty() };
    }
    let selection = selection(subject, scene, look);
    let uses = uses(scene, &selection, topology);
    let ignored = shares_ignored(scene.routing(), look.from.zone, &topology.zones);
    View {
        in_zone_share: in_zone_share(&look.client, &uses),
        excluded: excluded(&scene.endpoints, &selection, look.from, topology),
        rule: rule_reason(selection.rule, &look.client, look.local).into(),
        uses,
        shares_ignored: ignored.filter(|_| !look.local).map(WithMessage::from),
        ..empty()
    }
}

fn selection(subject: &Subject<'_>, scene: &Scene<'_>, look: &Look) -> Selection {
    let internal = if look.local { TrafficPolicy::Local } else { TrafficPolicy::Cluster };
    let exposure = Exposure { internal, external: None };
    let (candidates, settings) = (&scene.candidates, subject.settings);
    let selected = select(look.from, exposure, candidates, scene.routing(), settings);
    let nothing = Selection { shares: Vec::new(), rule: Rule::Nothing };
    selected.local.or(selected.cluster).unwrap_or(nothing)
}

fn uses(scene: &Scene<'_>, selection: &Selection, topology: &Topology) -> Vec<Use> {
    let total = selection.total_weight() as f64;
    let shares = selection.shares.iter().map(|share| Use {
        endpoint: EndpointName::new(scene.endpoints[share.endpoint as usize], topology),
        weight: share.weight,
        share: f64::from(share.weight) / total,
    });
    shares.collect()
}

fn in_zone_share(client: &Client, uses: &[Use]) -> Option<f64> {
    let zone = client.zone()?;
    let near = uses.iter().filter(|u| u.endpoint.zone.as_ref() == Some(&zone));
    // Summing from zero: the sum of nothing would be -0.
    let near = near.fold(0.0, |sum, u| sum + u.share);
    (!uses.is_empty()).then_some(near)
}

fn excluded(
    endpoints: &[&Endpoint],
    selection: &Selection,
    from: Viewpoint,
    topology: &Topology,
) -> Vec<Excluded> {
    let mut used = vec![false; endpoints.len()];
    for share in &selection.shares {
        used[share.endpoint as usize] = true;
    }
    (0..endpoints.len())
        .filter(|&i| !used[i])
        .map(|i| Excluded {
            endpoint: EndpointName::new(endpoints[i], topology),
            why: excluded_reason(endpoints[i], selection.rule, from, topology).into(),
        })
        .collect()
}

// === impl Client ===

impl Client {
    /// The zone the client is in, if it is in a known one.
    fn zone(&self) -> Option<Arc<str>> {
        match self {
            Client::Zone { zone } => Some(Arc::clone(zone)),
            Client::Node { zone, .. } => zone.clone(),
            Client::NoZone | Client::OtherNodes => None,
        }
    }
}
