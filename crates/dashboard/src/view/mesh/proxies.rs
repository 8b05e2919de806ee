//! The proxies of a mesh: who has accepted what it was sent, the worst first.

use jiff::Timestamp;
use serde::Serialize;

use super::wire::{Missing, Peer, Protocol, Proxies, SyncState, TypeState, Types};
use crate::view::words::{count, message, shown};

/// Proxies that are listed.
pub(super) const MOST_ROWS: usize = 150;
/// Names of rejected resources that are told.
const MOST_REJECTED: usize = 5;
const UNKNOWN: &str = "unknown";

/// What becomes of a proxy's configuration, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Nacked,
    NoDataplane,
    Stale,
    Unknown,
    NotConnected,
    NotRequested,
    Synced,
}

/// A state as people see it: a word, and how serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StateView {
    /// `error`, `warning`, `ok` or `unknown`.
    pub severity: &'static str,
    pub word: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Count {
    pub state: StateView,
    pub n: usize,
    pub meaning: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyRow {
    /// As in links; not shortened. Without, it has no page.
    pub mesh: String,
    pub dataplane: String,
    pub label: String,
    pub has_page: bool,
    pub state: StateView,
    pub zone: String,
    pub protocol: &'static str,
    /// Of each of `TYPES`.
    pub types: [&'static str; 4],
    pub since: String,
    /// What it rejected and why, or what it is without.
    pub trouble: String,
}

/// A type of resources, as one proxy has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TypeRow {
    pub name: &'static str,
    pub state: StateView,
    pub resources: String,
    pub since: String,
    pub trouble: String,
}

pub(super) const TYPES: [&str; 4] = ["CDS", "EDS", "LDS", "RDS"];

/// A proxy, or a Dataplane without one.
#[derive(Clone, Copy, Debug)]
enum Entry<'a> {
    Peer(&'a Peer),
    Missing(&'a Missing),
}

/// All of them, summed up and in part listed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listed {
    pub sentence: String,
    pub counts: Vec<Count>,
    pub rows: Vec<ProxyRow>,
    pub left_out: usize,
}

pub(super) fn listed(proxies: &Proxies) -> Listed {
    let Some(peers) = &proxies.proxies else {
        let sentence = "Which proxies are connected is unknown: the control plane did not say.";
        return Listed { sentence: sentence.to_owned(), counts: vec![], rows: vec![], left_out: 0 };
    };
    let missing = proxies.not_connected.as_ref();
    let missing_items = missing.map_or(&[][..], |missing| &missing.items);
    let mut all: Vec<Entry<'_>> = peers.items.iter().map(Entry::Peer).collect();
    all.extend(missing_items.iter().map(Entry::Missing));
    all.sort_by_cached_key(|entry| (entry.state(), entry.name()));
    let rows: Vec<ProxyRow> = all.iter().take(MOST_ROWS).map(Entry::row).collect();
    let n = peers.len() + missing.map_or(0, super::bounded::List::len);
    // Those beyond the bound are in no known state.
    let beyond = n - all.len();
    Listed {
        sentence: sentence(&all, rows.first(), beyond),
        counts: counts(&all, beyond),
        left_out: n - rows.len(),
        rows,
    }
}

fn n_in(all: &[Entry<'_>], state: State) -> usize {
    all.iter().filter(|entry| entry.state() == state).count()
}

fn sentence(all: &[Entry<'_>], worst: Option<&ProxyRow>, beyond: usize) -> String {
    let Some(worst) = worst else {
        return "There is no Dataplane, and no proxy is connected.".to_owned();
    };
    let n = |state| n_in(all, state);
    let (missing, unknown) = (n(State::NotConnected), n(State::Unknown) + beyond);
    let connected = all.len() - missing + beyond;
    let their = |n: usize| if n == 1 { "its" } else { "their" };
    let have = |n: usize| if n == 1 { "has" } else { "have" };
    let of = |n: usize| format!("{n} of {}", count_proxies(connected));
    if n(State::Nacked) > 0 {
        let (n, ProxyRow { label, trouble, .. }) = (n(State::Nacked), worst);
        return format!("{} rejected {} last configuration: {label}: {trouble}.", of(n), their(n));
    }
    if n(State::Stale) > 0 {
        let n = n(State::Stale);
        return format!("{} {} not acknowledged {} last configuration.", of(n), have(n), their(n));
    }
    if n(State::NoDataplane) > 0 {
        let n = n(State::NoDataplane);
        return format!("{} {} no Dataplane, and {} sent nothing.", of(n), have(n), are(n));
    }
    if unknown > 0 {
        return format!(
            "Whether {} {} what they should have is unknown.",
            of(unknown),
            have(unknown)
        );
    }
    let waiting = format!("{} {} no proxy connected", count(missing, "Dataplane"), have(missing));
    match (connected, missing) {
        (0, n) => format!("No proxy is connected: {} {} for one.", count(n, "Dataplane"), wait(n)),
        (1, 0) => "The only proxy has what it should have.".to_owned(),
        (n, 0) => format!("All {n} proxies have what they should have."),
        (1, _) => format!("The only proxy connected has what it should have; {waiting}."),
        (n, _) => format!("All {n} proxies connected have what they should have; {waiting}."),
    }
}

fn count_proxies(n: usize) -> String {
    if n == 1 { "1 proxy".to_owned() } else { format!("{n} proxies") }
}

fn are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

fn wait(n: usize) -> &'static str {
    if n == 1 { "waits" } else { "wait" }
}

/// The three states that everyone asks for, and others where there are some.
fn counts(all: &[Entry<'_>], beyond: usize) -> Vec<Count> {
    let count = |state: State| {
        let n = n_in(all, state) + if state == State::Unknown { beyond } else { 0 };
        Count { state: state.view(), n, meaning: state.meaning() }
    };
    let is_asked_for =
        |state: &State| matches!(state, State::Nacked | State::Stale | State::Synced);
    let all = State::ALL.into_iter().map(|state| (state, count(state)));
    all.filter(|(state, count)| is_asked_for(state) || count.n > 0)
        .map(|(_, count)| count)
        .collect()
}

/// The types of each stream of a proxy.
pub(super) fn types_of(proxies: &Proxies, mesh: &str, dataplane: &str) -> Vec<TypeRow> {
    let peers = proxies.proxies.iter().flat_map(|peers| &peers.items);
    let own = peers.filter(|peer| peer.mesh == mesh && peer.dataplane == dataplane);
    let types = own.filter_map(|peer| peer.types.as_ref());
    types.flat_map(Types::each).take(MOST_ROWS).map(|(name, state)| row_of(name, state)).collect()
}

fn row_of(name: &'static str, of: Option<&TypeState>) -> TypeRow {
    let state = state_of(of);
    TypeRow {
        name,
        state: state.view(),
        resources: match state {
            State::NotRequested => "–".to_owned(),
            _ => of.and_then(|of| of.resources).map_or(UNKNOWN.to_owned(), |n| n.to_string()),
        },
        since: match state {
            State::NotRequested => "–".to_owned(),
            _ => time(of.and_then(|of| of.since.or(of.acknowledged_at))),
        },
        trouble: of
            .map(|of| format!("{name}{}", rejection(of)))
            .filter(|_| state == State::Nacked)
            .unwrap_or_default(),
    }
}

fn state_of(of: Option<&TypeState>) -> State {
    // What a stream has not asked for may be left out.
    let Some(of) = of else { return State::NotRequested };
    match of.state {
        Some(SyncState::Nacked) => State::Nacked,
        Some(SyncState::Stale) => State::Stale,
        Some(SyncState::Synced) => State::Synced,
        Some(SyncState::NotRequested) => State::NotRequested,
        Some(SyncState::Other) | None => State::Unknown,
    }
}

/// In a table with many of them, what is not there is not spelled out.
fn cell(state: State) -> &'static str {
    if state == State::NotRequested { "–" } else { state.view().word }
}

fn rejection(of: &TypeState) -> String {
    let Some(said) = &of.message else { return String::new() };
    let names = of.rejected.as_ref().filter(|names| !names.items.is_empty());
    let names = names.map(|names| {
        let mut told: Vec<String> =
            names.items.iter().take(MOST_REJECTED).map(|name| shown(name)).collect();
        if names.len() > told.len() {
            told.push(format!("{} more", names.len() - told.len()));
        }
        format!(" ({})", told.join(", "))
    });
    format!("{}: {}", names.unwrap_or_default(), message(said))
}

/// In UTC, since the page cannot know where who looks is.
fn time(seconds: Option<f64>) -> String {
    let at = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
    at.map_or(UNKNOWN.to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

// === impl State ===

impl State {
    const ALL: [State; 7] = [
        State::Nacked,
        State::NoDataplane,
        State::Stale,
        State::Unknown,
        State::NotConnected,
        State::NotRequested,
        State::Synced,
    ];

    pub(super) fn view(self) -> StateView {
        let (severity, word) = match self {
            State::Nacked => ("error", "NACKED"),
            State::NoDataplane => ("warning", "no Dataplane"),
            State::Stale => ("warning", "STALE"),
            State::Unknown => ("unknown", UNKNOWN),
            State::NotConnected => ("unknown", "not connected"),
            State::NotRequested => ("unknown", "not requested"),
            State::Synced => ("ok", "SYNCED"),
        };
        StateView { severity, word }
    }

    fn meaning(self) -> &'static str {
        match self {
            State::Nacked => "rejected a configuration",
            State::NoDataplane => "connected without a Dataplane, and sent nothing",
            State::Stale => "not acknowledged yet",
            State::Unknown => "state not told",
            State::NotConnected => "no proxy for the Dataplane",
            State::NotRequested => "nothing asked for yet",
            State::Synced => "all acknowledged",
        }
    }
}

// === impl Types ===

impl Types {
    fn each(&self) -> [(&'static str, Option<&TypeState>); 4] {
        let all = [&self.cds, &self.eds, &self.lds, &self.rds].map(Option::as_ref);
        std::array::from_fn(|i| (TYPES[i], all[i]))
    }
}

// === impl Entry ===

impl<'a> Entry<'a> {
    fn name(&self) -> (&'a str, &'a str) {
        match self {
            Entry::Peer(peer) => (&peer.mesh, &peer.dataplane),
            Entry::Missing(missing) => (&missing.mesh, &missing.name),
        }
    }

    /// The worst of its types; of those that are requested, if one is.
    fn state(&self) -> State {
        let Entry::Peer(peer) = self else { return State::NotConnected };
        let Some(types) = &peer.types else { return State::Unknown };
        let states = types.each().map(|(_, of)| state_of(of));
        let requested = states.into_iter().filter(|state| *state != State::NotRequested).min();
        match requested.unwrap_or(State::NotRequested) {
            State::Nacked => State::Nacked,
            _ if peer.has_dataplane == Some(false) => State::NoDataplane,
            state => state,
        }
    }

    fn row(&self) -> ProxyRow {
        let ((mesh, dataplane), state) = (self.name(), self.state());
        let row = ProxyRow {
            mesh: mesh.to_owned(),
            dataplane: dataplane.to_owned(),
            label: format!("{}/{}", shown(mesh), shown(dataplane)),
            has_page: state != State::NoDataplane,
            state: state.view(),
            zone: "–".to_owned(),
            protocol: "–",
            types: ["–"; 4],
            since: "–".to_owned(),
            trouble: String::new(),
        };
        match self {
            Entry::Peer(peer) => peer_row(peer, state, row),
            Entry::Missing(_) => row,
        }
    }
}

fn peer_row(peer: &Peer, state: State, row: ProxyRow) -> ProxyRow {
    let types = peer.types.as_ref().map(Types::each);
    let of_state = types.iter().flatten().filter_map(|(name, of)| Some((*name, (*of)?)));
    let worst: Vec<_> = of_state.filter(|(_, of)| state_of(Some(of)) == state).collect();
    let since = match state {
        State::Nacked | State::Stale => worst.iter().find_map(|(_, of)| of.since),
        _ => peer.connected_at,
    };
    let rejected = worst.iter().filter(|(_, of)| of.message.is_some());
    let rejected: Vec<String> =
        rejected.map(|(name, of)| format!("{name}{}", rejection(of))).collect();
    let zone = peer.node.as_ref().and_then(|node| node.zone.as_deref());
    ProxyRow {
        zone: zone.filter(|zone| !zone.is_empty()).map_or(UNKNOWN.to_owned(), shown),
        protocol: match peer.protocol {
            Some(Protocol::Sotw) => "state of the world",
            Some(Protocol::Delta) => "delta",
            Some(Protocol::Other) | None => UNKNOWN,
        },
        types: match types {
            Some(types) => types.map(|(_, of)| cell(state_of(of))),
            None => [UNKNOWN; 4],
        },
        since: time(since),
        trouble: rejected.join("; "),
        ..row
    }
}
