//! Where requests went, as text and JSON. Pure.

use std::{collections::BTreeMap, fmt, fmt::Write as _, io, net::SocketAddr};

use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::json;

use super::{Sender, request::Answer};
use crate::{
    error::{Error, counted},
    printer::{BAD, GOOD, styled},
    table::{Table, percent},
};

/// The outcome of all requests.
#[derive(Debug)]
pub(crate) struct Report {
    sender: Sender,
    url: String,
    to: SocketAddr,
    answers: BTreeMap<Answer, usize>,
    failures: BTreeMap<Failure, usize>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Failure {
    Refused,
    TimedOut,
    Unreachable,
    /// It was connected.
    NoResponse,
    Broken(String),
    /// Not what a sandbox Pod says.
    Unexpected(String),
    Other(String),
}

// === impl Report ===

impl Report {
    pub(super) fn new(sender: Sender, url: String, to: SocketAddr) -> Report {
        Report { sender, url, to, answers: BTreeMap::new(), failures: BTreeMap::new() }
    }

    pub(super) fn count(&mut self, outcome: Result<Answer, Failure>) {
        match outcome {
            Ok(answer) => *self.answers.entry(answer).or_default() += 1,
            Err(failure) => *self.failures.entry(failure).or_default() += 1,
        }
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// If no request was answered, all for the same reason.
    pub(super) fn only_failure(&self) -> Option<&Failure> {
        let is_only = self.answers.is_empty() && self.failures.len() == 1;
        is_only.then(|| self.failures.keys().next()).flatten()
    }

    /// One line for one answer, a table for more; failures that are an error by themselves are not
    /// in it.
    pub(super) fn text(&self) -> String {
        let (n_answers, n_failures) = (sum(&self.answers), sum(&self.failures));
        match self.answers.first_key_value() {
            Some((answer, 1)) if n_answers + n_failures == 1 => {
                format!("{} -> {} -> {answer}\n", self.from(), self.to)
            }
            None if self.only_failure().is_some() => String::new(),
            _ => self.table(n_answers, n_failures),
        }
    }

    fn table(&self, n_answers: usize, n_failures: usize) -> String {
        let n = n_answers + n_failures;
        let mut text = format!("{} -> {} ({})\n\n", self.from(), self.to, self.url);
        if n_answers > 0 {
            let _ = writeln!(text, "{}", self.rows(n).render(""));
        }
        let failed =
            styled(if n_failures == 0 { GOOD } else { BAD }, format!("{n_failures} failed"));
        let mut parts = vec![counted(n, "request"), failed];
        parts.extend(
            self.zones().map(|(zone, count)| format!("{} in {}", share(count, n), named(zone))),
        );
        let _ = writeln!(text, "{}", parts.join(", "));
        for (failure, count) in &self.failures {
            let _ = writeln!(text, "  {count} x {failure}: {}", failure.help());
        }
        text
    }

    fn rows(&self, n: usize) -> Table {
        let mut table = Table::new(&["ZONE", "NODE", "POD", "REQUESTS", "SHARE"]);
        let mut rows: Vec<_> = self.answers.iter().collect();
        rows.sort_by_key(|(answer, _)| (&answer.zone, &answer.node, &answer.pod));
        for (Answer { pod, node, zone, .. }, count) in rows {
            let cells = [zone, node, pod].map(String::clone).into_iter();
            table.row(cells.chain([count.to_string(), share(*count, n)]));
        }
        table
    }

    fn zones(&self) -> impl Iterator<Item = (&str, usize)> {
        let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
        for (answer, count) in &self.answers {
            *zones.entry(answer.zone.as_str()).or_default() += count;
        }
        zones.into_iter()
    }

    fn from(&self) -> String {
        let Sender { node, zone, pod, .. } = &self.sender;
        let node = if zone.is_empty() { node.clone() } else { format!("{node} ({zone})") };
        pod.as_ref().map_or(node.clone(), |pod| format!("{pod} on {node}"))
    }
}

fn named(zone: &str) -> &str {
    if zone.is_empty() { "no zone" } else { zone }
}

fn share(count: usize, n: usize) -> String {
    percent(count as f64 / n.max(1) as f64)
}

fn sum<K>(counts: &BTreeMap<K, usize>) -> usize {
    counts.values().sum()
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Sender { node, zone, pod, netns, .. } = &self.sender;
        let answer = |(one, count): (&Answer, &usize)| {
            let Answer { pod, namespace, node, zone } = one;
            json!({"pod": pod, "namespace": namespace, "node": node, "zone": zone, "requests": count})
        };
        let failure = |(one, count): (&Failure, &usize)| json!({"problem": one.to_string(), "requests": count});
        let mut report = serializer.serialize_struct("Report", 5)?;
        let from = json!({"node": node, "zone": zone, "pod": pod, "networkNamespace": netns});
        report.serialize_field("from", &from)?;
        report.serialize_field("to", &json!({"url": self.url, "address": self.to}))?;
        report.serialize_field("requests", &(sum(&self.answers) + sum(&self.failures)))?;
        report.serialize_field("answers", &self.answers.iter().map(answer).collect::<Vec<_>>())?;
        report
            .serialize_field("failures", &self.failures.iter().map(failure).collect::<Vec<_>>())?;
        report.end()
    }
}

// === impl Answer ===

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer { pod, node, zone, .. } = self;
        write!(f, "{pod} on {node}")?;
        if zone.is_empty() { Ok(()) } else { write!(f, " ({zone})") }
    }
}

// === impl Failure ===

impl Failure {
    pub(super) fn error(&self) -> Error {
        Error::Unanswered { failure: self.to_string(), help: self.help() }
    }

    /// In a word or two, without what differs from one request to the next.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Failure::Refused => "connection refused",
            Failure::TimedOut => "timed out",
            Failure::Unreachable => "address unreachable",
            Failure::NoResponse => "no response",
            Failure::Broken(_) => "connection broke",
            Failure::Unexpected(_) => "unexpected response",
            Failure::Other(_) => "not sent",
        }
    }

    /// What to do about it.
    fn help(&self) -> &'static str {
        match self {
            Failure::Refused => {
                "the Service has no ready endpoint or no such port (kubectl get services,endpointslices)"
            }
            Failure::TimedOut => "packets are lost or dropped; check the rules (nft list ruleset)",
            Failure::Unreachable => {
                "no rule is in force for this address; check the proxy's log (evenkeel up -v)"
            }
            Failure::NoResponse | Failure::Broken(_) => "the Pod may have ended; send it again",
            Failure::Unexpected(_) => "the address is not that of a sandbox Pod; use plain curl",
            Failure::Other(_) => "check that `evenkeel up --proxy` still runs",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused => f.write_str("connection refused"),
            Failure::TimedOut => f.write_str("timed out"),
            Failure::Unreachable => f.write_str("address unreachable"),
            Failure::NoResponse => f.write_str("connected, but no response in time"),
            Failure::Broken(problem) => write!(f, "connection broke: {problem}"),
            Failure::Unexpected(text) => write!(f, "unexpected response: {text:?}"),
            Failure::Other(problem) => f.write_str(problem),
        }
    }
}

impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Failure {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused => Failure::Refused,
            Kind::TimedOut => Failure::TimedOut,
            Kind::HostUnreachable | Kind::NetworkUnreachable => Failure::Unreachable,
            Kind::ConnectionReset | Kind::BrokenPipe => Failure::Broken(error.to_string()),
            _ => Failure::Other(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pod: &str, zone: &str) -> Answer {
        let (pod, node) = (pod.to_owned(), format!("node-{pod}"));
        Answer { pod, namespace: "shop".to_owned(), node, zone: zone.to_owned() }
    }

    fn report(outcomes: Vec<Result<Answer, Failure>>) -> Report {
        let sender = Sender {
            node: "node-a1".to_owned(),
            zone: "zone-a".to_owned(),
            pod: None,
            source: None,
            netns: "evenkeel-node-a1".to_owned(),
        };
        let mut report = Report::new(sender, "web.shop".to_owned(), ([10, 96, 0, 9], 80).into());
        outcomes.into_iter().for_each(|outcome| report.count(outcome));
        report
    }

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&report.text()).to_string()
    }

    #[test]
    fn one_request_is_one_line() {
        let one = report(vec![Ok(answer("web-1", "zone-b"))]);
        let expected = "node-a1 (zone-a) -> 10.96.0.9:80 -> web-1 on node-web-1 (zone-b)\n";
        assert_eq!(plain(&one), expected);
        let failed = report(vec![Err(Failure::Refused)]);
        assert_eq!((plain(&failed).as_str(), failed.only_failure()), ("", Some(&Failure::Refused)));
    }

    #[test]
    fn many_are_summed_up_by_pod_and_zone() {
        let some = |pod, zone| vec![Ok(answer(pod, zone)); 2];
        let outcomes =
            [some("web-1", "zone-b"), some("web-2", "zone-a"), vec![Err(Failure::TimedOut)]];
        let many = report(outcomes.concat());
        let text = plain(&many);
        let expected = "\
node-a1 (zone-a) -> 10.96.0.9:80 (web.shop)

ZONE     NODE         POD     REQUESTS   SHARE
zone-a   node-web-2   web-2   2          40 %
zone-b   node-web-1   web-1   2          40 %

5 requests, 1 failed, 40 % in zone-a, 40 % in zone-b
  1 x timed out: packets are lost or dropped; check the rules (nft list ruleset)
";
        assert_eq!(text, expected);
        assert!(many.has_failures() && many.only_failure().is_none());
        let value = serde_json::to_value(&many).unwrap();
        assert_eq!((&value["requests"], &value["answers"][0]["requests"]), (&5.into(), &2.into()));
        assert_eq!(value["failures"][0]["problem"], "timed out");
    }
}
