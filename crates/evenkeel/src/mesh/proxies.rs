//! `evenkeel mesh proxies`: who is connected, and who has accepted what.

use std::{collections::BTreeMap, fmt::Write};

use evenkeel_model::harmless;
use serde::Deserialize;

use super::{admin, args::LiveArgs};
use crate::{
    analyze::Format,
    error::{Error, counted},
    output,
    printer::{self, BAD, CARE, styled},
    table::Table,
};

const TYPES: [&str; 4] = ["CDS", "EDS", "LDS", "RDS"];

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Proxies {
    pub(crate) proxies: Vec<Peer>,
    not_connected: Vec<Missing>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Peer {
    pub(super) mesh: String,
    pub(super) dataplane: String,
    #[serde(default = "yes")]
    has_dataplane: bool,
    #[serde(default)]
    types: BTreeMap<String, TypeState>,
    /// The number of a change.
    #[serde(default)]
    pub(super) oldest_unacknowledged_change: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TypeState {
    state: String,
    message: Option<String>,
    rejected: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Missing {
    mesh: String,
    name: String,
}

fn yes() -> bool {
    true
}

pub(super) fn run(args: &LiveArgs) -> Result<(), Error> {
    let admin = &admin::url(args.control_plane_admin.as_deref());
    let value = admin::page(admin, "/mesh/proxies")?;
    printer::data(&match args.output {
        Format::Text => render(&admin::decoded(admin, &value)?),
        Format::Json => output::json(&value)?,
        Format::Yaml => output::yaml(&value)?,
    })
}

fn render(proxies: &Proxies) -> String {
    let Proxies { proxies: peers, not_connected } = proxies;
    if peers.is_empty() && not_connected.is_empty() {
        return "No Dataplane, and no proxy is connected\n".to_owned();
    }
    let mut rows: Vec<[String; 6]> = peers.iter().map(row).collect();
    let dash = || "-".to_owned();
    let missing = not_connected.iter();
    rows.extend(
        missing.map(|one| [one.mesh.clone(), one.name.clone(), dash(), dash(), dash(), dash()]),
    );
    rows.sort();
    let mut table = Table::new(&["MESH", "DATAPLANE", "CDS", "EDS", "LDS", "RDS"]);
    rows.into_iter().for_each(|row| table.row(row));
    let mut text = table.render("");
    text.push('\n');
    peers.iter().for_each(|peer| messages(peer, &mut text));
    for one in not_connected {
        let line = format!("{}/{}: not connected", one.mesh, one.name);
        let _ = writeln!(text, "{}", harmless(&line));
    }
    let of = |state: &str| peers.iter().filter(|peer| peer.worst() == state).count();
    let _ = writeln!(
        text,
        "{}: {} synced, {} stale, {} nacked, {} not connected",
        counted(peers.len() + not_connected.len(), "Dataplane"),
        of("SYNCED"),
        of("STALE"),
        of("NACKED"),
        not_connected.len()
    );
    text
}

fn row(peer: &Peer) -> [String; 6] {
    let state = |name: &str| match peer.types.get(name) {
        Some(status) if status.state != "NOT_REQUESTED" => status.state.clone(),
        _ => "-".to_owned(),
    };
    let [cds, eds, lds, rds] = TYPES.map(state);
    [peer.mesh.clone(), peer.dataplane.clone(), cds, eds, lds, rds]
}

fn messages(peer: &Peer, text: &mut String) {
    let name = harmless(&format!("{}/{}", peer.mesh, peer.dataplane)).into_owned();
    if !peer.has_dataplane {
        let line = format!("{name}: connected without a Dataplane; it is sent nothing");
        let _ = writeln!(text, "{}", styled(CARE, line));
    }
    for (kind, status) in &peer.types {
        let Some(message) = &status.message else { continue };
        let (kind, message) = (harmless(kind), harmless(message));
        let names = match &status.rejected[..] {
            [] => String::new(),
            names => format!(" ({})", harmless(&names.join(", "))),
        };
        let _ = writeln!(
            text,
            "{}{names}: {message}",
            styled(BAD, format_args!("{name} {kind} NACKED"))
        );
    }
}

// === impl Proxies ===

impl Proxies {
    pub(crate) fn n_not_connected(&self) -> usize {
        self.not_connected.len()
    }

    /// Proxies that reject something they were sent.
    pub(crate) fn rejecting(&self) -> Vec<String> {
        let rejecting = self.proxies.iter().filter(|peer| peer.worst() == "NACKED");
        rejecting.map(|peer| format!("{}/{}", peer.mesh, peer.dataplane)).collect()
    }
}

// === impl Peer ===

impl Peer {
    fn worst(&self) -> &'static str {
        let has = |state: &str| self.types.values().any(|status| status.state == state);
        ["NACKED", "STALE"].into_iter().find(|state| has(state)).unwrap_or("SYNCED")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_state_is_shown_with_its_message() {
        let peer = |name: &str, eds: serde_json::Value| {
            json!({"mesh": "default", "dataplane": name, "hasDataplane": name != "stray", "types": {
                "CDS": {"state": "SYNCED"}, "EDS": eds, "RDS": {"state": "NOT_REQUESTED"},
            }})
        };
        let nacked = json!({
            "state": "NACKED", "message": "bad\u{1b}[2J weight", "rejected": ["backend"],
        });
        let page = json!({
            "proxies": [
                peer("web-2", nacked),
                peer("web-1", json!({"state": "STALE"})),
                peer("stray", json!({"state": "SYNCED"})),
            ],
            "notConnected": [{"mesh": "default", "name": "web-3"}],
        });
        let page: Proxies = serde_json::from_value(page).unwrap();
        assert_eq!(
            (page.n_not_connected(), page.rejecting()),
            (1, vec!["default/web-2".to_owned()])
        );
        let text = render(&page);
        let plain = anstream::adapter::strip_str(&text).to_string();
        let expected = "\
MESH      DATAPLANE   CDS      EDS      LDS   RDS
default   stray       SYNCED   SYNCED   -     -
default   web-1       SYNCED   STALE    -     -
default   web-2       SYNCED   NACKED   -     -
default   web-3       -        -        -     -

default/web-2 EDS NACKED (backend): bad\\u{1b}[2J weight
default/stray: connected without a Dataplane; it is sent nothing
default/web-3: not connected
4 Dataplanes: 1 synced, 1 stale, 1 nacked, 1 not connected
";
        assert_eq!(plain, expected);
    }
}
