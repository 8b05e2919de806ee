//! A progress bar on stderr, shown only on a terminal and only after a second.

use std::{thread, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Short work shows no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// `total`: how many steps, if known.
    pub(crate) fn new(total: Option<u64>, message: &'static str) -> Self {
        let form = match total {
            Some(_) => "{spinner} {msg} [{bar:30}] {pos}/{len}",
            None => "{spinner} {msg}",
        };
        let style = ProgressStyle::with_template(form).expect("a constant template that is tested");
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style).with_message(message);
        let later = bar.clone();
        // A single long step must show too, so a thread waits and not the steps. It ends by
        // itself, or with the process.
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(TICK);
            }
        });
        Progress(bar)
    }

    pub(crate) fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    pub(crate) fn say(&self, message: String) {
        self.0.set_message(message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_are_valid() {
        Progress::new(None, "reading").say("more".to_owned());
        Progress::new(Some(2), "reading").at(1);
    }
}
