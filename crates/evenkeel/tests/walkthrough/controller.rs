//! `evenkeel controller` as a process, and what it tells of itself.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::{
    cluster::Cluster,
    process::{PATIENCE, Process, evenkeel, until},
};

#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) process: Process,
    admin: SocketAddr,
}

impl Controller {
    pub(crate) fn start(cluster: &Cluster, args: &[&str]) -> Controller {
        let kubeconfig = cluster.kubeconfig();
        let own = ["controller", "--listen", "127.0.0.1:0", "--kubeconfig", &kubeconfig];
        let log = cluster.folder.join("controller.log");
        let mut process = Process::start(&mut evenkeel(&[&own, args].concat()), &log);
        let admin = process.after("health and metrics: http://");
        let admin = admin.split('/').next().unwrap().parse().unwrap();
        Controller { process, admin }
    }

    /// The status and the body of an answer, if there is one.
    pub(crate) fn ask(&self, path: &str) -> Option<(u16, String)> {
        let second = Some(Duration::from_secs(1));
        let mut stream = TcpStream::connect(self.admin).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(second).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The sum of all lines of a metric that begin so.
    pub(crate) fn metric(&self, prefix: &str) -> f64 {
        let (code, text) = self.ask("/metrics").unwrap();
        assert_eq!(code, 200, "{text}");
        let lines = text.lines().filter(|line| line.starts_with(prefix));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// Waits until so many syncs went well.
    pub(crate) fn synced(&self, n: usize) {
        let metric = r#"endpoint_slice_controller_syncs{result="success"}"#;
        until("enough is synced", || (self.metric(metric) >= n as f64).then_some(()));
    }

    /// Ends in order.
    pub(crate) fn stop(mut self) {
        assert!(self.process.is_running(), "the controller ended by itself");
        self.process.signal("-TERM");
        assert_eq!(self.process.code(), Some(0));
    }
}
