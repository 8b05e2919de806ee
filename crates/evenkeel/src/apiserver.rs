//! `evenkeel apiserver`: the embedded Kubernetes API, until a signal ends it.

mod args;
mod logging;

use std::path::Path;

use evenkeel_apiserver::Ready;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};

pub(crate) use self::args::{ApiserverArgs, EXAMPLES};
use crate::{error::Error, printer};

pub(crate) fn run(args: &ApiserverArgs) -> Result<(), Error> {
    let settings = args::settings(args)?;
    logging::start(args.log_format, args::level(args));
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let mut said = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let ready = |ready: Ready| said = printer::data(&greeting(&ready));
        evenkeel_apiserver::run(settings, ready, signals.first()).await.map_err(Error::from)
    })?;
    said
}

/// What somebody needs to go on.
fn greeting(ready: &Ready) -> String {
    let Ready { address, kubeconfig, .. } = ready;
    let path = std::path::absolute(kubeconfig).unwrap_or_else(|_| kubeconfig.clone());
    let quoted = shell_quoted(&path);
    format!(
        "The API server is ready on {address}.\n\
         kubeconfig: {}\n\
         try: kubectl --kubeconfig {quoted} get namespaces\n",
        path.display()
    )
}

/// A path as one word of a shell.
fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:,=@%".contains(char);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// What ends a server: once to stop in order, twice to stop at once.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Signals { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    /// Returns with the first signal; the second ends the process.
    async fn first(mut self) {
        self.next().await;
        printer::note("stopping; a second signal ends the server at once");
        tokio::spawn(async move {
            let code = self.next().await;
            std::process::exit(code);
        });
    }

    /// The exit code that tells of the next signal.
    async fn next(&mut self) -> i32 {
        let Signals { interrupt, terminate } = self;
        tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_for_a_shell() {
        let cases = [("/a/b-c.d", "/a/b-c.d"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'")];
        for (path, expected) in cases {
            assert_eq!(shell_quoted(Path::new(path)), expected);
        }
    }
}
