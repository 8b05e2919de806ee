//! Connections by zone, as the proxies of nodes counted them (`--zone-counters`).

use std::{collections::BTreeMap, fmt::Write as _, fs};

use evenkeel_admin::scrape::{self, label};
use evenkeel_topology::explain::Explanation;
use serde::Serialize;
use tokio::runtime::Builder;

use crate::{
    error::Error,
    printer::{HEADING, styled},
    table::percent,
};

const NAMES: [&str; 1] = ["evenkeel_service_connections_total"];

/// Connections of all Services, by `namespace/name`.
#[derive(Debug, Default)]
pub(super) struct Measured(BTreeMap<String, BTreeMap<(String, String), u64>>);

/// Connections of clients in one zone to endpoints in another.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row<'a> {
    from_zone: &'a str,
    to_zone: &'a str,
    connections: u64,
}

/// An explanation with what was measured.
#[derive(Serialize)]
pub(super) struct With<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Vec<Row<'a>>>,
}

impl Measured {
    /// Reads `/metrics` of proxies: URLs, or files with their text. `None`: none was given.
    pub(super) fn read(sources: &[String]) -> Result<Option<Measured>, Error> {
        if sources.is_empty() {
            return Ok(None);
        }
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
        let mut measured = Measured::default();
        for source in sources {
            let text = match source.starts_with("http://") || source.starts_with("https://") {
                true => runtime.block_on(scrape::fetch(source)),
                false => fs::read_to_string(source).map_err(|error| error.to_string()),
            };
            let failed = |problem| Error::Measured { source_name: source.clone(), problem };
            measured.add(&text.map_err(failed)?);
        }
        Ok(Some(measured))
    }

    fn add(&mut self, text: &str) {
        for scrape::Sample { labels, value } in scrape::samples(text, &NAMES) {
            let of = |name| label(labels, name).unwrap_or_default().to_owned();
            let zones = self.0.entry(of("service")).or_default();
            // Counters are whole and not negative; anything else counts as nothing.
            *zones.entry((of("from_zone"), of("to_zone"))).or_default() += value as u64;
        }
    }

    fn rows<'a>(&'a self, explanation: &Explanation) -> Vec<Row<'a>> {
        let name = format!("{}/{}", explanation.namespace, explanation.service);
        let zones = self.0.get(&name).into_iter().flatten();
        let row = |((from_zone, to_zone), n): (&'a (String, String), &u64)| Row {
            from_zone,
            to_zone,
            connections: *n,
        };
        zones.map(row).collect()
    }

    /// What was measured of a Service, as text.
    pub(super) fn text(&self, explanation: &Explanation) -> String {
        let rows = self.rows(explanation);
        let mut text = format!("\n{}\n", styled(HEADING, "MEASURED CONNECTIONS"));
        if rows.is_empty() {
            text += "  none; start the proxies with --zone-counters\n";
        }
        for from in rows.chunk_by(|a, b| a.from_zone == b.from_zone) {
            let sum: u64 = from.iter().map(|row| row.connections).sum();
            let part = |row: &Row<'_>| percent(row.connections as f64 / sum.max(1) as f64);
            let parts = from
                .iter()
                .map(|row| format!("{} to {} ({})", row.connections, row.to_zone, part(row)));
            let parts: Vec<String> = parts.collect();
            let _ = writeln!(text, "  from {}: {}", from[0].from_zone, parts.join(", "));
        }
        text
    }
}

/// Explanations as they are encoded.
pub(super) fn with<'a>(
    measured: Option<&'a Measured>,
    explanations: &'a [Explanation],
) -> Vec<With<'a>> {
    let with = |explanation| With {
        explanation,
        measured: measured.map(|measured| measured.rows(explanation)),
    };
    explanations.iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_proxies_are_added_up() {
        let line = |from: &str, to: &str, n: u32| {
            format!(
                "evenkeel_service_connections_total{{service=\"shop/web\",from_zone=\"{from}\",\
                 to_zone=\"{to}\"}} {n}\n"
            )
        };
        let mut measured = Measured::default();
        measured.add(&(line("a", "a", 60) + &line("a", "b", 20) + "other{x=\"y\"} 1\n"));
        measured.add(&line("a", "a", 20));
        let zones = &measured.0["shop/web"];
        let pair = |from: &str, to: &str| zones[&(from.to_owned(), to.to_owned())];
        assert_eq!((pair("a", "a"), pair("a", "b")), (80, 20));
        assert_eq!(measured.0.len(), 1);
    }
}
