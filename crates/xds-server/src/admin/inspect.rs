//! What one Dataplane is told and why, and which shares of its traffic follow.

use evenkeel_locality::{
    inspect::{Gathered, Inspection},
    view::ProxyKey,
};
use serde::Serialize;

use crate::control::Control;

#[derive(Debug, Serialize)]
pub(super) struct Inspected {
    connected: bool,
    #[serde(flatten)]
    inspection: Inspection,
}

/// `None` if there is no such Dataplane.
pub(super) fn inspect(control: &Control, proxy: &ProxyKey) -> Option<Inspected> {
    // What is needed is taken under the lock; predictions are made after it.
    let (gathered, connected) = {
        let mut engine = control.engine();
        let connected = engine.is_connected(proxy);
        (Gathered::of(engine.view(), proxy)?, connected)
    };
    Some(Inspected { connected, inspection: gathered.inspection() })
}
