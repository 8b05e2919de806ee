//! A controller that is started again where nothing has changed.

use std::time::Duration;

use crate::{
    controller::Controller,
    load::{
        Failure,
        server::{Folder, Server},
    },
    requests::writes,
};

/// How long it may think about what to write.
const THINKING: Duration = Duration::from_secs(3);

pub(crate) struct Restart {
    pub(crate) ready: Duration,
    pub(crate) writes: u64,
}

pub(crate) async fn run(
    server: &Server,
    folder: &Folder,
    conditions: bool,
) -> Result<Restart, Failure> {
    let mut connection = server.connect().await?;
    let before = writes(&mut connection).await?;
    let mut controller = Controller::start(folder, conditions)?;
    let ready = controller.ready().await?;
    tokio::time::sleep(THINKING).await;
    Ok(Restart { ready, writes: writes(&mut connection).await? - before })
}
