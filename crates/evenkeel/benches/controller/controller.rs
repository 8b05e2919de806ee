//! The controller, as a process of its own.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tokio::{sync::oneshot, time::timeout};

use crate::{
    load::{
        Failure,
        server::{Folder, binary},
    },
    usage::Usage,
};

/// How long it may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Controller {
    process: Child,
    pub(crate) begun: Instant,
    said: oneshot::Receiver<(Instant, String)>,
}

impl Controller {
    pub(crate) fn start(folder: &Folder, conditions: bool) -> Result<Controller, Failure> {
        let begun = Instant::now();
        let mut process = Command::new(binary())
            .args(["controller", "--leader-elect=false", "--listen=127.0.0.1:0"])
            .args(["--log-level=warn", &format!("--service-conditions={conditions}")])
            .arg("--kubeconfig")
            .arg(folder.path().join("data/kubeconfig"))
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("the controller has an output")?;
        let (send, said) = oneshot::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            let _ = output.read_line(&mut line);
            // Nobody may be interested in it.
            let _ = send.send((Instant::now(), line));
            let _ = output.read_to_end(&mut Vec::new());
        });
        Ok(Controller { process, begun, said })
    }

    /// From its start until it says so.
    pub(crate) async fn ready(&mut self) -> Result<Duration, Failure> {
        let (at, line) = timeout(PATIENCE, &mut self.said).await??;
        if !line.contains("ready") {
            return Err(format!("the controller said {line:?}").into());
        }
        Ok(at - self.begun)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.id())
    }
}

impl Drop for Controller {
    /// Not in order: a restart must cope with that too.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
