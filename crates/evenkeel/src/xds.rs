//! `evenkeel xds`: serves a mesh to Envoy proxies, until a signal; and the bootstrap of a proxy.

mod access;
mod args;
mod bootstrap;

use evenkeel_admin::signals::Signals;
use evenkeel_xds_server::{Ready, Settings, SourceSettings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Builder;
use tracing::Level;

pub(crate) use self::args::{CompatChoice, EXAMPLES, XdsArgs};
use self::args::{RunArgs, XdsCommand};
use crate::{
    error::Error,
    logging::{self, SHUTTING_DOWN},
    printer,
};

pub(crate) fn run(args: &XdsArgs) -> Result<(), Error> {
    match &args.command {
        None => serve(&args.run),
        Some(XdsCommand::Bootstrap(args)) => bootstrap::print(args),
    }
}

fn serve(args: &RunArgs) -> Result<(), Error> {
    logging::start(&args.log, Level::INFO);
    raise_file_limit();
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let mut printed = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let settings = args::settings(args).await?;
        if let SourceSettings::Cluster(cluster) = &settings.source {
            access::check(&cluster.client, cluster.services.is_some()).await?;
        }
        let ready = |ready: Ready| printed = greet(&settings, ready);
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_xds_server::run(settings.clone(), ready, stop).await.map_err(Error::from)
    })?;
    printed
}

/// Each proxy is a file, and the usual limit is meant for smaller programs.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If that is not allowed, proxies wait for a place.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn greet(settings: &Settings, ready: Ready) -> Result<(), Error> {
    let Ready { listen, admin } = ready;
    let mut text = format!("Control plane is ready.\nxds: {listen}\n");
    if let Some(address) = admin {
        text += &format!("admin: http://{address}\n");
    }
    let resources = match &settings.source {
        SourceSettings::Folder(folder) => format!(" --resources {}", folder.display()),
        SourceSettings::Cluster(_) | SourceSettings::Intake => String::new(),
    };
    text += &format!(
        "\nStart a proxy:\n$ evenkeel xds bootstrap --dataplane NAME{resources} \
         --control-plane {listen} >envoy.yaml\n$ envoy -c envoy.yaml\n"
    );
    printer::data(&text)
}
