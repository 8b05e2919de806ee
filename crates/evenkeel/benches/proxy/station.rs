//! A node in a network namespace with an API server of its own.

use evenkeel_testkit::netns::Host;

use crate::{
    cluster::create_node,
    load::{
        Failure,
        server::{Folder, Server, runtime},
    },
};

pub(crate) struct Station {
    // Stopped before its folder is removed.
    pub(crate) server: Server,
    pub(crate) folder: Folder,
}

impl Station {
    /// Called inside the host's namespace.
    pub(crate) fn start(host: &Host, name: &str) -> Result<Station, Failure> {
        let folder = Folder::new(name)?;
        let server = Server::start(&folder)?;
        runtime().block_on(create_node(&server, host.v4))?;
        Ok(Station { server, folder })
    }
}

/// Runs inside a host's namespace, with processes that are started there.
pub(crate) fn inside<R: Send>(
    host: &Host,
    act: impl FnOnce() -> Result<R, Failure> + Send,
) -> Result<R, Failure> {
    // What goes from thread to thread is the text of a failure.
    host.run(|| act().map_err(|failure| failure.to_string())).map_err(Failure::from)
}
