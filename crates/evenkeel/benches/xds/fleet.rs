//! The process of the clients, as its parent sees it.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use crate::{clients::WORD, load::Failure, plane::Plane, usage::Usage};

/// Clients of a control plane. Dropping it ends them.
pub(crate) struct Fleet {
    process: Child,
    orders: ChildStdin,
    news: Lines<BufReader<ChildStdout>>,
}

/// When a change was acknowledged, since the epoch.
#[derive(Clone, Debug)]
pub(crate) struct Acked {
    /// Of each client, the first one first.
    pub(crate) times: Vec<Duration>,
}

// === impl Fleet ===

impl Fleet {
    /// Clients for so many instances from the first one on. `stalled` more ask for everything and never read.
    pub(crate) fn start(
        plane: &Plane,
        first: usize,
        proxies: usize,
        stalled: usize,
    ) -> Result<Fleet, Failure> {
        let numbers = [first, proxies, stalled].map(|number| number.to_string());
        let mut process = Command::new(env::current_exe()?)
            .args([WORD, &plane.address.to_string()])
            .args(numbers)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = process.stdin.take().ok_or("the clients have an input")?;
        let news = process.stdout.take().ok_or("the clients have an output")?;
        Ok(Fleet { process, orders, news: BufReader::new(news).lines() })
    }

    /// All have all that they asked for. Returns when the last one was, since the epoch.
    pub(crate) fn ready(&mut self) -> Result<Duration, Failure> {
        let times = self.told("ready")?;
        Ok(times.last().copied().ok_or("no client")?)
    }

    /// From now on, each client reports the next response with the resource that changes.
    pub(crate) fn arm(&mut self) -> Result<(), Failure> {
        writeln!(self.orders, "arm")?;
        self.told("armed").map(drop)
    }

    /// Waits until all clients have acknowledged it.
    pub(crate) fn acked(&mut self) -> Result<Acked, Failure> {
        Ok(Acked { times: self.told("acked")? })
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.process.id())
    }

    fn told(&mut self, word: &str) -> Result<Vec<Duration>, Failure> {
        let line = self.news.next().ok_or("the clients ended")??;
        let mut words = line.split(' ');
        if words.next() != Some(word) {
            return Err(format!("the clients said {line:?}, not {word:?}").into());
        }
        let times = words.map(|word| word.parse().map(Duration::from_nanos));
        Ok(times.collect::<Result<_, _>>()?)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
