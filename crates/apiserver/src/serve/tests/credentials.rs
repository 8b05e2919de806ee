use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::{
    certificates::{
        Folder,
        testing::{Leaf, authority, leaf},
    },
    identity::CertificateVerifier,
    serve::tests::client::{get_on, start_since, start_with_verifier, whoami},
};

fn alice() -> Leaf<'static> {
    Leaf { name: "alice", ..Leaf::default() }
}

#[tokio::test]
async fn a_client_certificate_names_the_user() {
    let ours = authority();
    let server =
        start_with_verifier(whoami(), CertificateVerifier::new(&ours.certificate).unwrap()).await;
    let (status, text) = server.get("/", Some(&leaf(&ours, &alice()))).await;
    assert_eq!(status, 200);
    assert!(text.contains("name: \"alice\""), "{text}");
    assert_eq!(server.get("/", None).await, (200, "None".to_owned()));
    assert_eq!(server.get_http2("/").await, (200, "None".to_owned()));
}

#[tokio::test]
async fn a_certificate_of_others_does_not_end_the_handshake_and_proves_nothing() {
    let (ours, other) = (authority(), authority());
    let server =
        start_with_verifier(whoami(), CertificateVerifier::new(&ours.certificate).unwrap()).await;
    let expired = Leaf { expired: true, ..alice() };
    for made in [leaf(&other, &alice()), leaf(&ours, &expired)] {
        assert_eq!(server.get("/", Some(&made)).await, (200, "Refused".to_owned()));
    }
}

#[tokio::test]
async fn a_resumed_session_keeps_its_user() {
    let ours = authority();
    let server =
        start_with_verifier(whoami(), CertificateVerifier::new(&ours.certificate).unwrap()).await;
    let config = Arc::new(server.config(Some(&leaf(&ours, &alice())), b"http/1.1"));
    for is_resumed in [false, true] {
        let stream = server.connect(Arc::clone(&config)).await;
        let kind = stream.get_ref().1.handshake_kind();
        assert_eq!(kind == Some(rustls::HandshakeKind::Resumed), is_resumed, "{kind:?}");
        let (_, text) = get_on(stream, "/").await;
        assert!(text.contains("name: \"alice\""), "{text}");
    }
}

/// The first certificate has two weeks left, which counts as about to expire.
#[tokio::test]
async fn a_renewed_certificate_is_shown_to_the_next_connection() {
    let folder = Folder::temporary().unwrap();
    let now = Timestamp::now();
    let made = now - SignedDuration::from_hours(24 * 350);
    let (server, mut shown) = start_since(whoami(), &folder, made).await;
    let connect = async || server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let certificate = |stream: &tokio_rustls::client::TlsStream<_>| {
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    let before = connect().await;
    shown.renew(now).unwrap();
    let after = connect().await;
    assert_ne!(certificate(&before), certificate(&after));
    shown.renew(now).unwrap();
    assert_eq!(certificate(&connect().await), certificate(&after), "renewed once");
    for stream in [before, after] {
        assert_eq!(get_on(stream, "/").await, (200, "None".to_owned()), "open ones go on");
    }
}
