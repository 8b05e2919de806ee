//! What a request costs: its seats, from what is stored and who watches.

use evenkeel_fairness::{
    Request,
    width::{self, Facts, Stored, Switches},
};
use tower_fairness::Estimate;

use crate::{api::Api, kinds::Kind, request::Query, watchers::Scope};

/// What an estimate looks at in a query; others would only be copied.
const OPTIONS: [&str; 8] = [
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// `max_seats`: what the level allows one request, 0 if it sets no limit.
pub(super) fn estimate(
    api: &Api,
    request: &Request<'_>,
    query: Option<&Query<'_>>,
    max_seats: u32,
) -> Estimate {
    if !request.is_resource {
        return Estimate::default();
    }
    let max_seats = (max_seats > 0).then_some(max_seats);
    let facts = Facts { max_seats, switches: Switches::default(), ..Facts::default() };
    let catalogue = api.catalogue.load();
    let kind = || catalogue.named(request.api_group, request.resource);
    match request.verb {
        "list" | "watch" => {
            let stored = kind().map_or(Stored::Unknown, |kind| stored(api, kind));
            let mut pairs = [("", ""); OPTIONS.len()];
            let query = options(query, &mut pairs);
            width::estimate(request, &Facts { stored, query, ..facts }).into()
        }
        "create" | "update" | "patch" | "delete" => {
            let namespace = (!request.namespace.is_empty()).then_some(request.namespace);
            let object = |kind: &Kind| Scope { resource: kind.id(), namespace, name: request.name };
            let watches = kind().map_or(0, |kind| api.watchers.interested(object(kind)));
            let width = width::estimate(request, &Facts { watches, ..facts });
            Estimate { width, watches: Some(watches) }
        }
        _ => Estimate::default(),
    }
}

fn stored(api: &Api, kind: &Kind) -> Stored {
    let state = api.storage.state();
    let (objects, bytes) = (state.count(kind.id()), state.bytes_of(kind.id()));
    let average = bytes.checked_div(objects).unwrap_or_default();
    Stored::Counted { objects: objects as u64, average_bytes: average as u64 }
}

/// The options that are given, each once: of equal names the first counts.
fn options<'p, 'q>(
    query: Option<&'q Query<'_>>,
    pairs: &'p mut [(&'static str, &'q str); OPTIONS.len()],
) -> &'p [(&'static str, &'q str)] {
    let given = query
        .into_iter()
        .flat_map(|query| OPTIONS.iter().filter_map(|name| Some((*name, query.all(name).next()?))));
    let mut n = 0;
    for (slot, pair) in pairs.iter_mut().zip(given) {
        *slot = pair;
        n += 1;
    }
    &pairs[..n]
}
