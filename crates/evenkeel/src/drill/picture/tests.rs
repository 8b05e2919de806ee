//! The structure of pictures, for reports made by hand.

use super::*;
use crate::drill::report::tests::reported;

fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

#[test]
fn it_shows_the_outage_its_moments_and_every_endpoint_that_is_left() {
    let svg = render(&reported("abcxbxcbcabc"));
    assert_eq!(count(&svg, "class=\"outage\""), 1);
    assert_eq!(count(&svg, "class=\"moment\""), 3);
    assert_eq!(count(&svg, "class=\"bar\""), 2);
    assert_eq!((count(&svg, "class=\"fair\""), count(&svg, "class=\"forecast\"")), (1, 1));
    // In the legend, and for each of two requests.
    assert_eq!(count(&svg, "fill=\"url(#failed)\""), 3);
    assert!(svg.contains(">zone-a (lost)</text>") && svg.contains(">converged</text>"));
}

#[test]
fn without_convergence_there_is_no_moment_of_it() {
    let svg = render(&reported("abcxxxxxxabc"));
    assert_eq!(count(&svg, "class=\"moment\""), 2);
    assert!(svg.contains("not converged before the end of the outage"));
    assert_eq!(count(&svg, ">unknown</text>"), 0, "requests were sent: the load is 0 %");
}

#[test]
fn names_are_escaped_in_picture_and_page() {
    let mut report = reported("abcbcbcbcabc");
    report.zone = "<script>".into();
    report.services[0].service = "<img src=x>".into();
    report.services[0].load.endpoints[0].place.pod = "\"&<b>".into();
    report.windows[0].answered.insert("<b>".into(), 1);
    for written in [render(&report), crate::drill::page::render(&report)] {
        for markup in ["<script", "<img", "<b>"] {
            assert!(!written.contains(markup), "{markup}: {written}");
        }
        assert!(written.contains("&lt;script&gt;"));
    }
}

#[test]
fn however_many_endpoints_there_are_few_are_drawn() {
    let mut report = reported("abcbcbcbcabc");
    let one = report.services[0].load.endpoints[1].clone();
    report.services[0].load.endpoints = vec![one; 5_000];
    let svg = render(&report);
    assert_eq!(count(&svg, "class=\"bar\""), 60);
    assert!(svg.contains(">and 4940 more endpoints</text>"));
}
