//! The control plane, as a process of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    load::{
        Failure,
        server::{Folder, binary},
    },
    mesh::{self, Mesh},
    usage::Usage,
};

pub(crate) struct Plane {
    process: Child,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
    admin: SocketAddr,
    /// From its start until all files were read.
    pub(crate) ready: Duration,
}

// === impl Plane ===

impl Plane {
    /// Starts it, and waits until it has read all files.
    pub(crate) fn start(folder: &Folder, mesh: &Mesh) -> Result<Plane, Failure> {
        let resources = folder.path().join("mesh");
        fs::create_dir_all(&resources)?;
        mesh.write(&resources)?;
        let begun = Instant::now();
        let mut process = Command::new(binary())
            .args(["xds", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0"])
            .args(["--log-level=warn", "--resources"])
            .arg(&resources)
            .stdout(Stdio::piped())
            .spawn()?;
        let said = process.stdout.take().ok_or("the control plane has an output")?;
        let mut lines = BufReader::new(said).lines();
        let mut after = |word: &str| {
            let line = lines.find_map(|line| line.ok()?.strip_prefix(word).map(str::to_owned));
            let line = line.ok_or("the control plane ended")?;
            Ok::<SocketAddr, Failure>(line.parse()?)
        };
        let address = after("xds: ")?;
        let ready = begun.elapsed();
        let admin = after("admin: http://")?;
        Ok(Plane { process, folder: resources, address, admin, ready })
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.process.id())
    }

    pub(crate) fn change(&self, is_ready: bool) -> Result<(), Failure> {
        Ok(mesh::change(&self.folder, is_ready)?)
    }

    /// What `evenkeel mesh propagation` shows, the newest change first.
    pub(crate) fn propagation(&self) -> Result<Vec<Value>, Failure> {
        let value: Value = serde_json::from_str(&self.get("/mesh/propagation")?)?;
        let changes = value.as_array().or_else(|| value.get("changes")?.as_array());
        Ok(changes.cloned().ok_or("no changes")?)
    }

    /// The value of a metric without labels.
    pub(crate) fn metric(&self, name: &str) -> Result<f64, Failure> {
        let text = self.get("/metrics")?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.ok_or(format!("no metric {name}"))?.parse()?)
    }

    fn get(&self, path: &str) -> Result<String, Failure> {
        let mut stream = TcpStream::connect(self.admin)?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (_, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
        Ok(body.to_owned())
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
