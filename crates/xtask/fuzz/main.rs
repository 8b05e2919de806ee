//! Feeds mutated example files to a parser until the time is up or it panics.
//!
//! The fuzzer is blind: it needs no nightly compiler and no instrumentation, and pays for it with
//! mutations that know the shape of the input. Input `n` of a seed is the same on every machine.
//! The input under way is kept in a file, so that one which kills the process, as a stack overflow
//! does, is there afterwards.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod corpus;
mod mutate;
mod random;
mod targets;

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, builder::PossibleValuesParser};

use crate::{
    random::Random,
    targets::{TARGETS, Target},
};

/// No input is larger than some ten kilobytes: one that takes longer is a finding too.
const SLOW: Duration = Duration::from_secs(10);

#[derive(Parser)]
#[command(bin_name = "cargo xtask fuzz", about = "Feed mutated example files to a parser")]
struct Args {
    #[arg(value_parser = PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))]
    name: String,
    /// For how long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Which inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run this file instead, once
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

/// What came of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Accepted,
    Refused,
    Panicked,
    Slow,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let target = TARGETS.iter().find(|target| target.name == args.name);
    let target = target.expect("clap lets only known names through");
    let result = match &args.replay {
        Some(file) => replay(target, file),
        None => fuzz(target, &args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn replay(target: &Target, file: &Path) -> io::Result<bool> {
    let outcome = run(target, &fs::read_to_string(file)?);
    println!("{outcome:?}");
    Ok(matches!(outcome, Outcome::Accepted | Outcome::Refused))
}

/// Whether all inputs went well.
fn fuzz(target: &Target, args: &Args) -> io::Result<bool> {
    let corpus = corpus::read(&root().join(target.examples))?;
    let kept = root().join("target/fuzz");
    fs::create_dir_all(&kept)?;
    let running = kept.join(format!("{}-{}-running.yaml", target.name, args.seed));
    let start = Instant::now();
    let (mut n, mut accepted) = (0, 0);
    while start.elapsed() < Duration::from_secs(args.seconds) {
        let input = mutate::input(&corpus, Random::new(args.seed, n));
        fs::write(&running, &input)?;
        match run(target, &input) {
            Outcome::Accepted => accepted += 1,
            Outcome::Refused => {}
            outcome => {
                let file = format!("{}-{:016x}.yaml", target.name, hash(&input));
                fs::rename(&running, kept.join(&file))?;
                let seed = args.seed;
                println!("{outcome:?} on input {n} of seed {seed}: target/fuzz/{file}");
                return Ok(false);
            }
        }
        n += 1;
    }
    fs::remove_file(&running)?;
    let rate = n / args.seconds.max(1);
    let name = target.name;
    println!("{name}: {n} inputs, {rate}/s, {accepted} accepted, no panic");
    Ok(true)
}

/// As cargo tells it: what was compiled in may name another checkout with the same target folder.
fn root() -> PathBuf {
    let told = env::var_os("CARGO_MANIFEST_DIR");
    let here = told.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).join("../..")
}

fn run(target: &Target, input: &str) -> Outcome {
    let start = Instant::now();
    match panic::catch_unwind(AssertUnwindSafe(|| (target.accepts)(input))) {
        Err(_) => Outcome::Panicked,
        Ok(_) if start.elapsed() > SLOW => Outcome::Slow,
        Ok(true) => Outcome::Accepted,
        Ok(false) => Outcome::Refused,
    }
}

fn hash(input: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_outcome() {
        let accepts = |input: &str| input.parse::<u8>().unwrap() > 7;
        let target = Target { name: "fragile", examples: "", accepts };
        assert_eq!(run(&target, "8"), Outcome::Accepted);
        assert_eq!(run(&target, "7"), Outcome::Refused);
        assert_eq!(run(&target, "seven"), Outcome::Panicked);
    }

    #[test]
    fn every_target_accepts_the_undamaged_examples() {
        for target in TARGETS {
            let corpus = corpus::read(&root().join(target.examples)).unwrap();
            let all = format!("apiVersion: v1\nitems:\n{}kind: List\n", corpus.concat());
            assert_eq!(run(target, &all), Outcome::Accepted, "{}\n{all}", target.name);
        }
    }

    /// A second of fuzzing with every test run, always on the same inputs.
    #[test]
    fn no_target_panics_on_its_first_inputs() {
        for target in TARGETS {
            let corpus = corpus::read(&root().join(target.examples)).unwrap();
            for n in 0..200 {
                let input = mutate::input(&corpus, Random::new(1, n));
                let outcome = run(target, &input);
                let good = matches!(outcome, Outcome::Accepted | Outcome::Refused);
                assert!(good, "{}: {outcome:?} on\n{input}", target.name);
            }
        }
    }
}
