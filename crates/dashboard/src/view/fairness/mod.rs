//! The page about priority and fairness: who has seats, who waits for whom, who was rejected.
//!
//! ```text
//!   dumps, metrics, objects ─► Reading ─┬─► levels: what is known of each ─► lanes, flows, sentence
//!                                       ├─► heat: queues
//!                 History ─► Since ─────┴─► served: rates, rejections
//! ```
//!
//! Figures are measured: the server counts them. What a part that could not be read would have said is
//! unknown.

mod dumps;
mod figures;
mod flows;
mod heat;
mod history;
mod lanes;
mod levels;
mod metrics;
mod reading;
mod request;
mod sentence;
mod served;
mod table;

use evenkeel_fairness::matching::RequestSpec;
use jiff::Timestamp;
use serde::Serialize;

pub use self::{
    dumps::{Dump, LevelRow, QueueRow, RequestRow},
    flows::FlowRow,
    heat::{HeatCell, HeatMap, Queues},
    history::{History, Since},
    lanes::{Lane, LaneBar},
    metrics::{Counts, Limits, Metrics},
    reading::{Absent, Listed, Missing, Part, Reading, Texts},
    request::{RequestView, TriedRow},
    served::{Rejection, RuleRow, Served},
};
use self::{figures::counted, lanes::LANE_MARKS};
use super::words::Number;

/// Objects that are ignored and shown.
const MOST_IGNORED: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FairnessPage {
    pub sentence: String,
    /// Seats in use by requests that need one.
    pub used: Number,
    /// Nominal seats of all levels.
    pub seats: Number,
    pub waiting: Number,
    pub missing: Vec<Missing>,
    pub lanes: Vec<Lane>,
    pub lanes_left_out: usize,
    pub queues: Queues,
    pub flows: Vec<FlowRow>,
    pub flows_left_out: usize,
    pub flows_note: String,
    /// `None`: unknown.
    pub served: Option<Served>,
    /// Objects that the server ignores, with the reason.
    pub ignored: Vec<String>,
    pub ignored_left_out: usize,
    /// What was asked for.
    pub request: Option<RequestView>,
    /// Elements that the page needs.
    pub marks: usize,
}

/// `now` is by the clock of the server. O(n log n) in what was read.
pub fn page(reading: &Reading, since: Option<&Since>, now: Timestamp) -> FairnessPage {
    let levels = levels::levels(reading, now);
    let (flows, flows_left_out) = flows::flows(&levels);
    let metrics = reading.metrics.as_deref().ok();
    let totals = sentence::Totals::of(&levels);
    let ignored = reading.ignored.iter().take(MOST_IGNORED);
    let mut page = FairnessPage {
        sentence: sentence::sentence(reading, &levels, &totals, since),
        used: counted(totals.used),
        seats: counted(totals.seats),
        waiting: counted(totals.waiting),
        missing: reading.missing(),
        lanes_left_out: levels.len().saturating_sub(lanes::MOST_LANES),
        lanes: lanes::lanes(&levels),
        queues: heat::queues(reading),
        flows,
        flows_left_out,
        flows_note: flows::note(reading),
        served: metrics.map(|metrics| served::served(metrics, since)),
        ignored: ignored.map(|why| super::words::shown(why)).collect(),
        ignored_left_out: reading.ignored.len().saturating_sub(MOST_IGNORED),
        request: None,
        marks: 0,
    };
    page.marks = page.count();
    page
}

// === impl FairnessPage ===

impl FairnessPage {
    /// The same with what somebody asks for.
    pub fn with_request(&self, reading: &Reading, spec: &RequestSpec) -> FairnessPage {
        let request = Some(request::request(reading.config.as_deref().ok(), spec));
        let mut page = FairnessPage { request, ..self.clone() };
        page.marks = page.count();
        page
    }

    fn count(&self) -> usize {
        let served = self.served.as_ref();
        let served = served.map_or(0, |served| served.rules.len() + served.rejections.len());
        let request = self.request.as_ref().map_or(0, RequestView::marks);
        let lists = self.flows.len() + self.missing.len() + self.ignored.len();
        LANE_MARKS * self.lanes.len() + self.queues.marks() + lists + served + request
    }
}
