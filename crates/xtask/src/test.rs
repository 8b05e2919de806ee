//! `cargo xtask test`: the steps every change must pass, in the order in which they fail soonest.

use std::time::Instant;

use clap::builder::PossibleValuesParser;

use crate::{Failure, prerequisites, program};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this step; may be repeated
    #[arg(long, value_name = "STEP", value_parser = PossibleValuesParser::new(STEPS.iter().map(|step| step.name)))]
    only: Vec<String>,
    /// Print the steps and what they run
    #[arg(long)]
    list: bool,
}

pub(crate) struct Step {
    name: &'static str,
    act: Act,
}

enum Act {
    Prerequisites,
    /// Arguments as one would type them; none has a blank in it.
    Cargo {
        env: &'static [(&'static str, &'static str)],
        args: &'static str,
    },
}

pub(crate) const STEPS: &[Step] = &[
    Step { name: "prerequisites", act: Act::Prerequisites },
    Step::cargo("fmt", "fmt --all --check"),
    Step::cargo("clippy", "clippy --workspace --all-targets --locked -- -D warnings"),
    // Without a target flag cargo runs unit, integration and documentation tests, and no benches.
    // The conformance cases are among them.
    Step::cargo("test", "test --workspace --locked"),
    Step {
        name: "doc",
        act: Act::Cargo {
            env: &[("RUSTDOCFLAGS", "-Dwarnings")],
            args: "doc --workspace --no-deps --locked",
        },
    },
];

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        for step in STEPS {
            println!("{:14} {}", step.name, step.alone());
        }
        return Ok(());
    }
    let start = Instant::now();
    let chosen: Vec<_> = STEPS
        .iter()
        .filter(|step| args.only.is_empty() || args.only.iter().any(|name| name == step.name))
        .collect();
    let of = chosen.len();
    for (index, step) in chosen.iter().enumerate() {
        let number = index + 1;
        eprintln!("\n== {number}/{of} {}: {}", step.name, step.alone());
        step.run()?;
    }
    let seconds = start.elapsed().as_secs();
    eprintln!("\n== {of} of {of} passed, {seconds} s");
    Ok(())
}

// === impl Step ===

impl Step {
    const fn cargo(name: &'static str, args: &'static str) -> Self {
        let act = Act::Cargo { env: &[], args };
        Step { name, act }
    }

    fn run(&self) -> Result<(), Failure> {
        let Act::Cargo { env, args } = self.act else {
            return prerequisites::ensure(prerequisites::TABLE);
        };
        let mut cargo = program::program("cargo");
        cargo.envs(env.iter().copied()).args(args.split_whitespace());
        if program::status(cargo)?.success() {
            return Ok(());
        }
        Err(Failure::Step { name: self.name.to_owned(), alone: self.alone() })
    }

    /// The command line that runs this step alone.
    fn alone(&self) -> String {
        match self.act {
            Act::Prerequisites => format!("cargo xtask test --only {}", self.name),
            Act::Cargo { env, args } => {
                let env = env.iter().map(|(key, value)| format!("{key}={value} "));
                format!("{}cargo {args}", env.collect::<String>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> &'static Step {
        STEPS.iter().find(|step| step.name == name).unwrap()
    }

    #[test]
    fn a_step_tells_how_to_run_it_alone() {
        assert_eq!(step("fmt").alone(), "cargo fmt --all --check");
        assert_eq!(
            step("doc").alone(),
            "RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --locked"
        );
        assert_eq!(step("prerequisites").alone(), "cargo xtask test --only prerequisites");
    }

    #[test]
    fn prerequisites_come_first() {
        assert_eq!(STEPS[0].name, "prerequisites");
    }
}
