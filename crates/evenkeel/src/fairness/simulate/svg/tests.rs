//! The structure of pictures, for outcomes made by hand.

use evenkeel_fairness::simulate::{Figures, FlowReport, FlowSeries, Report, Series};

use super::*;

fn outcome(configuration: &str, flows: &[(&str, f64)]) -> Outcome {
    let report = |(name, seats): &(&str, f64)| FlowReport {
        flow: (*name).to_owned(),
        clients: 1,
        levels: Vec::new(),
        jain: None,
        figures: Figures { seat_seconds: *seats, share: 0.5, ..Figures::default() },
    };
    let series = |(_, seats): &(&str, f64)| FlowSeries {
        seats: vec![*seats; 4],
        wait_p50: vec![Some(0.0), None, Some(0.2), Some(0.3)],
        wait_p99: vec![Some(0.1), None, Some(20.0), Some(30.0)],
    };
    Outcome {
        configuration: configuration.to_owned(),
        profile: "default",
        report: Report {
            measured_seconds: 30.0,
            server_seats: 10,
            requests: 0,
            in_use: 1.0,
            jain: None,
            sampled: false,
            levels: Vec::new(),
            flows: flows.iter().map(report).collect(),
            series: Series {
                step_seconds: 1.0,
                seats: Vec::new(),
                window_seconds: 10.0,
                flows: flows.iter().map(series).collect(),
            },
        },
    }
}

fn picture(outcomes: &[Outcome]) -> String {
    render(Picture { title: "A title", seed: 1, warmup: 10.0, outcomes })
}

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn each_configuration_has_three_panels_and_a_shaded_warm_up_in_each() {
    for n in [1, 2, 3, 4, 7] {
        let outcomes: Vec<Outcome> =
            (0..n).map(|n| outcome(&format!("c{n}"), &[("a", 4.0), ("b", 3.0)])).collect();
        let svg = picture(&outcomes);
        assert_eq!(count(&svg, "class=\"configuration\""), n);
        assert_eq!(count(&svg, "class=\"panel\""), 3 * n);
        assert_eq!(count(&svg, "class=\"warmup\""), 3 * n);
        // Once in each row of configurations.
        assert_eq!(count(&svg, ">Waiting time, p99</text>"), n.div_ceil(columns(n)));
        assert_eq!(count(&svg, ">time (s)</text>"), n);
    }
}

#[test]
fn a_window_without_requests_is_a_gap_and_one_between_gaps_is_a_dot() {
    let svg = picture(&[outcome("x", &[("a", 4.0)])]);
    // The first window is a dot; the third and fourth are a line.
    assert_eq!(count(&svg, "<circle"), 2);
    let line =
        svg.lines().find(|line| line.contains("stroke-width=\"1.6\"") && !line.contains("h24"));
    let path = line.unwrap().split('"').nth(1).unwrap();
    assert_eq!((count(path, "M"), count(path, "L")), (1, 1), "{path}");
}

#[test]
fn of_many_flows_the_largest_are_told_apart() {
    let names: Vec<String> = (0..20).map(|n| format!("flow-{n}")).collect();
    let flows: Vec<(&str, f64)> =
        names.iter().zip(0..).map(|(name, n)| (name.as_str(), f64::from(n))).collect();
    let svg = picture(&[outcome("x", &flows)]);
    assert!(svg.contains(">9 other flows (seats only)</text>"));
    assert!(svg.contains(">flow-9</text>") && !svg.contains(">flow-8</text>"));
    let twelve = picture(&[outcome("x", &flows[..12])]);
    assert!(!twelve.contains("other flows") && twelve.contains(">flow-0</text>"));
}

#[test]
fn names_that_are_too_long_are_cut() {
    let name = "a-very-long-name-".repeat(20);
    let svg = render(Picture {
        title: &name,
        seed: 1,
        warmup: 0.0,
        outcomes: &[outcome(&name, &[(&name, 4.0)])],
    });
    assert!(!svg.contains(&name));
    assert!(count(&svg, "…</text>") >= 3, "{svg}");
    assert_eq!(count(&svg, "class=\"warmup\""), 0);
}
