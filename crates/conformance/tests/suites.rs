//! The project's own cases all pass, and every file has some.

use evenkeel_conformance::{SUITES, vectors};

#[test]
fn every_recorded_case_passes() {
    for (suite, run) in SUITES {
        let report = run(&vectors().join(suite)).unwrap();
        let failed: Vec<_> = report.failures.iter().map(|f| (&f.file, &f.id, &f.diff)).collect();
        assert!(failed.is_empty(), "{suite}: {failed:#?}");
        assert!(report.n_passed() > 0, "{suite} has no case that passes");
        for (file, passed) in &report.passed {
            assert!(*passed > 0, "{suite}/{file} has no case");
        }
    }
}
