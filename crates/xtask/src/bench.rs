//! `cargo xtask bench`: the benchmarks by name, so that nobody has to know which crate has them.

use clap::builder::PossibleValuesParser;

use crate::{
    Failure,
    prerequisites::{self, Prerequisite},
    program::{program, status},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which benchmark; all of them by default
    #[arg(value_parser = PossibleValuesParser::new(BENCHES.iter().map(|bench| bench.name)))]
    name: Option<String>,
    /// Print the benchmarks and what they run
    #[arg(long)]
    list: bool,
    /// Arguments for the benchmark itself, such as a filter
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) struct Bench {
    name: &'static str,
    /// What must be there beyond what the tests need.
    needs: &'static [Prerequisite],
    targets: &'static [Target],
}

/// `crates/FOLDER/benches/FILE.rs`, or `FILE/main.rs` there
struct Target {
    folder: &'static str,
    file: &'static str,
}

pub(crate) const BENCHES: &[Bench] = &[
    Bench {
        name: "apiserver",
        needs: prerequisites::LOAD,
        targets: &[Target::new("evenkeel", "apiserver"), Target::new("apiserver", "journal")],
    },
    Bench {
        name: "authorization",
        needs: &[],
        targets: &[
            Target::new("authorization", "authorization"),
            Target::new("apiserver", "authorize"),
            Target::new("apiserver", "tokens"),
        ],
    },
    Bench { name: "consumer", needs: &[], targets: &[Target::new("topology", "consumer")] },
    Bench {
        name: "controller",
        needs: &[],
        targets: &[Target::new("evenkeel", "controller"), Target::new("controller", "engine")],
    },
    Bench {
        name: "dashboard",
        // A browser.
        needs: prerequisites::TABLE,
        targets: &[Target::new("dashboard", "live"), Target::new("evenkeel", "dashboard")],
    },
    Bench {
        name: "fairness",
        needs: &[],
        targets: &[
            Target::new("fairness", "classify"),
            Target::new("fairness", "queues"),
            Target::new("fairness", "dispatcher"),
            Target::new("tower-fairness", "layer"),
            Target::new("apiserver", "fairness"),
        ],
    },
    Bench { name: "locality", needs: &[], targets: &[Target::new("locality", "locality")] },
    Bench { name: "overload", needs: &[], targets: &[Target::new("evenkeel", "overload")] },
    Bench {
        name: "proxy",
        // Network namespaces.
        needs: prerequisites::TABLE,
        targets: &[Target::new("evenkeel", "proxy")],
    },
    Bench { name: "structural", needs: &[], targets: &[Target::new("structural", "structural")] },
    Bench {
        name: "topology",
        needs: &[],
        targets: &[
            Target::new("topology", "topology"),
            Target::new("topology", "balanced"),
            Target::new("k8s", "decisions"),
            Target::new("k8s", "objects"),
        ],
    },
    Bench { name: "xds", needs: &[], targets: &[Target::new("evenkeel", "xds")] },
];

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let wanted = |bench: &&Bench| args.name.as_ref().is_none_or(|name| name == bench.name);
    for bench in BENCHES.iter().filter(wanted) {
        if !args.list {
            prerequisites::ensure(bench.needs)?;
        }
        for target in bench.targets {
            if args.list {
                println!("{:14} {}", bench.name, target.alone());
            } else {
                target.run(&args.args)?;
            }
        }
    }
    Ok(())
}

// === impl Target ===

impl Target {
    const fn new(folder: &'static str, file: &'static str) -> Self {
        Target { folder, file }
    }

    fn run(&self, args: &[String]) -> Result<(), Failure> {
        let mut cargo = program("cargo");
        cargo.args(["bench", "--locked"]).args(self.words());
        cargo.arg("--").args(args);
        if status(cargo)?.success() {
            return Ok(());
        }
        Err(Failure::Step { name: format!("{}/{}", self.folder, self.file), alone: self.alone() })
    }

    fn words(&self) -> [String; 4] {
        let package = match self.folder {
            // Others use the one alone and the other is what our prefix says already.
            "tower-fairness" | "evenkeel" => self.folder.into(),
            folder => format!("evenkeel-{folder}"),
        };
        ["-p".into(), package, "--bench".into(), self.file.into()]
    }

    fn alone(&self) -> String {
        format!("cargo bench --locked {}", self.words().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_there() {
        for target in BENCHES.iter().flat_map(|bench| bench.targets) {
            let file = format!("crates/{}/benches/{}", target.folder, target.file);
            let is = |end: &str| crate::program::root().join(format!("{file}{end}")).exists();
            assert!(is(".rs") || is("/main.rs"), "{file}");
        }
    }

    #[test]
    fn a_target_names_its_package() {
        assert_eq!(
            Target::new("k8s", "objects").alone(),
            "cargo bench --locked -p evenkeel-k8s --bench objects"
        );
    }
}
