//! Selection from one place, kept up to date.
//!
//! For each port there are counts ([`Tally`]) and the rule that follows from them ([`State`]). Whether a
//! rule picks an endpoint can be seen from that endpoint alone. So when endpoints change and the rule
//! stays, the change of the selection is that of these endpoints: was it picked before, is it picked
//! now. When the rule changes, every endpoint is asked both questions once; for those that changed
//! as well, the first is asked of their earlier state. Weights under zone shares are given by zone, so
//! that one endpoint more or less re-weights a zone without naming its endpoints.

use core::mem;

pub use evenkeel_model::Path;
use evenkeel_model::{Candidate, Id, PortId, Selectable, Viewpoint};

use super::{
    Backend, ChangeKind, Changes, Delta, Detail, EndpointChange, Member, PathDelta, PortChange,
    PortView, View, ZoneWeight, state::State, tally::Tally,
};

/// What one node uses for every Service port of a [`View`].
#[derive(Debug)]
pub struct Selector {
    from: Viewpoint,
    ports: Vec<Option<Box<Seen>>>,
    /// Kept so that changes need no memory of their own.
    old: Seen,
}

/// A port as it was when it was last updated.
#[derive(Clone, Debug)]
struct Seen {
    tally: Tally,
    cluster: Option<State>,
    local: Option<State>,
}

/// A state with the place that it is seen from.
#[derive(Clone, Copy)]
struct Picker<'a> {
    state: Option<&'a State>,
    from: Viewpoint,
}

impl Selector {
    pub fn new(from: Viewpoint) -> Self {
        Selector { from, ports: Vec::new(), old: Seen::new() }
    }

    pub fn viewpoint(&self) -> Viewpoint {
        self.from
    }

    /// Follows the change of one port, and fills `delta` with what it does to the selection. For a port
    /// that is gone there is nothing to fill.
    pub fn update<E: Detail>(
        &mut self,
        changes: &Changes<'_, E>,
        change: &PortChange<'_, E>,
        delta: &mut Delta,
    ) {
        let view = changes.view();
        match change.kind {
            ChangeKind::Removed => {
                if let Some(seen) = self.ports.get_mut(change.id.index()) {
                    *seen = None;
                }
                *delta = Delta::default();
            }
            ChangeKind::Added(port) => self.start(view, change.id, port, delta),
            ChangeKind::Changed { port, endpoints, .. } => {
                self.follow(view, change.id, port, endpoints, delta);
            }
        }
    }

    /// Looks from another place, as when the labels of the node have changed. `each` gets what this does
    /// to each port. To be called when all `changes` were followed.
    pub fn relocate<E: Detail>(
        &mut self,
        changes: &Changes<'_, E>,
        from: Viewpoint,
        mut each: impl FnMut(PortId, &Delta),
    ) {
        let before = mem::replace(&mut self.from, from);
        let mut delta = Delta::default();
        for (id, port) in changes.view().ports() {
            let Some(Some(seen)) = self.ports.get_mut(id.index()) else { continue };
            let old = mem::replace(&mut **seen, Seen::new());
            seen.count(port, from);
            seen.decide(changes.view(), port, from);
            for path in [Path::Cluster, Path::Local] {
                let old = Picker { state: old.state(path), from: before };
                let new = Picker { state: seen.state(path), from };
                rescan(port, &[], old, new, delta.path(path));
            }
            delta.any_in_cluster = seen.tally.usable > 0;
            each(id, &delta);
        }
    }

    /// The endpoints that are used now, with their weights.
    pub fn members<'a, E>(
        &'a self,
        view: &'a View<E>,
        id: PortId,
        path: Path,
    ) -> impl Iterator<Item = (Member, u32)> + 'a {
        let seen = self.ports.get(id.index()).and_then(Option::as_deref);
        let state = seen.and_then(|seen| seen.state(path));
        let picker = Picker { state, from: self.from };
        let endpoints = view.port(id).into_iter().flat_map(PortView::endpoints);
        endpoints.filter(move |e| picker.picks(Some(e.candidate))).map(move |endpoint| {
            let zone = endpoint.zone();
            let weight = state.map_or(1, |state| state.weight(zone));
            (Member { backend: endpoint.backend, zone }, weight)
        })
    }

    fn start<E>(&mut self, view: &View<E>, id: PortId, port: PortView<'_, E>, delta: &mut Delta) {
        if self.ports.len() <= id.index() {
            self.ports.resize_with(id.index() + 1, || None);
        }
        let mut seen = Box::new(Seen::new());
        seen.count(port, self.from);
        seen.decide(view, port, self.from);
        let from = self.from;
        for path in [Path::Cluster, Path::Local] {
            let new = Picker { state: seen.state(path), from };
            rescan(port, &[], Picker { state: None, from }, new, delta.path(path));
        }
        delta.any_in_cluster = seen.tally.usable > 0;
        self.ports[id.index()] = Some(seen);
    }

    fn follow<E>(
        &mut self,
        view: &View<E>,
        id: PortId,
        port: PortView<'_, E>,
        endpoints: &[EndpointChange],
        delta: &mut Delta,
    ) {
        let from = self.from;
        let Some(Some(seen)) = self.ports.get_mut(id.index()) else {
            // This selector has not seen the port come.
            return self.start(view, id, port, delta);
        };
        for change in endpoints {
            change.before.iter().for_each(|candidate| seen.tally.remove(candidate, from));
            change.after.iter().for_each(|candidate| seen.tally.add(candidate, from));
        }
        // The states are swapped with those kept for this, so that lists of weights are used again.
        mem::swap(&mut seen.cluster, &mut self.old.cluster);
        mem::swap(&mut seen.local, &mut self.old.local);
        seen.decide(view, port, from);
        for path in [Path::Cluster, Path::Local] {
            let old = Picker { state: self.old.state(path), from };
            let new = Picker { state: seen.state(path), from };
            let same = match (old.state, new.state) {
                (Some(old), Some(new)) => old.picks_as(new),
                (None, None) => true,
                _ => false,
            };
            if same {
                compare(endpoints, old, new, delta.path(path));
            } else {
                rescan(port, endpoints, old, new, delta.path(path));
            }
        }
        delta.any_in_cluster = seen.tally.usable > 0;
    }
}

/// The change of a selection whose rule stays.
fn compare(endpoints: &[EndpointChange], old: Picker<'_>, new: Picker<'_>, delta: &mut PathDelta) {
    delta.begin(old.state, new.state);
    for change in endpoints {
        delta.endpoint(change.backend, (old, change.before.as_ref()), (new, change.after.as_ref()));
    }
}

/// The change of a selection whose rule changes. `endpoints` are sorted, as those of the port are.
fn rescan<E>(
    port: PortView<'_, E>,
    endpoints: &[EndpointChange],
    old: Picker<'_>,
    new: Picker<'_>,
    delta: &mut PathDelta,
) {
    delta.begin(old.state, new.state);
    if old.state.is_none() && new.state.is_none() {
        return;
    }
    let mut changed = endpoints.iter().peekable();
    for endpoint in port.endpoints() {
        while let Some(gone) = changed.next_if(|change| change.backend < endpoint.backend) {
            delta.endpoint(gone.backend, (old, gone.before.as_ref()), (new, None));
        }
        let now = Some(endpoint.candidate);
        let before = match changed.next_if(|change| change.backend == endpoint.backend) {
            Some(change) => change.before.as_ref(),
            None => now,
        };
        delta.endpoint(endpoint.backend, (old, before), (new, now));
    }
    for gone in changed {
        delta.endpoint(gone.backend, (old, gone.before.as_ref()), (new, None));
    }
}

// === impl Seen ===

impl Seen {
    fn new() -> Self {
        Seen { tally: Tally::default(), cluster: None, local: None }
    }

    fn count<E>(&mut self, port: PortView<'_, E>, from: Viewpoint) {
        self.tally = Tally::default();
        for endpoint in port.endpoints() {
            self.tally.add(endpoint.candidate, from);
        }
    }

    fn decide<E>(&mut self, view: &View<E>, port: PortView<'_, E>, from: Viewpoint) {
        let exposure = port.service().exposure;
        if exposure.uses_cluster() {
            let state = self.cluster.get_or_insert_with(State::new);
            state.set_cluster(&self.tally, port, from, view.settings());
        } else {
            self.cluster = None;
        }
        if exposure.uses_local() {
            self.local.get_or_insert_with(State::new).set_local(&self.tally);
        } else {
            self.local = None;
        }
    }

    fn state(&self, path: Path) -> Option<&State> {
        match path {
            Path::Cluster => self.cluster.as_ref(),
            Path::Local => self.local.as_ref(),
        }
    }
}

// === impl Picker ===

impl Picker<'_> {
    fn picks(&self, candidate: Option<&Candidate>) -> bool {
        match (self.state, candidate) {
            (Some(state), Some(candidate)) => state.picks(candidate, self.from),
            _ => false,
        }
    }
}

// === impl Delta ===

impl Delta {
    fn path(&mut self, path: Path) -> &mut PathDelta {
        match path {
            Path::Cluster => &mut self.cluster,
            Path::Local => &mut self.local,
        }
    }
}

// === impl PathDelta ===

impl PathDelta {
    fn begin(&mut self, old: Option<&State>, new: Option<&State>) {
        self.clear();
        fn weights(state: Option<&State>) -> core::slice::Iter<'_, ZoneWeight> {
            state.map_or(&[][..], |state| &state.weights).iter()
        }
        self.rule = new.map(|state| state.rule);
        self.weights.extend(weights(new));
        let weight = |zone: &ZoneWeight| (zone.zone, zone.weight);
        self.reweighted = !weights(old).map(weight).eq(weights(new).map(weight));
    }

    fn endpoint(
        &mut self,
        backend: Backend,
        (old, before): (Picker<'_>, Option<&Candidate>),
        (new, after): (Picker<'_>, Option<&Candidate>),
    ) {
        let used = before.filter(|_| old.picks(before));
        match after.filter(|_| new.picks(after)) {
            Some(now) if used.is_none_or(|used| used.zone() != now.zone()) => {
                self.added.push(Member { backend, zone: now.zone() });
            }
            Some(_) => {}
            None if used.is_some() => self.removed.push(backend),
            None => {}
        }
    }
}
