//! Which format a client gets, by what it accepts. Each row is as kube-apiserver 1.37 answers it.

use super::raw::{Answer, ask};
use crate::process::{Server, folder};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";
const JSON: &str = "application/json";
const NAMESPACES: &str = "/api/v1/namespaces";

async fn get(server: &Server, path: &str, accept: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.1\r\nAccept: {accept}"), &[]).await
}

fn content_type(answer: &Answer) -> &str {
    let mut headers = answer.head.lines().filter_map(|line| line.split_once(": "));
    headers
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        .map_or("", |(_, type_)| type_)
}

/// The kind in the envelope of a body.
fn kind(body: &[u8]) -> String {
    let rest = body.strip_prefix(b"k8s\0\x0a").expect("the magic, and a type");
    let (length, types) = rest.split_first().unwrap();
    let types = &types[..usize::from(*length)];
    let version = usize::from(types[1]);
    String::from_utf8(types[version + 4..].to_vec()).unwrap()
}

#[tokio::test]
async fn a_client_gets_what_it_prefers_of_what_there_is() {
    let server = Server::start(&folder("formats"));
    let as_ = |what: &str| format!("{PROTOBUF};as={what};g=meta.k8s.io;v=v1");
    let discovery = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let one = "/api/v1/namespaces/default";
    let both = format!("{PROTOBUF},{JSON}");
    for (path, accept, code, type_, expected) in [
        (one, PROTOBUF, 200, PROTOBUF, "Namespace"),
        (one, &both, 200, PROTOBUF, "Namespace"),
        (one, &format!("{PROTOBUF}, {JSON}"), 200, PROTOBUF, "Namespace"),
        (one, &format!("{JSON},{PROTOBUF}"), 200, JSON, ""),
        (one, &format!("{JSON};q=0.1,{PROTOBUF};q=0.5"), 200, PROTOBUF, "Namespace"),
        (one, &format!("application/yaml,{PROTOBUF}"), 200, "application/yaml", ""),
        (one, &as_("PartialObjectMetadata"), 200, PROTOBUF, "PartialObjectMetadata"),
        (one, &as_("PartialObjectMetadataList"), 406, JSON, ""),
        (one, &as_("Table"), 406, JSON, ""),
        (one, &format!("{PROTOBUF};stream=x"), 406, JSON, ""),
        (NAMESPACES, PROTOBUF, 200, PROTOBUF, "NamespaceList"),
        (NAMESPACES, &as_("PartialObjectMetadataList"), 200, PROTOBUF, "PartialObjectMetadataList"),
        (NAMESPACES, &as_("PartialObjectMetadata"), 406, JSON, ""),
        (NAMESPACES, &format!("{},{JSON}", as_("Table")), 200, JSON, ""),
        (NAMESPACES, WATCH, 200, PROTOBUF, "NamespaceList"),
        ("/api/v1/namespaces/nope", PROTOBUF, 404, PROTOBUF, "Status"),
        ("/api/v1/namespaces/nope", &as_("PartialObjectMetadata"), 404, JSON, ""),
        ("/api/v1/nope", PROTOBUF, 404, PROTOBUF, "Status"),
        ("/api", PROTOBUF, 200, PROTOBUF, "APIVersions"),
        ("/apis", PROTOBUF, 200, PROTOBUF, "APIGroupList"),
        ("/apis", &discovery, 200, &discovery, "APIGroupDiscoveryList"),
        ("/apis/apps", PROTOBUF, 200, PROTOBUF, "APIGroup"),
        ("/apis/apps/v1", PROTOBUF, 200, PROTOBUF, "APIResourceList"),
        ("/version", PROTOBUF, 406, PROTOBUF, "Status"),
        ("/version", &both, 200, JSON, ""),
        ("/", PROTOBUF, 200, JSON, ""),
        ("/nope", PROTOBUF, 404, "text/plain; charset=utf-8", ""),
        ("/healthz", PROTOBUF, 200, "text/plain; charset=utf-8", ""),
    ] {
        let answer = get(&server, path, accept).await;
        assert_eq!((answer.code, content_type(&answer)), (code, type_), "{path} {accept}");
        if !expected.is_empty() {
            assert_eq!(kind(&answer.body), expected, "{path} {accept}");
        }
    }
    server.stop();
}

#[tokio::test]
async fn a_watch_in_protobuf_is_a_sequence_of_frames() {
    let server = Server::start(&folder("formats-watch"));
    let path = "/api/v1/namespaces?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3Ddefault";
    for accept in [PROTOBUF, WATCH, "application/vnd.kubernetes.protobuf,application/json"] {
        let answer = get(&server, path, accept).await;
        assert_eq!((answer.code, content_type(&answer)), (200, WATCH), "{accept}");
        let (length, frame) = answer.body.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, frame.len(), "one frame");
        let event = frame.strip_prefix(b"\x0a\x05ADDED\x12").unwrap();
        let body = event.windows(4).position(|four| four == b"k8s\0").unwrap();
        assert_eq!(kind(&event[body..]), "Namespace");
    }
    server.stop();
}
