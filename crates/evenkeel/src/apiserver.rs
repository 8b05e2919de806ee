//! `evenkeel apiserver`: the embedded Kubernetes API, until a signal ends it.

mod args;
mod fairness;
mod tokens;

use std::path::Path;

use evenkeel_admin::{logs, signals::Signals};
use evenkeel_apiserver::Ready;
use tokio::runtime::Builder;

pub(crate) use self::{
    args::{ApiserverArgs, DOMAINS, EXAMPLES, LogFormat, LogLevel, features},
    fairness::{FairnessArgs, fairness},
};
use crate::{error::Error, logging::SHUTTING_DOWN, printer};

pub(crate) fn run(args: &ApiserverArgs) -> Result<(), Error> {
    let settings = args::settings(args)?;
    logs::start(args.log_format.into(), args::level(args));
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let mut said = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let ready = |ready: Ready| said = printer::data(&greeting(&ready));
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_apiserver::run(settings, ready, stop).await.map_err(Error::from)
    })?;
    said
}

/// The address, and a command to try.
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

/// A path, quoted for a shell where it must be.
pub(crate) fn shell_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+:,=@%".contains(char);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        let cases = [("/a/b-c.d", "/a/b-c.d"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'")];
        for (path, expected) in cases {
            assert_eq!(shell_quoted(Path::new(path)), expected);
        }
    }
}
