//! Large, deep and multiplying input.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use crate::{parse, snapshot};

const TEN_MEGABYTES: usize = 10 << 20;

/// Far above what a refusal takes on a busy machine, and far below what the input would take unbounded.
const SOON: Duration = Duration::from_secs(60);

/// The error of `text`, which must be short and come soon.
fn refused(text: &str) -> String {
    let start = Instant::now();
    let error = parse(text).unwrap_err().to_string();
    let took = start.elapsed();
    assert!(took < SOON, "{took:?}: {error}");
    assert!(error.chars().count() < 250, "{error}");
    error
}

#[test]
fn ten_megabytes_in_one_line_are_refused() {
    let error = refused(&"a".repeat(TEN_MEGABYTES));
    let expected = "expected a Kubernetes object, found a string of 10485760 characters";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn long_values_are_cut_wherever_they_stand_in_an_error() {
    let long = "x".repeat(TEN_MEGABYTES / 10);
    let cases = [
        format!("kind: {long}"),
        format!("kind: Node\nmetadata: {{name: {long}}}"),
        format!("apiVersion: v1\nkind: Service\nspec: {long}"),
        format!("apiVersion: v1\nkind: Node\nmetadata: {{name: n, labels: {{? {long} : 3}}}}"),
        format!("kind: X\n{long}\nfoo: bar\n"),
        format!("a: *{long}"),
        format!("\"{long}"),
        format!("{{\"kind\": \"{long}"),
        format!("{{\"{long}\": 1}}"),
        format!("? {long}\n: 1\n? {long}\n: 1\n"),
    ];
    for text in &cases {
        refused(text);
    }
    let node = |cpu: &str| {
        let status = format!("status: {{allocatable: {{cpu: {cpu}}}}}");
        format!("apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\n{status}\n")
    };
    let error = snapshot(&node(&long)).unwrap_err().to_string();
    assert!(error.len() < 250, "{error}");
    assert_eq!(parse(&format!("apiVersion: v1\nkind: {long}")).unwrap().skipped.len(), 1);
}

#[test]
fn deep_nesting_is_refused_in_every_notation() {
    let block = (0..3_000).fold(String::new(), |mut text, depth| {
        writeln!(text, "{:depth$}a:", "").unwrap();
        text
    });
    let cases = [
        block,
        "- ".repeat(1_000_000),
        "? ".repeat(1_000_000),
        format!("a: {}", "[".repeat(1_000_000)),
        format!("a: {}", "{a: ".repeat(1_000_000)),
        "{\"a\":".repeat(1_000_000),
        format!("{{\"items\": {}", "[{\"items\":".repeat(1_000_000)),
    ];
    for text in &cases {
        let error = refused(text);
        assert!(error.contains("nested too deep"), "{error}");
    }
}

#[test]
fn nesting_as_deep_as_schemas_of_custom_resources_is_fine() {
    let mut text =
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n".to_owned();
    for depth in 0..100 {
        writeln!(text, "{:depth$}a:", "").unwrap();
    }
    assert_eq!(parse(&text).unwrap().skipped.len(), 1);
}

#[test]
fn alias_bombs_are_refused() {
    let mut doubling = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    let mut merging = "a0: &a0 {x: 1}\n".to_owned();
    for n in 1..30 {
        let last = n - 1;
        let tenfold = vec![format!("*a{last}"); 10].join(", ");
        writeln!(doubling, "a{n}: &a{n} [{tenfold}]").unwrap();
        writeln!(merging, "a{n}: &a{n} {{<<: [*a{last}, *a{last}], k{n}: 1}}").unwrap();
    }
    let long = "x".repeat(100_000);
    let bytes = format!("a: &a {long}\nb:\n{}", "- *a\n".repeat(40_000));
    for text in [doubling, merging, bytes] {
        let error = refused(&text);
        assert!(error.contains("aliases multiply the text too much"), "{error}");
    }
}

#[test]
fn a_few_aliases_are_fine() {
    let mut text = "apiVersion: v1\nkind: List\nx-labels: &labels {app: web, tier: front}\n\
         items:\n"
        .to_owned();
    for n in 0..1_000 {
        let meta = format!("{{name: p{n}, labels: *labels}}");
        writeln!(text, "- {{apiVersion: v1, kind: Pod, metadata: {meta}}}").unwrap();
    }
    assert_eq!(parse(&text).unwrap().pods.len(), 1_000);
}

#[test]
fn many_comments_are_fine() {
    let comments = "# A line of a licence.\n".repeat(5_000);
    let text = format!(
        "{comments}apiVersion: v1\n{comments}kind: Service\nmetadata:\n{comments}  name: web\n\
         {comments}spec:\n  ports:\n{comments}  - port: 80\n{comments}"
    );
    assert_eq!(parse(&text).unwrap().services.len(), 1);
}

#[test]
fn a_large_honest_file_is_read_whole() {
    let count = 30_000;
    let mut documents = String::new();
    let mut list = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for n in 0..count {
        let node = format!("{{apiVersion: v1, kind: Node, metadata: {{name: n{n}}}}}");
        writeln!(documents, "---\n{node}").unwrap();
        writeln!(list, "- {node}").unwrap();
    }
    assert_eq!(parse(&documents).unwrap().nodes.len(), count);
    assert_eq!(snapshot(&list).unwrap().nodes.len(), count);
}
