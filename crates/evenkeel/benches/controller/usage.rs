//! What a process has used of the machine.

use std::fs;

use crate::load::Failure;

/// The unit of `/proc/PID/stat`, a second's hundredth on all that Linux runs on (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Since the process began, in seconds, to a hundredth.
    pub(crate) cpu: f64,
    /// In megabytes, now and at most so far.
    pub(crate) memory: f64,
    pub(crate) peak: f64,
}

impl Usage {
    pub(crate) fn of(process: u32) -> Result<Usage, Failure> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The second field is the program's name in parentheses, which may have blanks.
        let (_, fields) = stat.rsplit_once(") ").ok_or("no fields")?;
        let mut times = fields.split(' ').skip(11).map(str::parse::<f64>);
        let user = times.next().ok_or("no time in user mode")??;
        let system = times.next().ok_or("no time in system mode")??;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let memory = megabytes(&status, "VmRSS:")?;
        let peak = megabytes(&status, "VmHWM:")?;
        Ok(Usage { cpu: (user + system) / TICKS_PER_SECOND, memory, peak })
    }
}

/// The time all threads of a process have run, in seconds and finer than [`Usage::cpu`]. Threads
/// that have ended are not in it.
pub(crate) fn running(process: u32) -> Result<f64, Failure> {
    let mut nanoseconds = 0.0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end while we read.
        let told = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += told.split(' ').next().unwrap_or_default().parse().unwrap_or(0.0);
    }
    Ok(nanoseconds / 1e9)
}

fn megabytes(status: &str, name: &str) -> Result<f64, Failure> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).ok_or(name)?;
    Ok(kilobytes.parse::<f64>()? * 1024.0 / 1e6)
}
