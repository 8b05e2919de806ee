//! The EndpointSlice controller.

use evenkeel_controller::{Ready, Settings};

use super::Context;
use crate::{controller::reports, error::Error};

pub(super) async fn run(context: Context) -> Result<(), Error> {
    let Context { settings, cluster, client, ready, stop } = context;
    let on_ready = |Ready { admin, .. }: Ready| {
        let address = admin.map_or(String::new(), |address| format!("http://{address}"));
        // Nobody receives it during shutdown.
        let _ = ready.send(vec![address]);
    };
    let reports = reports(&client, &settings.controller).await;
    let address = Some(cluster.address);
    let settings = Settings { address, reports, ..settings.controller.clone() };
    Ok(evenkeel_controller::run(client, settings, on_ready, stop.cancelled_owned()).await?)
}
