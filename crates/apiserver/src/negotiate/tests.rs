use http::{HeaderMap, HeaderValue, header};

use super::*;

const OBJECT: Offer = Offer { lists: false, tables: true, media: ANY };

fn asked(accept: &'static str) -> Result<ResponseFormat> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    response_format(&headers, Offer { lists: true, tables: true, media: ANY }, None)
}

#[test]
fn the_best_form_that_can_be_had_is_given() {
    let (json, protobuf) = ((Media::Json, Shape::Object), (Media::Protobuf, Shape::Object));
    for (accept, expected) in [
        ("", json),
        ("application/json", json),
        ("*/*", json),
        ("application/*", json),
        ("text/html,*/*", json),
        ("text/html, application/json;q=0.1", json),
        ("application/json;q=0.1, application/yaml", (Media::Yaml, Shape::Object)),
        ("application/vnd.kubernetes.protobuf,application/json", protobuf),
        ("application/vnd.kubernetes.protobuf, application/json", protobuf),
        ("application/json,application/vnd.kubernetes.protobuf", json),
        ("application/json;q=0.5,application/vnd.kubernetes.protobuf;q=0.9", protobuf),
        (
            "application/vnd.kubernetes.protobuf;q=0.5,application/yaml",
            (Media::Yaml, Shape::Object),
        ),
        ("application/vnd.kubernetes.protobuf", protobuf),
        ("application/vnd.kubernetes.protobuf;stream=watch", protobuf),
        ("application/vnd.kubernetes.protobuf;stream=x,application/json", json),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            (Media::Protobuf, Shape::Partial("v1")),
        ),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", json),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            (Media::Json, Shape::Table("v1")),
        ),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", json),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
            (Media::Json, Shape::PartialList("v1beta1")),
        ),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            (Media::Json, Shape::Partial("v1")),
        ),
    ] {
        let format = asked(accept).unwrap();
        assert_eq!((format.media, format.shape), expected, "{accept}");
    }
}

#[test]
fn what_cannot_be_had_is_refused_in_two_wordings() {
    let words = |accept| asked(accept).unwrap_err().message().to_owned();
    assert!(words("application/xml").starts_with("406: Not Acceptable"));
    assert!(words("application/xml").contains(";stream=watch"));
    assert!(
        words("application/json;as=Table;v=v9;g=meta.k8s.io").starts_with("only the following")
    );
    assert!(
        words("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io")
            .starts_with("only the following")
    );
}

#[test]
fn what_has_no_message_is_not_offered_in_protobuf() {
    let offer = Offer { lists: true, tables: true, media: &[Media::Json, Media::Yaml] };
    let asked = |accept: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        response_format(&headers, offer, None).map(|format| format.media)
    };
    assert_eq!(asked("application/vnd.kubernetes.protobuf,application/json"), Ok(Media::Json));
    let refused = asked("application/vnd.kubernetes.protobuf").unwrap_err();
    assert_eq!(
        (refused.code, refused.message()),
        (406, "only the following media types are accepted: application/json, application/yaml")
    );
}

#[test]
fn a_failure_has_the_format_of_the_answer_it_is_sent_for() {
    for (accept, media) in [
        ("application/vnd.kubernetes.protobuf", Media::Protobuf),
        ("", Media::Json),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml", Media::Yaml),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Media::Json,
        ),
        ("application/yaml", Media::Yaml),
        ("text/html", Media::Json),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", Media::Json),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        let format = failure_format(&headers);
        assert_eq!((format.media, format.shape), (media, Shape::Object), "{accept}");
    }
}

#[test]
fn browsers_get_indented_responses_by_default() {
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static("curl/8.0"));
    assert!(response_format(&headers, OBJECT, None).unwrap().pretty);
    assert!(!response_format(&headers, OBJECT, Some("false")).unwrap().pretty);
    assert!(response_format(&HeaderMap::new(), OBJECT, Some("1")).unwrap().pretty);
}

#[test]
fn where_there_are_no_tables_the_next_best_is_given_or_nothing() {
    let offer = Offer { lists: false, tables: false, media: ANY };
    let asked = |accept: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        response_format(&headers, offer, None)
    };
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let refused = asked(table).unwrap_err();
    assert_eq!(
        (refused.code, refused.message()),
        (
            406,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    );
    let next = asked("application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml").unwrap();
    assert_eq!((next.media, next.shape), (Media::Yaml, Shape::Object));
}
