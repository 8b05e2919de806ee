//! `fair_dispatch.jsonl`: exact traces of one level. Arrivals are fed as given; of what happens at
//! the same instant, the order is reconfigurations, seats that no longer linger, completions,
//! time-outs, arrivals.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evenkeel_fairness::{
    Settings, Time, Width,
    config::{Handling, Queuing},
    queues::{self, Arrival, QueueSet, SeatLimit, Ticket, Verdict, stats::RejectReason},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
struct Case {
    config: Shape,
    flows: BTreeMap<String, String>,
    arrivals: Vec<Request>,
    #[serde(default)]
    reconfigure: Vec<Change>,
    expect: Value,
}

#[derive(Deserialize)]
struct Shape {
    queues: i64,
    #[serde(default)]
    hand_size: u32,
    #[serde(default)]
    queue_length_limit: u32,
    concurrency_limit: u32,
    estimated_service_duration_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Change {
    t_ns: u64,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(Deserialize)]
struct Request {
    id: usize,
    flow: String,
    t_ns: u64,
    duration_ns: u64,
    initial_seats: u32,
    #[serde(default)]
    final_seats: u32,
    #[serde(default)]
    additional_latency_ns: u64,
    wait_limit_ns: Option<u64>,
}

pub(super) fn run(case: Value) -> Outcome {
    let case = &serde_json::from_value::<Case>(case)?;
    let mut replay = Replay::new(case);
    while let Some(now) = replay.next() {
        replay.at(now);
    }
    let got = replay.result();
    let mut expected = case.expect.clone();
    if let Some(fields) = expected.as_object_mut() {
        // Sums of floating point numbers; what they sum is compared exactly.
        for flow in fields["per_flow"].as_object_mut().into_iter().flat_map(|f| f.values_mut()) {
            if let Some(flow) = flow.as_object_mut() {
                flow.retain(|key, _| !key.starts_with("seat_seconds"));
            }
        }
    }
    Ok(diff("", &expected, &got))
}

struct Replay<'c> {
    case: &'c Case,
    set: QueueSet<usize>,
    /// By index into the arrivals, which are in order.
    requests: Vec<Seen>,
    tickets: Vec<Option<Ticket>>,
    running: BTreeSet<(Time, usize)>,
    arrived: usize,
    changed: usize,
    order: Vec<usize>,
    longest: u32,
    end: Time,
}

#[derive(Default)]
struct Seen {
    outcome: &'static str,
    queue: Option<u32>,
    dispatched: Option<(Time, usize)>,
    r: u64,
}

impl<'c> Replay<'c> {
    fn new(case: &'c Case) -> Self {
        let (handling, seats) = shape(&case.config);
        let mut settings = Settings::kubernetes();
        let guess = case.config.estimated_service_duration_ns;
        settings.guess = guess.map_or(settings.guess, Duration::from_nanos);
        let mut set = QueueSet::new(Time(0), handling, seats, &settings);
        set.schemas_mut().push(Default::default());
        let n = case.arrivals.len();
        Replay {
            case,
            set,
            requests: (0..n).map(|_| Seen::default()).collect(),
            tickets: vec![None; n],
            running: BTreeSet::new(),
            arrived: 0,
            changed: 0,
            order: Vec::new(),
            longest: 0,
            end: Time(0),
        }
    }

    fn next(&self) -> Option<Time> {
        let arrival = self.case.arrivals.get(self.arrived).map(|a| Time(a.t_ns));
        let change = self.case.reconfigure.get(self.changed).map(|c| Time(c.t_ns));
        let completion = self.running.first().map(|(at, _)| *at);
        [arrival, change, completion, self.set.next_deadline()].into_iter().flatten().min()
    }

    fn at(&mut self, now: Time) {
        let mut woken = Vec::new();
        while let Some(change) = self.due_change(now) {
            let (handling, seats) = shape(&change.shape);
            self.set.reconfigure(now, handling, seats, &mut woken);
            self.changed += 1;
        }
        self.set.release(now, 0, &mut woken);
        self.hear(now, &mut woken);
        while let Some((_, id)) = self.running.first().copied().filter(|(at, _)| *at <= now) {
            self.running.pop_first();
            let ticket = self.tickets[id].take().expect("it runs");
            self.set.leave(now, ticket, 0, &mut woken);
            self.hear(now, &mut woken);
        }
        self.set.expire(now, &mut woken);
        self.hear(now, &mut woken);
        while self.case.arrivals.get(self.arrived).is_some_and(|a| Time(a.t_ns) <= now) {
            self.arrive(now, self.arrived);
            self.arrived += 1;
        }
        self.end = now;
    }

    fn due_change(&self, now: Time) -> Option<&'c Change> {
        self.case.reconfigure.get(self.changed).filter(|change| Time(change.t_ns) <= now)
    }

    fn arrive(&mut self, now: Time, id: usize) {
        let request = &self.case.arrivals[id];
        let arrival = Arrival {
            flow: self.case.flows[&request.flow].parse().expect("a hash"),
            width: Width {
                initial_seats: request.initial_seats,
                final_seats: request.final_seats,
                additional_latency: Duration::from_nanos(request.additional_latency_ns),
            },
            wait_until: request.wait_limit_ns.map_or(Time::MAX, |wait| Time(now.0 + wait)),
            ..Arrival::default()
        };
        let mut woken = Vec::new();
        let outcome = self.set.arrive(now, arrival, || id, &mut woken);
        self.requests[id].r = self.set.r().0;
        match outcome {
            queues::Outcome::Dispatched(ticket) => {
                self.requests[id].queue = self.set.queue_of(ticket);
                self.tickets[id] = Some(ticket);
                // Others may have gone before it.
                woken.push(id);
                let number = |id: &usize| self.set.dispatch_number(self.tickets[*id]?);
                woken.sort_by_key(number);
            }
            queues::Outcome::Waiting(ticket) => {
                self.requests[id].outcome = "never_dispatched";
                self.requests[id].queue = self.set.queue_of(ticket);
                self.tickets[id] = Some(ticket);
            }
            queues::Outcome::Rejected(RejectReason::QueueFull) => {
                self.requests[id].outcome = "rejected_queue_full";
            }
            queues::Outcome::Rejected(_) => {
                self.requests[id].outcome = "rejected_concurrency_limit";
            }
        }
        self.hear(now, &mut woken);
        let lengths = self.set.dump().queues.into_iter().map(|queue| queue.waiting);
        self.longest = self.longest.max(lengths.max().unwrap_or(0));
    }

    /// The state of the requests that were woken.
    fn hear(&mut self, now: Time, woken: &mut Vec<usize>) {
        for id in woken.drain(..) {
            let ticket = self.tickets[id].expect("it waited");
            match self.set.verdict(ticket, |_| id) {
                Verdict::Dispatched => self.run(now, id),
                Verdict::Rejected(_) => self.requests[id].outcome = "timed_out",
                Verdict::Waiting => self.requests[id].outcome = "woken in vain",
            }
        }
    }

    fn run(&mut self, now: Time, id: usize) {
        self.requests[id].outcome = "executed";
        self.requests[id].dispatched = Some((now, self.order.len()));
        self.order.push(id);
        self.running.insert((Time(now.0 + self.case.arrivals[id].duration_ns), id));
    }

    fn result(&self) -> Value {
        json!({
            "requests": (0..self.requests.len()).map(|id| self.request(id)).collect::<Vec<_>>(),
            "dispatch_order": self.order,
            "max_queue_length_seen": self.longest,
            "end_t_ns": self.end.0,
            "final_r": self.set.r().0.to_string(),
            "per_flow": self.case.flows.keys().map(|f| (f.clone(), self.flow(f))).collect::<BTreeMap<_, _>>(),
        })
    }

    fn request(&self, id: usize) -> Value {
        let seen = &self.requests[id];
        let mut value = json!({
            "id": self.case.arrivals[id].id,
            "outcome": seen.outcome,
            "r_at_arrival": seen.r.to_string(),
        });
        if let Some(queue) = seen.queue {
            value["queue"] = queue.into();
        }
        if let Some((at, seq)) = seen.dispatched {
            value["dispatch_t_ns"] = at.0.into();
            value["dispatch_seq"] = seq.into();
        }
        value
    }

    fn flow(&self, name: &str) -> Value {
        let of = || {
            let pairs = self.case.arrivals.iter().zip(&self.requests);
            pairs.filter(|(arrival, _)| arrival.flow == name)
        };
        let count = |begin: &str| of().filter(|(_, r)| r.outcome.starts_with(begin)).count();
        let waits = of().filter_map(|(a, r)| Some(r.dispatched?.0.0 - a.t_ns));
        json!({
            "arrived": of().count(),
            "executed": count("executed"),
            "rejected_on_arrival": count("rejected"),
            "timed_out": count("timed_out"),
            "max_wait_ns": waits.max().unwrap_or(0),
        })
    }
}

fn shape(shape: &Shape) -> (Handling, SeatLimit) {
    let &Shape { queues, hand_size, queue_length_limit, concurrency_limit, .. } = shape;
    let handling = match u32::try_from(queues) {
        Err(_) => Handling::Exempt,
        Ok(0) => Handling::Reject,
        Ok(queues) => Handling::Queue(Queuing { queues, hand_size, queue_length_limit }),
    };
    (handling, SeatLimit { limit: concurrency_limit, nominal: concurrency_limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three seats, one of them in use. A request for all three blocks the next flow's until it
    /// times out; Kubernetes looks again at the next arrival only, which is of that flow. Both go
    /// then, in the order of their queue: derived from `dispatchAsMuchAsPossibleLocked`.
    #[test]
    fn when_a_wide_head_times_out_who_waited_longer_goes_before_the_newcomer() {
        let request = |id: usize, flow: &str, ms: u64, seats: u32, wait_ms: Option<u64>| {
            json!({
                "id": id, "flow": flow, "t_ns": ms * 1_000_000, "duration_ns": 100_000_000,
                "initial_seats": seats, "wait_limit_ns": wait_ms.map(|ms| ms * 1_000_000),
            })
        };
        let config = json!({
            "queues": 3, "hand_size": 1, "queue_length_limit": 9, "concurrency_limit": 3,
            "estimated_service_duration_ns": 3_000_000,
        });
        let case = json!({
            "config": config,
            "flows": {"running": "0", "wide": "1", "other": "2"},
            "arrivals": [
                request(0, "running", 0, 1, None),
                request(1, "wide", 1, 3, Some(20)),
                request(2, "other", 19, 1, None),
                request(3, "other", 30, 1, None),
            ],
            "expect": {},
        });
        let case = serde_json::from_value::<Case>(case).unwrap();
        let mut replay = Replay::new(&case);
        while let Some(now) = replay.next() {
            replay.at(now);
        }
        let got = replay.result();
        assert_eq!(got["requests"][1]["outcome"], "timed_out");
        assert_eq!(got["requests"][2]["dispatch_t_ns"], 30_000_000);
        assert_eq!(got["requests"][3]["dispatch_t_ns"], 30_000_000);
        assert_eq!(got["dispatch_order"], json!([0, 2, 3]));
    }
}
