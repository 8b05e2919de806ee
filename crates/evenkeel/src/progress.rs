//! A progress bar on stderr, shown only on a terminal and only after a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Short work should flash nothing at people.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    since: Instant,
    shown: bool,
}

impl Progress {
    /// `total`: how many steps, if known.
    pub(crate) fn new(total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let form = match total {
            Some(_) => "{msg} [{bar:30}] {pos}/{len}, {eta} left",
            None => "{spinner} {msg}",
        };
        let style = ProgressStyle::with_template(form).expect("a constant template that is tested");
        Progress { bar: bar.with_style(style), since: Instant::now(), shown: false }
    }

    pub(crate) fn at(&mut self, position: u64, message: &str) {
        if !self.shown && self.since.elapsed() > PATIENCE {
            self.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if self.shown {
            self.bar.set_message(message.to_owned());
        }
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_are_valid() {
        Progress::new(None).at(1, "reading");
        Progress::new(Some(2)).at(1, "reading");
    }
}
