//! `evenkeel-conformance SUITE...`: runs the named suites, or all.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::process::ExitCode;

use evenkeel_conformance::{SUITES, vectors};

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| SUITES.iter().any(|(suite, _)| suite == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        let names: Vec<_> = SUITES.iter().map(|(name, _)| *name).collect();
        eprintln!("no suite {unknown:?}; there are: {}", names.join(", "));
        return ExitCode::from(2);
    }
    let (mut passed, mut later, mut failed) = (0, 0, 0);
    for (suite, run) in SUITES {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == suite) {
            continue;
        }
        let report = match run(&vectors().join(suite)) {
            Ok(report) => report,
            Err(problem) => {
                println!("FAILED {suite}: {problem}\n");
                failed += 1;
                continue;
            }
        };
        for failure in &report.failures {
            println!("FAILED {suite}/{} {}\n{}\n", failure.file, failure.id, failure.diff);
        }
        for (file, n) in &report.passed {
            println!("{suite}/{file}: {n} passed");
        }
        for (file, n) in &report.later {
            println!("{suite}/{file}: {n} not yet supported");
        }
        passed += report.n_passed();
        later += report.n_later();
        failed += report.failures.len();
    }
    match later {
        0 => println!("{passed} passed, {failed} failed"),
        _ => println!("{passed} passed, {failed} failed, {later} not yet supported"),
    }
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
