//! Which cluster is meant: one rule for all commands.
//!
//! The first of these that is given or exists is used, and no other:
//! 1. `--kubeconfig`
//! 2. `$KUBECONFIG`
//! 3. the kubeconfig of `evenkeel up` in the current folder, unless `--context` is given. If its
//!    server does not run, that is an error: the next cluster in the list may be a production one.
//! 4. `~/.kube/config`
//! 5. the service account of the Pod this process runs in

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::LiveError;

/// Where the address of a cluster and the credentials for it come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSource {
    pub rule: SourceRule,
    /// Merged as `kubectl` does; empty for a Pod's service account.
    pub files: Vec<PathBuf>,
    /// `None`: the current context of the kubeconfig.
    pub context: Option<String>,
}

/// Why a kubeconfig was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRule {
    Flag,
    Variable,
    /// `evenkeel up` wrote it in the current folder.
    CurrentFolder,
    Home,
    Pod,
}

/// What the rule depends on besides flags.
#[derive(Clone, Debug, Default)]
struct Environment {
    /// The files in `$KUBECONFIG`.
    variable: Vec<PathBuf>,
    /// The file in the current folder, if it exists.
    folder: Option<PathBuf>,
    /// `~/.kube/config`, if it exists and has contexts.
    home: Option<PathBuf>,
    is_pod: bool,
}

impl ClusterSource {
    /// `kubeconfig` and `context` are the values of the flags, `folder` is where `evenkeel up` keeps
    /// its data.
    pub fn find(
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        folder: &Path,
    ) -> Result<ClusterSource, LiveError> {
        choose(kubeconfig, context, Environment::of_process(folder))
    }

    /// A kubeconfig that is named.
    pub fn file(path: PathBuf, context: Option<String>) -> ClusterSource {
        ClusterSource { rule: SourceRule::Flag, files: vec![path], context }
    }

    /// The files as `$KUBECONFIG` would list them, or `in-cluster`.
    pub fn path(&self) -> String {
        if self.rule == SourceRule::Pod {
            return "in-cluster".to_owned();
        }
        let files: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        files.join(":")
    }

    pub(super) async fn config(&self) -> Result<Config, LiveError> {
        if self.rule == SourceRule::Pod {
            return Config::incluster().map_err(|_| LiveError::NoCluster);
        }
        let mut merged = Kubeconfig::default();
        for path in &self.files {
            let read = Kubeconfig::read_from(path).and_then(|next| merged.merge(next));
            merged = read.map_err(|error| from_kubeconfig(error, path))?;
        }
        let known = merged.contexts.iter().map(|context| context.name.clone()).collect();
        let options =
            KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(merged, &options).await;
        config.map_err(|error| match error {
            KubeconfigError::LoadContext(wanted) => LiveError::UnknownContext { wanted, known },
            KubeconfigError::CurrentContextNotSet => LiveError::NoContext { known },
            error => from_kubeconfig(error, Path::new(&self.path())),
        })
    }
}

fn choose(
    flag: Option<PathBuf>,
    context: Option<String>,
    environment: Environment,
) -> Result<ClusterSource, LiveError> {
    let Environment { variable, folder, home, is_pod } = environment;
    let folder = folder.filter(|_| context.is_none());
    let (rule, files) = match (flag, folder, home) {
        (Some(path), _, _) => (SourceRule::Flag, vec![path]),
        (None, _, _) if !variable.is_empty() => (SourceRule::Variable, variable),
        (None, Some(path), _) => (SourceRule::CurrentFolder, vec![path]),
        (None, None, Some(path)) => (SourceRule::Home, vec![path]),
        (None, None, None) => match context {
            Some(context) => return Err(LiveError::NoKubeconfig { context }),
            None if is_pod => (SourceRule::Pod, Vec::new()),
            None => return Err(LiveError::NoCluster),
        },
    };
    Ok(ClusterSource { rule, files, context })
}

/// Without contexts there is no cluster in it, and `kubectl` ignores it too.
fn has_contexts(path: &Path) -> bool {
    match Kubeconfig::read_from(path) {
        Ok(kubeconfig) => !kubeconfig.contexts.is_empty(),
        Err(KubeconfigError::ReadConfig(source, _)) => {
            source.kind() != std::io::ErrorKind::NotFound
        }
        // What is wrong with it is an error of whoever uses it.
        Err(_) => true,
    }
}

fn from_kubeconfig(error: KubeconfigError, path: &Path) -> LiveError {
    match error {
        KubeconfigError::ReadConfig(source, path) => LiveError::Unreadable { path, source },
        KubeconfigError::Parse(error) => {
            LiveError::NotYaml { path: path.to_owned(), line: error.location().map(|at| at.line()) }
        }
        error => LiveError::Kubeconfig { source: Box::new(error) },
    }
}

// === impl Environment ===

impl Environment {
    fn of_process(folder: &Path) -> Environment {
        let variable = env::var_os("KUBECONFIG").unwrap_or_default();
        let mut variable: Vec<PathBuf> =
            env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty()).collect();
        // Of several files `kubectl` skips those that do not exist. That none does is an error.
        if variable.iter().any(|path| path.exists()) {
            variable.retain(|path| path.exists());
        }
        let home = env::var_os("HOME").filter(|home| !home.is_empty());
        let home = home.map(|home| Path::new(&home).join(".kube").join("config"));
        let is_pod = env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty());
        Environment {
            variable,
            folder: Some(folder.join("kubeconfig")).filter(|path| path.exists()),
            home: home.filter(|path| has_contexts(path)),
            is_pod,
        }
    }
}

// === impl SourceRule ===

impl fmt::Display for SourceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceRule::Flag => "--kubeconfig",
            SourceRule::Variable => "$KUBECONFIG",
            SourceRule::CurrentFolder => "`evenkeel up` in this folder",
            SourceRule::Home => "default",
            SourceRule::Pod => "service account of this Pod",
        })
    }
}

// === impl ClusterSource ===

/// The path, the reason in parentheses, and the context if one was given.
impl fmt::Display for ClusterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path(), self.rule)?;
        match &self.context {
            Some(context) => write!(f, ", context {context}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `flag context variable folder home pod`, each as a word or `-`, and what is chosen.
    #[test]
    fn the_first_kubeconfig_of_the_list_is_chosen() {
        let cases = [
            ("flag test a:b here home pod", "flag (--kubeconfig), context test"),
            ("flag - a:b here home pod", "flag (--kubeconfig)"),
            ("- - a:b here home pod", "a:b ($KUBECONFIG)"),
            ("- test a here home pod", "a ($KUBECONFIG), context test"),
            ("- - - here home pod", "here (`evenkeel up` in this folder)"),
            ("- test - here home pod", "home (default), context test"),
            ("- - - - home pod", "home (default)"),
            ("- - - - - pod", "in-cluster (service account of this Pod)"),
            ("- test - here - pod", "there is no kubeconfig to find context \"test\" in"),
            ("- - - - - -", "no cluster configured: no kubeconfig found, and not running in a Pod"),
        ];
        for (given, expected) in cases {
            let words: Vec<Option<&str>> =
                given.split(' ').map(|word| (word != "-").then_some(word)).collect();
            let [flag, context, variable, folder, home, pod] = words[..] else { panic!("{given}") };
            let environment = Environment {
                variable: variable.map(|all| env::split_paths(all).collect()).unwrap_or_default(),
                folder: folder.map(PathBuf::from),
                home: home.map(PathBuf::from),
                is_pod: pod.is_some(),
            };
            let chosen = choose(flag.map(PathBuf::from), context.map(Into::into), environment);
            let chosen = chosen.map_or_else(|error| error.to_string(), |it| it.to_string());
            assert_eq!(chosen, expected, "{given}");
        }
    }
}
