//! The dumps of `/debug/api_priority_and_fairness`.

use jiff::Timestamp;

use super::table::{self, Rows};

/// The rows of a dump.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump<T> {
    pub rows: Vec<T>,
    /// Malformed, or beyond the bounds.
    pub unread: usize,
    /// Requests that run are not in it.
    pub waiting_only: bool,
}

/// A row of `dump_priority_levels`. Kubernetes writes `<none>` for what a level does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRow {
    pub name: String,
    pub waiting: Option<u64>,
    /// Removed from the configuration, and still with requests.
    pub quiescing: bool,
}

/// A row of `dump_queues`.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    pub level: String,
    pub index: u32,
    pub waiting: u64,
    pub executing: u64,
    pub seats: u64,
}

/// A row of `dump_requests`.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRow {
    pub level: String,
    pub schema: String,
    /// The flow distinguisher.
    pub flow: String,
    pub arrived: Timestamp,
    pub seats: u64,
    /// Waits for a seat; otherwise it has one.
    pub waits: bool,
}

const NAME: &str = "PriorityLevelName";
/// With Kubernetes' own spelling.
const FLOW: &str = "FlowDistingsher";
/// The start of a request that waits.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// `None`: the text is not this dump.
pub(super) fn levels(text: &str) -> Option<Dump<LevelRow>> {
    let rows = table::rows(text, [NAME, "WaitingRequests", "IsQuiescing"], FLOW)?;
    Some(dump(rows, |[name, waiting, quiescing]| {
        let waiting = number(waiting)?;
        Some(LevelRow { name: name.to_owned(), waiting, quiescing: quiescing == "true" })
    }))
}

pub(super) fn queues(text: &str) -> Option<Dump<QueueRow>> {
    let wanted = [NAME, "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse"];
    let mut rows = table::rows(text, wanted, FLOW)?;
    rows.rows.retain(|[_, index, ..]| *index != "<none>");
    Some(dump(rows, |[level, index, waiting, executing, seats]| {
        Some(QueueRow {
            level: level.to_owned(),
            index: index.parse().ok()?,
            waiting: waiting.parse().ok()?,
            executing: executing.parse().ok()?,
            seats: seats.parse().ok()?,
        })
    }))
}

pub(super) fn requests(text: &str) -> Option<Dump<RequestRow>> {
    let wanted @ [name, schema, flow, arrived, seats] =
        [NAME, "FlowSchemaName", FLOW, "ArriveTime", "InitialSeats"];
    let all = [name, schema, flow, arrived, seats, "StartTime"];
    if let Some(mut rows) = table::rows(text, all, FLOW) {
        rows.rows.retain(|[_, schema, ..]| *schema != "<none>");
        return Some(dump(rows, |[level, schema, flow, arrived, seats, start]| {
            let waits = start == NEVER;
            if !waits {
                start.parse::<Timestamp>().ok()?;
            }
            request([level, schema, flow, arrived, seats], waits)
        }));
    }
    // An earlier Kubernetes has no column for the start, and no rows of requests that run.
    let mut rows = table::rows(text, wanted, FLOW)?;
    rows.rows.retain(|[_, schema, ..]| *schema != "<none>");
    Some(Dump { waiting_only: true, ..dump(rows, |cells| request(cells, true)) })
}

fn request([level, schema, flow, arrived, seats]: [&str; 5], waits: bool) -> Option<RequestRow> {
    Some(RequestRow {
        level: level.to_owned(),
        schema: schema.to_owned(),
        flow: flow.to_owned(),
        arrived: arrived.parse().ok()?,
        seats: seats.parse().ok()?,
        waits,
    })
}

fn dump<T, const N: usize>(table: Rows<'_, N>, read: impl Fn([&str; N]) -> Option<T>) -> Dump<T> {
    let all = table.rows.len();
    let rows: Vec<T> = table.rows.into_iter().filter_map(read).collect();
    Dump { unread: table.unread + all - rows.len(), rows, waiting_only: false }
}

/// The outer `None`: neither a number nor `<none>`.
fn number(cell: &str) -> Option<Option<u64>> {
    match cell {
        "<none>" => Some(None),
        digits => digits.parse().ok().map(Some),
    }
}

// === impl Dump ===

impl<T> Dump<T> {
    /// Whether every row was read, so that a sum over them is one over all.
    pub fn is_whole(&self) -> bool {
        self.unread == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, \
                        FlowDistingsher, ArriveTime, InitialSeats, FinalSeats, AdditionalLatency, StartTime\n";

    #[test]
    fn a_user_whose_name_looks_like_cells_is_one_flow() {
        let name = "eve, 2026-01-01T00:00:00Z, 900, 0, 0s, 0001-01-01T00:00:00Z";
        let row = format!(
            "low, low, 3, -1, {name}, 2026-11-19T21:00:00.5Z, 2, 0, 0s, 2026-11-19T21:00:01Z"
        );
        let read = requests(&format!("{HEAD}{row}\n")).unwrap();
        assert_eq!(read.unread, 0);
        let [one] = &read.rows[..] else { panic!("{read:?}") };
        assert_eq!((one.flow.as_str(), one.seats, one.waits), (name, 2, false));
    }

    #[test]
    fn what_is_not_a_request_is_counted() {
        let rows = "low, low, 3, 0, eve, yesterday, 2, 0, 0s, 0001-01-01T00:00:00Z\n\
                    low, low, 3, 0, eve, 2026-11-19T21:00:00Z, -2, 0, 0s, 0001-01-01T00:00:00Z\n\
                    low, low, 3, 0, eve, 2026-11-19T21:00:00Z, 2, 0, 0s, soon\n\
                    exempt, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>, <none>\n";
        let read = requests(&format!("{HEAD}{rows}")).unwrap();
        assert_eq!((read.rows.len(), read.unread), (0, 3), "a level without queues is no request");
    }

    #[test]
    fn an_earlier_kubernetes_has_only_requests_that_wait() {
        let head = HEAD.replace(", StartTime", "");
        let row = "low, low, 3, 0, a, b, 2026-11-19T21:00:00.5Z, 2, 0, 0s";
        let read = requests(&format!("{head}{row}\n")).unwrap();
        assert!(read.waiting_only && read.unread == 0);
        assert_eq!((read.rows[0].flow.as_str(), read.rows[0].waits), ("a, b", true));
    }

    #[test]
    fn a_level_without_queues_has_unknown_numbers() {
        let head = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests\n";
        let read = levels(&format!(
            "{head}exempt, <none>, <none>, <none>, <none>, <none>\nlow, 0, true, false, 7, 0\n\
             bad, 0, true, false, -7, 0\n"
        ))
        .unwrap();
        let waiting: Vec<Option<u64>> = read.rows.iter().map(|row| row.waiting).collect();
        assert_eq!((waiting, read.unread), (vec![None, Some(7)], 1));
    }
}
