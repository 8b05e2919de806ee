//! The pages about the mesh: its proxies with policies and the propagation of changes, and one proxy with its
//! destinations.
//!
//! ```text
//!   text of admin pages ──► wire: bounded, own types ──► sentences, rows, drawings
//! ```
//!
//! Shares are the control plane's own predictions, which `evenkeel mesh inspect` prints too. Nothing is
//! computed anew.

mod bounded;
mod destination;
mod drawing;
mod inspected;
mod lanes;
mod policies;
mod propagation;
mod proxies;
mod shares;
mod wire;

use serde::{Serialize, de::DeserializeOwned};

pub use self::{
    destination::{DestinationView, GroupRow, LostRow, UsedPolicy},
    drawing::{Anchor, Drawing, Mark, Shape},
    inspected::{DestinationRow, ProxyPage, RouteRow},
    policies::{FindingRow, PoliciesView, PolicyRow},
    propagation::{ChangeRow, PropagationView},
    proxies::{Count, ProxyRow, StateView, TypeRow},
    wire::{Inspection, Policies, Propagation, Proxies},
};
use super::words;

/// What a control plane said of its mesh at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    pub proxies: Proxies,
    pub propagation: Propagation,
    pub policies: Policies,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum MeshPage {
    /// There is no control plane that could be asked.
    Nothing(NoControlPlane),
    Known(Box<Overview>),
}

/// How to get one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoControlPlane {
    pub sentence: String,
    pub advice: &'static str,
    pub commands: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub sentence: String,
    pub counts: Vec<Count>,
    pub proxies: Vec<ProxyRow>,
    pub proxies_left_out: usize,
    pub policies: PoliciesView,
    pub propagation: PropagationView,
    /// Elements that the page needs.
    pub marks: usize,
}

/// The text of an admin page, as far as it is shown. Errors are sentences.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    // What is wrong may quote the peer.
    let wrong = |error: serde_json::Error| {
        let what = words::shown(&error.to_string());
        format!("the answer is not that of a control plane: {what}")
    };
    serde_json::from_str(text).map_err(wrong)
}

/// O(n log n) for n proxies.
pub fn page(mesh: &Mesh) -> MeshPage {
    let Mesh { proxies, propagation, policies } = mesh;
    let listed = proxies::listed(proxies);
    let mut page = Overview {
        sentence: listed.sentence,
        counts: listed.counts,
        proxies: listed.rows,
        proxies_left_out: listed.left_out,
        policies: policies::policies(policies),
        propagation: propagation::propagation(propagation, proxies),
        marks: 0,
    };
    page.marks = page.count();
    MeshPage::Known(Box::new(page))
}

/// `cluster`: the only destination to show whole.
pub fn proxy(
    (mesh, dataplane): (&str, &str),
    inspection: &Inspection,
    proxies: &Proxies,
    cluster: Option<&str>,
) -> ProxyPage {
    inspected::page((mesh, dataplane), inspection, proxies, cluster)
}

/// The page without a control plane.
pub fn none() -> MeshPage {
    MeshPage::Nothing(NoControlPlane {
        sentence: "No control plane of a mesh is known here.".to_owned(),
        advice: "Start one with a sample mesh, or say where the admin pages of a running one are:",
        commands: vec![
            "evenkeel up --mesh",
            "evenkeel dashboard --control-plane-admin http://127.0.0.1:5680",
        ],
    })
}

/// The page until a control plane answers for the first time.
pub fn unreachable(problem: &str) -> MeshPage {
    MeshPage::Nothing(NoControlPlane {
        sentence: format!("The control plane does not answer: {}.", words::message(problem)),
        advice: "It is asked again and again. Whether it runs, and where:",
        commands: vec!["evenkeel status", "evenkeel mesh proxies"],
    })
}

// === impl Overview ===

impl Overview {
    fn count(&self) -> usize {
        let Overview { counts, proxies, policies, propagation, .. } = self;
        // A row with the words of its states.
        let proxies = 5 * proxies.len() + counts.len();
        let rows = policies.rows.len() + policies.findings.len() + propagation.rows.len();
        let figure = propagation.figure.as_ref().map_or(0, Drawing::marks);
        proxies + 2 * rows + figure + propagation.behind.len()
    }
}
