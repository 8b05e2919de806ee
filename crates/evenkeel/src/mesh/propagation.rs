//! `evenkeel mesh propagation`: how long changes took, and who is behind.

use std::fmt::Write;

use evenkeel_model::harmless;
use serde::Deserialize;
use serde_json::json;

use super::{
    admin,
    args::LiveArgs,
    proxies::{Peer, Proxies},
};
use crate::{analyze::Format, error::Error, output, printer, table::Table};

/// Changes that are listed, and proxies that are named.
const LISTED: usize = 20;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Changes {
    changes: Vec<Change>,
}

/// Times are milliseconds since the change was received.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    id: u64,
    what: String,
    age_seconds: f64,
    computed: f64,
    streams: u32,
    sent: Stage,
    acknowledged: Stage,
    rejected: u32,
    behind: u32,
}

#[derive(Debug, Deserialize)]
struct Stage {
    streams: u32,
    p50: f64,
    p99: f64,
}

pub(super) fn run(args: &LiveArgs) -> Result<(), Error> {
    let admin = &admin::url(args.control_plane_admin.as_deref());
    let mut value = admin::page(admin, "/mesh/propagation")?;
    let page = admin::page(admin, "/mesh/proxies")?;
    let proxies: Proxies = admin::decoded(admin, &page)?;
    let behind = behind(&proxies);
    let changes: Changes = admin::decoded(admin, &value)?;
    if let Some(fields) = value.as_object_mut() {
        let behind = behind.iter().map(|(change, peer)| {
            json!({"mesh": peer.mesh, "dataplane": peer.dataplane, "oldestChange": change})
        });
        fields.insert("behind".to_owned(), behind.collect());
    }
    printer::data(&match args.output {
        Format::Text => render(&changes, &behind),
        Format::Json => output::json(&value)?,
        Format::Yaml => output::yaml(&value)?,
    })
}

/// Proxies that have not acknowledged a change, the longest behind first.
fn behind(proxies: &Proxies) -> Vec<(u64, &Peer)> {
    let peers = proxies.proxies.iter();
    let behind = peers.filter_map(|peer| Some((peer.oldest_unacknowledged_change?, peer)));
    let mut behind: Vec<(u64, &Peer)> = behind.collect();
    behind.sort_by_key(|(change, peer)| (*change, &peer.mesh, &peer.dataplane));
    behind
}

fn render(changes: &Changes, behind: &[(u64, &Peer)]) -> String {
    let Changes { changes } = changes;
    if changes.is_empty() {
        return "No change since the control plane started\n".to_owned();
    }
    let heading = [
        "ID",
        "AGE",
        "COMPUTED",
        "SENT P50",
        "P99",
        "ACKED P50",
        "P99",
        "ACKED",
        "REJECTED",
        "BEHIND",
        "CHANGE",
    ];
    let mut table = Table::new(&heading);
    for change in changes.iter().take(LISTED) {
        table.row(row(change));
    }
    let mut text = table.render("");
    if changes.len() > LISTED {
        let more = changes.len() - LISTED;
        let _ = writeln!(text, "and {more} more (-o json shows all)");
    }
    if behind.is_empty() {
        let _ = writeln!(text, "\nNo proxy is behind");
        return text;
    }
    text.push('\n');
    for (change, peer) in behind.iter().take(LISTED) {
        let line = format!("{}/{}: behind since change {change}", peer.mesh, peer.dataplane);
        let _ = writeln!(text, "{}", harmless(&line));
    }
    if behind.len() > LISTED {
        let _ = writeln!(text, "and {} more proxies are behind", behind.len() - LISTED);
    }
    text
}

fn row(change: &Change) -> [String; 11] {
    let time = |stage: &Stage, value: f64| match stage.streams {
        0 => "-".to_owned(),
        _ => millis(value),
    };
    let Change { sent, acknowledged: acked, .. } = change;
    [
        change.id.to_string(),
        millis(change.age_seconds * 1000.0),
        millis(change.computed),
        time(sent, sent.p50),
        time(sent, sent.p99),
        time(acked, acked.p50),
        time(acked, acked.p99),
        format!("{} of {}", acked.streams, change.streams),
        change.rejected.to_string(),
        change.behind.to_string(),
        change.what.clone(),
    ]
}

fn millis(millis: f64) -> String {
    match millis {
        ..10.0 => format!("{millis:.1} ms"),
        ..1000.0 => format!("{millis:.0} ms"),
        ..60_000.0 => format!("{:.1} s", millis / 1000.0),
        _ => format!("{:.0} min", millis / 60_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_quantiles_and_who_is_behind() {
        let stage =
            |streams: u32| json!({"streams": streams, "p50": 3.21, "p99": 42.0, "longest": 50.0});
        let change = |id: u64, acked: u32| {
            json!({
                "id": id, "what": "Dataplane default/b1", "ageSeconds": 75.0, "computed": 0.4,
                "streams": 3, "sent": stage(3), "acknowledged": stage(acked), "rejected": 1,
                "notConcerned": 0, "behind": 2 - acked,
            })
        };
        let changes = json!({"changes": [change(2, 0), change(1, 2)]});
        let proxies = json!({"proxies": [
            {"mesh": "default", "dataplane": "b", "oldestUnacknowledgedChange": 2},
            {"mesh": "default", "dataplane": "a", "oldestUnacknowledgedChange": null},
        ]});
        let proxies: Proxies = serde_json::from_value(proxies).unwrap();
        let text = render(&serde_json::from_value(changes).unwrap(), &behind(&proxies));
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<String> = plain
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines[1], "2 1 min 0.4 ms 3.2 ms 42 ms - - 0 of 3 1 2 Dataplane default/b1");
        assert_eq!(
            lines[2],
            "1 1 min 0.4 ms 3.2 ms 42 ms 3.2 ms 42 ms 2 of 3 1 0 Dataplane default/b1"
        );
        assert_eq!(lines[4], "default/b: behind since change 2");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn times_are_short() {
        let all = [0.04, 9.94, 10.0, 999.0, 1500.0, 90_000.0].map(millis);
        assert_eq!(all, ["0.0 ms", "9.9 ms", "10 ms", "999 ms", "1.5 s", "2 min"]);
    }
}
