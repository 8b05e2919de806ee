//! Content negotiation for discovery documents.

/// The media types of the aggregated format.
pub(crate) const AGGREGATED_TYPE: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
pub(crate) const AGGREGATED_PROTOBUF_TYPE: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryFormat {
    /// The unaggregated documents, in any encoding.
    Plain,
    Aggregated,
    AggregatedProtobuf,
}

/// The format of the first clause that can be served, higher weights first; `None` is a 406. An
/// unsupported version of the aggregated format is ignored, like an unknown type.
pub(crate) fn negotiate(accept: &str) -> Option<DiscoveryFormat> {
    if accept.trim().is_empty() {
        return Some(DiscoveryFormat::Plain);
    }
    let mut clauses: Vec<(i64, DiscoveryFormat)> = accept.split(',').filter_map(clause).collect();
    // Stable: equal weights keep the client's order.
    clauses.sort_by_key(|(weight, _)| -weight);
    clauses.first().map(|(_, format)| *format)
}

/// The weight in thousandths and the format, if supported.
fn clause(clause: &str) -> Option<(i64, DiscoveryFormat)> {
    let mut parts = clause.split(';').map(str::trim);
    let type_ = parts.next()?;
    let (mut weight, mut group, mut version, mut kind) = (1000, "", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => weight = thousandths(value),
            "g" => group = value,
            "v" => version = value,
            "as" => kind = value,
            _ => {}
        }
    }
    let is_aggregated =
        (group, version, kind) == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList");
    let format = match type_ {
        "application/json" if is_aggregated => DiscoveryFormat::Aggregated,
        PROTOBUF if is_aggregated => DiscoveryFormat::AggregatedProtobuf,
        _ if (group, version, kind) == ("", "", "") && is_served(type_) => DiscoveryFormat::Plain,
        _ => return None,
    };
    (weight > 0).then_some((weight, format))
}

fn is_served(type_: &str) -> bool {
    ["application/json", "application/yaml", PROTOBUF, "application/*", "*/*"].contains(&type_)
}

fn thousandths(weight: &str) -> i64 {
    match weight.trim().parse::<f64>() {
        Ok(weight) if (0.0..=1.0).contains(&weight) => (weight * 1000.0) as i64,
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_is_served_wins() {
        let beta = AGGREGATED_TYPE.replace("v2", "v2beta1");
        for (accept, format) in [
            (AGGREGATED_TYPE.to_owned(), Some(DiscoveryFormat::Aggregated)),
            (
                format!("{AGGREGATED_TYPE},{beta},application/json"),
                Some(DiscoveryFormat::Aggregated),
            ),
            (format!("{beta},application/json"), Some(DiscoveryFormat::Plain)),
            (
                format!("application/json;q=0.5, {AGGREGATED_TYPE}"),
                Some(DiscoveryFormat::Aggregated),
            ),
            (format!("{AGGREGATED_TYPE};q=0, */*;q=0.1"), Some(DiscoveryFormat::Plain)),
            (AGGREGATED_TYPE.replace("v2", "v9"), None),
            (AGGREGATED_PROTOBUF_TYPE.to_owned(), Some(DiscoveryFormat::AggregatedProtobuf)),
            (
                format!("{AGGREGATED_PROTOBUF_TYPE},{AGGREGATED_TYPE}"),
                Some(DiscoveryFormat::AggregatedProtobuf),
            ),
            (format!("{PROTOBUF},{AGGREGATED_TYPE}"), Some(DiscoveryFormat::Plain)),
            ("text/html".to_owned(), None),
            ("*/*".to_owned(), Some(DiscoveryFormat::Plain)),
            (String::new(), Some(DiscoveryFormat::Plain)),
        ] {
            assert_eq!(negotiate(&accept), format, "{accept}");
        }
    }
}
