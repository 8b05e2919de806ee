//! `/debug/api_priority_and_fairness`: the levels, queues and requests as text, in Kubernetes' columns.
//!
//! Source: `k8s.io/apiserver/pkg/util/flowcontrol/apf_controller_debug.go`.

mod table;

use std::{sync::Arc, task::Waker, time::Duration};

use evenkeel_fairness::{
    Time,
    dispatcher::Level,
    queues::{RequestDump, Work, stats::RejectReason},
};
use http::{Method, Uri};
use jiff::{SignedDuration, Timestamp};

use self::table::Table;
use super::{
    Fairness,
    requests::{Detail, What, level_id},
};
use crate::{
    identity::{Attributes, On},
    request::info::RequestInfo,
};

/// The path below which dumps are served, and their names.
pub(crate) const DUMPS: (&str, [&str; 3]) =
    ("/debug/api_priority_and_fairness/", ["dump_priority_levels", "dump_queues", "dump_requests"]);

const LEVELS: &[&str] = &[
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];
const QUEUES: &[&str] = &[
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];
/// With Kubernetes' own spelling.
const REQUESTS: &[&str] = &[
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];
const DETAILS: &[&str] =
    &["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];
/// The start of a request that waits.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// One of [`DUMPS`], by its name; `None` if fairness is switched off.
pub(crate) fn dump(fairness: &Fairness, name: &str, details: bool) -> Option<String> {
    if !fairness.is_enabled() {
        return None;
    }
    let mut levels = fairness.layer.dispatcher().levels();
    levels.sort_by(|a, b| a.name.cmp(&b.name));
    Some(match name {
        "dump_priority_levels" => priority_levels(fairness, &levels),
        "dump_queues" => queues(&levels),
        _ => requests(fairness, &levels, details),
    })
}

type Levels = [Arc<Level<Waker>>];

fn priority_levels(fairness: &Fairness, levels: &Levels) -> String {
    let (limits, _) = fairness.layer.dispatcher().limits();
    let mut table = Table::new(LEVELS.iter().copied());
    for level in levels {
        let quiescing = limits.iter().any(|of| of.level == level.name && of.quiescing);
        let (dump, idle, [dispatched, rejected, cancelled]) = level.view(|view| {
            let mut counts = [0; 3];
            for (_, stats) in view.schemas() {
                let late = [RejectReason::TimeOut, RejectReason::Cancelled];
                counts[0] += stats.dispatched;
                counts[1] += stats.rejected.iter().sum::<u64>();
                counts[2] += late.iter().map(|why| stats.rejected[*why as usize]).sum::<u64>();
            }
            (view.set.dump(), view.set.is_idle(), counts)
        });
        let active = dump.queues.iter().filter(|queue| queue.waiting > 0).count();
        table.row([
            level.name.to_string(),
            active.to_string(),
            idle.to_string(),
            quiescing.to_string(),
            dump.waiting.to_string(),
            dump.executing.to_string(),
            dispatched.to_string(),
            rejected.to_string(),
            // Kubernetes counts timeouts as cancelled.
            "0".to_owned(),
            cancelled.to_string(),
        ]);
    }
    table.text()
}

fn queues(levels: &Levels) -> String {
    let mut table = Table::new(QUEUES.iter().copied());
    for level in levels {
        let dump = level.view(|view| view.set.dump());
        for (index, queue) in dump.queues.iter().enumerate() {
            table.row([
                level.name.to_string(),
                index.to_string(),
                queue.waiting.to_string(),
                queue.executing.to_string(),
                queue.seats_in_use.to_string(),
                seat_seconds(queue.next_dispatch_r),
                queue.initial_seats_sum.to_string(),
                queue.max_seats_sum.to_string(),
                seat_seconds(queue.total_work_sum),
            ]);
        }
    }
    table.text()
}

fn requests(fairness: &Fairness, levels: &Levels, details: bool) -> String {
    let clock = Clock { now: fairness.layer.now(), wall: Timestamp::now() };
    let more = if details { DETAILS } else { &[] };
    let mut table = Table::new(REQUESTS.iter().chain(more).copied());
    for level in levels {
        for (schema, request) in level.view(|view| view.requests()) {
            let detail = fairness.in_flight.find(level_id(level), request.ticket);
            let detail = detail.as_ref();
            let flow = detail.map(|detail| flow(fairness, detail)).unwrap_or_default();
            let shown = shown(&level.name, &schema, &request, flow, clock);
            let more = details.then(|| described(detail)).into_iter().flatten();
            table.row(shown.into_iter().chain(more));
        }
    }
    table.text()
}

fn shown(
    level: &str,
    schema: &str,
    request: &RequestDump,
    flow: String,
    clock: Clock,
) -> [String; 10] {
    let index = |of: Option<u32>| of.map_or_else(|| "-1".to_owned(), |index| index.to_string());
    [
        level.to_owned(),
        schema.to_owned(),
        index(request.queue),
        index(request.position),
        flow,
        clock.wall(request.arrived),
        request.width.initial_seats.to_string(),
        request.width.final_seats.to_string(),
        go_duration(request.width.additional_latency),
        request.dispatched.map_or_else(|| NEVER.to_owned(), |at| clock.wall(at)),
    ]
}

/// The flow distinguisher by the configuration that is in force now.
fn flow(fairness: &Fairness, detail: &Detail) -> String {
    with_attributes(detail, |attributes, _, _| {
        let asked = super::Asked { user: &detail.user, attributes, http: None };
        let (_, flow) = fairness.layer.dispatcher().classify(&super::request(&asked));
        flow.distinguisher.to_owned()
    })
}

fn described(detail: Option<&Detail>) -> [String; 8] {
    let Some(detail) = detail else { return Default::default() };
    with_attributes(detail, |attributes, path, version| {
        let (namespace, name, resource, subresource) = match attributes.on {
            On::Path(_) => ("", "", "", ""),
            On::Resource { namespace, name, resource, subresource, .. } => {
                (namespace, name, resource, subresource)
            }
        };
        let user = &*detail.user.name;
        [user, attributes.verb, path, namespace, name, version, resource, subresource]
            .map(str::to_owned)
    })
}

/// Calls `then` with the attributes, the path and the API version of a request.
fn with_attributes<T>(detail: &Detail, then: impl FnOnce(&Attributes<'_>, &str, &str) -> T) -> T {
    match &detail.what {
        What::Http(method, uri) => of_http(method, uri, then),
        What::Own { verb, group, resource, namespace, name } => {
            let subresource = "";
            let on = On::Resource { group, resource, subresource, namespace, name };
            then(&Attributes { verb, on, field_selector: "" }, "", "v1")
        }
    }
}

fn of_http<T>(
    method: &Method,
    uri: &Uri,
    then: impl FnOnce(&Attributes<'_>, &str, &str) -> T,
) -> T {
    let info = RequestInfo::new(method, uri);
    let attributes = info.attributes();
    let version = match attributes.on {
        On::Path(_) => "",
        On::Resource { .. } => api_version(uri.path()),
    };
    then(&attributes, uri.path(), version)
}

fn api_version(path: &str) -> &str {
    let mut parts = path.trim_matches('/').split('/');
    match parts.next() {
        Some("api") => parts.next().unwrap_or_default(),
        _ => parts.nth(1).unwrap_or_default(),
    }
}

fn seat_seconds(work: Work) -> String {
    format!("{:.8}ss", work.seat_seconds())
}

/// As Go prints durations; those of requests are below a minute.
fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, name) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let fraction = format!("{:09}", (nanos % unit) * (1_000_000_000 / unit));
    match fraction.trim_end_matches('0') {
        "" => format!("{}{name}", nanos / unit),
        digits => format!("{}.{digits}{name}", nanos / unit),
    }
}

/// Converts times of the layer.
#[derive(Clone, Copy)]
struct Clock {
    now: Time,
    wall: Timestamp,
}

impl Clock {
    fn wall(self, time: Time) -> String {
        let ago = SignedDuration::try_from(self.now - time).unwrap_or(SignedDuration::MAX);
        self.wall.checked_sub(ago).unwrap_or(self.wall).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_in_go() {
        for (nanos, shown) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5\u{b5}s"),
            (5_000_000, "5ms"),
            (12_500_000, "12.5ms"),
            (1_000_000_001, "1.000000001s"),
        ] {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), shown);
        }
    }

    #[test]
    fn the_version_of_an_api_is_in_its_path() {
        assert_eq!(api_version("/api/v1/pods"), "v1");
        assert_eq!(api_version("/apis/apps/v1/deployments"), "v1");
    }
}
