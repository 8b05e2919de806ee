//! The producer's half: from Pods, Nodes and the slices that exist to the writes that bring slices
//! and hints up to date.
//!
//! Source: the EndpointSlice controller, KEP-2433 and KEP-4444. For each address family of the
//! Service: pack Pods into slices (module `pack`), give hints by the Service's policy, then turn
//! creations into updates of slices that would be deleted. Planning again on the outcome writes
//! nothing. O(Pods + endpoints) plus what the policy costs.

use std::sync::Arc;

use evenkeel_model::{AddressType, Id, Node, NodeId, Pod, Service, Slice};

use crate::{
    Capacity, Demand, Draft, EnabledEvent, HintEvent, NoHints, Policy, RequestedPolicy, Role,
    Settings, auto, carrier, distribution,
    draft::remove_hints,
    moves::{Move, moves},
    pack::{Packed, pack},
    policy,
    region::{Expressed, Reach},
    share_out::{self, writes_shares},
    threshold,
};

pub use crate::share_out::{GroupShares, NoShares};

/// Nodes by their id.
#[derive(Clone, Debug, Default)]
pub struct NodeTable(Vec<Option<Node>>);

/// What one Service is planned from.
#[derive(Clone, Copy, Debug)]
pub struct Sync<'a> {
    pub service: &'a Service,
    /// The Pods its selector picks.
    pub pods: &'a [&'a Pod],
    pub nodes: &'a NodeTable,
    pub capacity: Result<&'a Capacity, &'a NoHints>,
    pub demand: &'a Demand,
    /// The slices this controller manages for the Service, in the order of their names: which
    /// endpoint moves first depends on it.
    pub existing: &'a [&'a Slice],
    /// Hints were given before ([`crate::overload::AutoServices::is_populated`]); see [`EnabledEvent`].
    pub populated: bool,
    pub settings: &'a Settings,
}

/// The writes of one sync. A dry run prints this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Without names: whoever creates them names them.
    pub create: Vec<Slice>,
    pub update: Vec<Slice>,
    pub delete: Vec<Arc<str>>,
    pub unchanged: Vec<Arc<str>>,
    pub families: Vec<FamilyPlan>,
    pub events: Vec<HintEvent>,
    /// Pods skipped because their node is unknown: retry them.
    pub without_node: Vec<Arc<str>>,
}

/// How hints of one address family came out.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyPlan {
    pub family: AddressType,
    pub hints: HintOutcome,
    /// Endpoints that stay ready and that a zone loses, with the reason for each.
    pub moves: Vec<Move>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum HintOutcome {
    /// No policy requests hints.
    NotRequested,
    Auto(auto::ZoneCounts),
    AutoRefused(NoHints),
    OwnZone,
    OwnNode,
    /// Zone shares, and for consumers that don't know them the hints of Auto, or none.
    Balanced {
        hints: Result<auto::ZoneCounts, NoHints>,
        groups: Vec<GroupShares>,
    },
    /// By hints, or by the zone shares of each set of ports.
    Region {
        reach: Reach,
        expressed: Expressed,
        groups: Vec<GroupShares>,
    },
}

/// Plans one Service.
pub fn plan(sync: &Sync<'_>) -> Plan {
    let requested = policy::requested(sync.service, sync.settings.gates);
    let settings = threshold::for_service(sync.settings, sync.service);
    let sync = &Sync { settings: &settings, ..*sync };
    let mut plan = Plan::default();
    let mut populated = sync.populated;
    for &family in &sync.service.families {
        let existing: Vec<&Slice> =
            sync.existing.iter().copied().filter(|s| s.address_type == family).collect();
        let mut packed = pack(sync, family, &existing);
        let own = existing.iter().filter(|s| s.owner.as_deref() == Some(&*sync.service.uid));
        let in_force = auto::in_force(own.flat_map(|s| &s.endpoints));
        let hints = hint(&mut packed.drafts, &requested, in_force, sync);
        let known = match sync.settings.enabled_event {
            EnabledEvent::WhenNewInSlices => in_force,
            EnabledEvent::WhenNotRemembered => populated,
        };
        plan.events.extend(event(family, &hints, known, populated));
        plan.events.extend(shares_event(family, &hints));
        populated = matches!(hints, HintOutcome::Auto(_));
        let moves = moves(&existing, &packed.drafts, &hints, sync);
        plan.families.push(FamilyPlan { family, hints, moves });
        finish(packed, sync.service, &mut plan);
    }
    let gone = |s: &&&Slice| !sync.service.families.contains(&s.address_type);
    let gone = sync.existing.iter().filter(gone);
    plan.delete.extend(gone.map(|s| Arc::clone(&s.name)));
    plan.without_node.sort_unstable();
    plan.without_node.dedup();
    plan
}

/// Assigns the policy's hints and zone shares to the slices of one family.
pub fn hint(
    drafts: &mut [Draft<'_>],
    requested: &RequestedPolicy,
    in_force: bool,
    sync: &Sync<'_>,
) -> HintOutcome {
    let settings = &*threshold::for_service(sync.settings, sync.service);
    if !writes_shares(requested.policy) {
        carrier::remove(drafts);
    }
    match requested.policy {
        Policy::None => {
            remove_hints(drafts);
            HintOutcome::NotRequested
        }
        Policy::Auto => match auto::assign(drafts, sync.capacity, in_force, settings) {
            Ok(counts) => HintOutcome::Auto(counts),
            Err(why) => HintOutcome::AutoRefused(why),
        },
        Policy::PreferSameZone => {
            distribution::assign(drafts, false);
            HintOutcome::OwnZone
        }
        Policy::PreferSameNode => {
            distribution::assign(drafts, true);
            HintOutcome::OwnNode
        }
        Policy::RequireSameZone => {
            distribution::assign(drafts, false);
            HintOutcome::OwnZone
        }
        Policy::Balanced => {
            let hints = auto::assign(drafts, sync.capacity, in_force, settings);
            HintOutcome::Balanced { hints, groups: share_out::balanced(drafts, sync, settings) }
        }
        Policy::PreferSameRegion => share_out::regional(drafts, sync, settings, Reach::Region),
        Policy::PreferSameZoneThenRegion => {
            share_out::regional(drafts, sync, settings, Reach::ZoneThenRegion)
        }
    }
}

/// The Event to emit for the outcome. `known`: hints of this family are nothing new;
/// `populated`: the Service had Auto hints before.
fn event(
    family: AddressType,
    hints: &HintOutcome,
    known: bool,
    populated: bool,
) -> Option<HintEvent> {
    match hints {
        HintOutcome::Auto(_) => (!known).then_some(HintEvent::Enabled { family }),
        HintOutcome::AutoRefused(why) => Some(HintEvent::Disabled { family, why: why.clone() }),
        _ => {
            let why = NoHints::NoLongerRequested;
            populated.then_some(HintEvent::Disabled { family, why })
        }
    }
}

/// Zone shares of a family come into force.
fn shares_event(family: AddressType, hints: &HintOutcome) -> Option<HintEvent> {
    let HintOutcome::Balanced { hints, groups } = hints else { return None };
    let new = groups.iter().find(|group| group.shares.is_ok() && !group.was_in_force)?;
    let in_zone = new.decision.as_ref()?.figures.in_zone;
    Some(HintEvent::SharesEnabled { family, in_zone, instead_of: hints.as_ref().err().cloned() })
}

/// Sorts drafts into writes. A creation takes over the name of a slice that would be deleted: one
/// write instead of two, and no moment without endpoints.
fn finish(packed: Packed<'_>, service: &Service, plan: &mut Plan) {
    let Packed { drafts, delete, without_node } = packed;
    let mut create = Vec::new();
    for draft in drafts {
        match draft.role {
            Role::Create => create.push(draft.slice.into_owned()),
            Role::Update => plan.update.push(draft.slice.into_owned()),
            Role::Unchanged => plan.unchanged.push(Arc::clone(&draft.slice.name)),
        }
    }
    // A slice of an earlier Service of the same name is being collected: it is not to be reused.
    for slice in delete {
        let ours = slice.owner.as_deref() == Some(&*service.uid);
        match create.pop_if(|_| ours) {
            Some(mut replacement) => {
                replacement.name = Arc::clone(&slice.name);
                plan.update.push(replacement);
            }
            None => plan.delete.push(Arc::clone(&slice.name)),
        }
    }
    // While a Service is being deleted, new slices would race with the garbage collector.
    if !service.deleting {
        plan.create.extend(create);
    }
    plan.without_node.extend(without_node);
}

// === impl NodeTable ===

impl NodeTable {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts a node in its place, or takes it away.
    pub fn set(&mut self, id: NodeId, node: Option<Node>) {
        let index = id.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = node;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.0.iter().flatten()
    }

    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.0.get(id.index())?.as_ref()
    }
}

impl FromIterator<Node> for NodeTable {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let mut table = NodeTable::default();
        for node in nodes {
            table.set(node.id, Some(node));
        }
        table
    }
}

// === impl Plan ===

impl Plan {
    /// Nothing needs to be written.
    pub fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }
}
