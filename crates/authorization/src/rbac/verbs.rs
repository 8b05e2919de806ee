//! Verbs as bits: those that Kubernetes uses have one each, `*` has one, and all others share one.

/// `*`.
pub(crate) const ALL: u32 = 1;
/// A verb without a bit of its own: the cell is only for that verb (`Cell::verb`).
pub(crate) const OTHER: u32 = 2;

/// The bit of a verb; `None` if it has none of its own.
pub(crate) fn bit(verb: &str) -> Option<u32> {
    let place = match verb {
        "*" => return Some(ALL),
        "get" => 2,
        "list" => 3,
        "watch" => 4,
        "create" => 5,
        "update" => 6,
        "patch" => 7,
        "delete" => 8,
        "deletecollection" => 9,
        "bind" => 10,
        "escalate" => 11,
        "impersonate" => 12,
        "use" => 13,
        "approve" => 14,
        "sign" => 15,
        "attest" => 16,
        "proxy" => 17,
        "post" => 18,
        "put" => 19,
        "head" => 20,
        "options" => 21,
        _ => return None,
    };
    Some(1 << place)
}

/// The bits of which one is enough for a verb.
pub(crate) fn enough(verb: &str) -> u32 {
    ALL | bit(verb).unwrap_or(OTHER)
}
