//! The connections of a client that runs for long.
//!
//! A middlebox that forgets a connection tells nobody: without limits of its own a client waits
//! for minutes. TCP keep-alive and `TCP_USER_TIMEOUT` end a connection whose packets are lost, the
//! read and write timeouts one whose packets are acknowledged and go nowhere.
//!
//! The layers are kube's own, so that everything in a kubeconfig holds: certificates, tokens that
//! are read again, exec plugins, impersonation, the name that TLS expects.

use std::{error::Error, time::Duration};

use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt as _},
};
use tower::ServiceExt as _;

/// Time limits of connections to an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For TCP, shared by the addresses of the server's name; twice as long for TCP and TLS.
    pub connect: Duration,
    /// The longest pause in a response, or in a request that is being sent. It must be longer than
    /// a watch may be silent.
    pub read: Duration,
    /// After how much silence the first TCP keep-alive probe is sent.
    pub keepalive_time: Duration,
    pub keepalive_interval: Duration,
    pub keepalive_probes: u32,
    /// A connection that was not used for longer is not used again, so that of many that were lost
    /// together a request finds one at most.
    pub idle: Duration,
}

/// A client with these limits, which leaves retries to its caller.
pub fn long_lived(config: Config, timeouts: &Timeouts) -> kube::Result<Client> {
    let config = with_limits(config, timeouts);
    // kube knows which proxies it can use, and names the one that it can't.
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let https = config.rustls_https_connector_with_connector(http(timeouts))?;
    let mut connector = TimeoutConnector::new(https);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let http = HttpClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(timeouts.idle)
        .build::<_, Body>(connector)
        .map_err(Box::<dyn Error + Send + Sync>::from);
    let (base, auth) = (config.base_uri_layer(), config.auth_layer()?);
    let stack = ClientBuilder::new(http, config.default_namespace.clone())
        .with_layer(&config.extra_headers_layer()?);
    Ok(match auth {
        Some(auth) => stack.with_layer(&auth).with_layer(&base).build(),
        None => stack.with_layer(&base).build(),
    })
}

fn with_limits(mut config: Config, timeouts: &Timeouts) -> Config {
    config.default_retry = false;
    config.connect_timeout = Some(timeouts.connect * 2);
    config.read_timeout = Some(timeouts.read);
    config.write_timeout = Some(timeouts.read);
    // Or the time that a connection was idle would count as a pause of the next response.
    config.reset_reader_on_write = true;
    config
}

fn http(timeouts: &Timeouts) -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(timeouts.connect));
    http.set_keepalive(Some(timeouts.keepalive_time));
    http.set_keepalive_interval(Some(timeouts.keepalive_interval));
    http.set_keepalive_retries(Some(timeouts.keepalive_probes));
    #[cfg(target_os = "linux")]
    http.set_tcp_user_timeout(Some(timeouts.unacknowledged()));
    http
}

// === impl Timeouts ===

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(30),
            keepalive_time: Duration::from_secs(10),
            keepalive_interval: Duration::from_secs(5),
            keepalive_probes: 3,
            idle: Duration::from_secs(5),
        }
    }
}

impl Timeouts {
    /// How long the other side may acknowledge nothing, neither data nor probes.
    pub fn unacknowledged(&self) -> Duration {
        self.keepalive_time + self.keepalive_interval * self.keepalive_probes
    }
}

#[cfg(test)]
mod tests;
