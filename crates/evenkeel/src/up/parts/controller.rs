//! The EndpointSlice controller.

use evenkeel_controller::Ready;

use super::Context;
use crate::error::Error;

pub(super) async fn run(context: Context) -> Result<(), Error> {
    let Context { settings, cluster, ready, stop } = context;
    let tell = |Ready { admin, .. }: Ready| {
        let place = admin.map_or(String::new(), |address| format!("http://{address}"));
        // Nobody listens any more when all is about to stop.
        let _ = ready.send(place);
    };
    let (client, settings) = (cluster.client, settings.controller.clone());
    Ok(evenkeel_controller::run(client, settings, tell, stop.cancelled_owned()).await?)
}
