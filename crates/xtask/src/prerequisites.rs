//! What the tests need on a machine that has Rust, and how it gets there.
//!
//! A new need is one line in [`TABLE`]. Rust's own components come from rustup, all else from the
//! distribution: packages are signed there and nothing is downloaded by hand.

use crate::{
    Failure,
    program::{program, status, succeeds},
};

pub(crate) struct Prerequisite {
    name: &'static str,
    /// A command that succeeds when the thing is there. Rustup installs a proxy for every
    /// component, so the presence of a file proves nothing.
    probe: &'static [&'static str],
    source: Source,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Rustup(&'static str),
    Apt(&'static str),
}

pub(crate) const TABLE: &[Prerequisite] = &[
    // Some dependencies compile C, and every link goes through it.
    Prerequisite {
        name: "cc",
        probe: &["cc", "--version"],
        source: Source::Apt("build-essential"),
    },
    Prerequisite {
        name: "rustfmt",
        probe: &["cargo", "fmt", "--version"],
        source: Source::Rustup("rustfmt"),
    },
    Prerequisite {
        name: "clippy",
        probe: &["cargo", "clippy", "--version"],
        source: Source::Rustup("clippy"),
    },
    // The command line's tests read what a real kubectl prints.
    Prerequisite {
        name: "kubectl",
        probe: &["kubectl", "version", "--client"],
        source: Source::Apt("kubernetes-client"),
    },
    // Tests with real traffic run in network namespaces, and some have rules of their own there.
    Prerequisite { name: "ip", probe: &["ip", "-V"], source: Source::Apt("iproute2") },
    Prerequisite { name: "nft", probe: &["nft", "--version"], source: Source::Apt("nftables") },
    Prerequisite {
        name: "conntrack",
        probe: &["conntrack", "--version"],
        source: Source::Apt("conntrack"),
    },
    // Certificates that others make are read too.
    Prerequisite {
        name: "openssl",
        probe: &["openssl", "version"],
        source: Source::Apt("openssl"),
    },
    Prerequisite { name: "curl", probe: &["curl", "--version"], source: Source::Apt("curl") },
];

/// What loads a server in benchmarks.
pub(crate) const LOAD: &[Prerequisite] = &[Prerequisite {
    name: "wrk",
    // It has no option that succeeds.
    probe: &["sh", "-c", "command -v wrk"],
    source: Source::Apt("wrk"),
}];

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
}

type Words = Vec<&'static str>;

fn missing(table: &'static [Prerequisite]) -> Vec<&'static Prerequisite> {
    table.iter().filter(|need| !succeeds(need.probe)).collect()
}

fn names(missing: &[&Prerequisite]) -> Vec<String> {
    missing.iter().map(|need| need.name.to_owned()).collect()
}

/// The commands that install what is missing; all of them or none.
fn plan(missing: &[&Prerequisite], machine: &Machine) -> Result<Vec<Words>, Failure> {
    let (mut components, mut packages) = (Vec::new(), Vec::new());
    for need in missing {
        match need.source {
            Source::Rustup(component) => components.push(component),
            Source::Apt(package) => packages.push(package),
        }
    }
    let possible = (components.is_empty() || machine.rustup)
        && (packages.is_empty() || (machine.root && machine.apt));
    let mut commands: Vec<Words> = Vec::new();
    if !components.is_empty() {
        commands.push([&["rustup", "component", "add"], &components[..]].concat());
    }
    if !packages.is_empty() {
        commands.push(vec!["apt-get", "update"]);
        let install = ["apt-get", "install", "-y", "--no-install-recommends"];
        commands.push([&install, &packages[..]].concat());
    }
    if possible {
        return Ok(commands);
    }
    Err(Failure::Missing {
        names: names(missing),
        commands: commands.iter().map(|words| shown(words, machine)).collect(),
    })
}

/// A command as this user would have to type it.
fn shown(words: &[&str], machine: &Machine) -> String {
    let sudo = words[0] == "apt-get" && !machine.root;
    format!("{}{}", if sudo { "sudo " } else { "" }, words.join(" "))
}

fn install(words: &[&str]) -> Result<(), Failure> {
    let mut command = program(words[0]);
    command.args(&words[1..]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    if status(command)?.success() {
        return Ok(());
    }
    Err(Failure::Step { name: "prerequisites".to_owned(), alone: words.join(" ") })
}

// === impl Machine ===

impl Machine {
    fn look() -> Self {
        let id = program("id").arg("-u").output();
        Machine {
            root: id.is_ok_and(|out| out.stdout.trim_ascii() == b"0"),
            apt: succeeds(&["apt-get", "--version"]),
            rustup: succeeds(&["rustup", "--version"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Machine = Machine { root: true, apt: true, rustup: true };
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
    fn without_rustup_nothing_is_half_installed() {
        let machine = Machine { rustup: false, ..ROOT };
        assert!(plan(&needs(&["cc", "clippy"]), &machine).is_err());
    }
}
