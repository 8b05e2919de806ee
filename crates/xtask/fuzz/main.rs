//! Feeds mutated example files to a parser until the time is up, or it panics or takes too long for
//! the size of its input.
//!
//! The fuzzer is not coverage-guided: it needs no nightly compiler and no instrumentation; instead
//! its mutations know the shape of the input. Input `n` of a seed is the same on every machine. The
//! current input is kept in a file, so that one which kills the process, such as by a stack
//! overflow, can be inspected.

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
use rustix::time::{ClockId, clock_gettime};

use crate::{
    random::Random,
    targets::{TARGETS, Target},
};

/// Time limit of an input, whatever its size, and per byte: a slower one is a finding too. Both are
/// far more than is needed.
const SLOW: Duration = Duration::from_secs(2);
const SLOW_BYTE: Duration = Duration::from_micros(100);

/// How often an input must be slow to count as slow.
const TRIES: usize = 3;

#[derive(Parser)]
#[command(
    bin_name = "cargo xtask fuzz",
    about = "Feed mutated example files to a parser, or to an API server that stores them",
    long_about = "Feed mutated example files to a parser, or to an API server that stores them.\n\n\
                  Stops at the first input that panics, or that takes too long for its size, and \
                  keeps it in target/fuzz."
)]
struct Args {
    #[arg(value_parser = PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))]
    name: String,
    /// Duration in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run only this input file, once
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

/// The result of one input.
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
    let input = fs::read_to_string(file)?;
    let (outcome, took) = run(target, &input);
    println!("{outcome:?} after {took:?}, {} bytes", input.len());
    Ok(matches!(outcome, Outcome::Accepted | Outcome::Refused))
}

/// Whether all inputs passed.
fn fuzz(target: &Target, args: &Args) -> io::Result<bool> {
    let corpus = corpus::read(&root().join(target.examples))?;
    let kept = root().join("target/fuzz");
    fs::create_dir_all(&kept)?;
    let running = kept.join(format!("{}-{}-running.yaml", target.name, args.seed));
    let start = Instant::now();
    let (mut n, mut accepted) = (0, 0);
    let mut slowest = (0, 0);
    while start.elapsed() < Duration::from_secs(args.seconds) {
        let input = mutate::input(&corpus, Random::new(args.seed, n));
        fs::write(&running, &input)?;
        let (outcome, took) = run(target, &input);
        // A few bytes say nothing about growth.
        let each = took.as_nanos() / input.len().max(1000) as u128;
        slowest = slowest.max((each, n));
        match outcome {
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
    let (each, at) = slowest;
    println!(
        "{name}: {n} inputs, {rate}/s, {accepted} accepted, no panic, at most {each} ns a byte \
         (input {at})"
    );
    Ok(true)
}

/// From cargo: the compiled-in path may be another checkout with the same target folder.
fn root() -> PathBuf {
    let told = env::var_os("CARGO_MANIFEST_DIR");
    let here = told.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).join("../..")
}

/// The result of an input, and the least time that it took.
fn run(target: &Target, input: &str) -> (Outcome, Duration) {
    let limit = SLOW + SLOW_BYTE * u32::try_from(input.len()).unwrap_or(u32::MAX);
    let mut least = Duration::MAX;
    for _ in 0..TRIES {
        let start = on_processor();
        let accepted = panic::catch_unwind(AssertUnwindSafe(|| (target.accepts)(input)));
        least = least.min(on_processor().saturating_sub(start));
        match accepted {
            Err(_) => return (Outcome::Panicked, least),
            Ok(_) if least > limit => {}
            Ok(true) => return (Outcome::Accepted, least),
            Ok(false) => return (Outcome::Refused, least),
        }
    }
    (Outcome::Slow, least)
}

/// CPU time of this process: the load of others is not a finding.
fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
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
        assert_eq!(run(&target, "8").0, Outcome::Accepted);
        assert_eq!(run(&target, "7").0, Outcome::Refused);
        assert_eq!(run(&target, "seven").0, Outcome::Panicked);
    }

    #[test]
    fn every_target_accepts_the_undamaged_examples() {
        for target in TARGETS {
            let corpus = corpus::read(&root().join(target.examples)).unwrap();
            let all = format!("apiVersion: v1\nitems:\n{}kind: List\n", corpus.concat());
            assert_eq!(run(target, &all).0, Outcome::Accepted, "{}\n{all}", target.name);
        }
    }

    /// Some seconds of fuzzing with every test run, always on the same inputs.
    #[test]
    fn no_target_panics_on_its_first_inputs() {
        for target in TARGETS {
            let corpus = corpus::read(&root().join(target.examples)).unwrap();
            let start = Instant::now();
            for n in (0..200).take_while(|_| start.elapsed() < Duration::from_secs(5)) {
                let input = mutate::input(&corpus, Random::new(1, n));
                let (outcome, _) = run(target, &input);
                let good = matches!(outcome, Outcome::Accepted | Outcome::Refused);
                assert!(good, "{}: {outcome:?} on\n{input}", target.name);
            }
        }
    }
}
