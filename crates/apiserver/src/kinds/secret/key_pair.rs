//! Whether a certificate and a key match, in the wording of Go's `crypto/tls`.

use std::collections::BTreeSet;

use rustls::{
    crypto::ring::sign::any_supported_type,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

/// The error of the pair.
pub(super) fn wrong(certificate: &[u8], key: &[u8]) -> Option<String> {
    if let Some(words) = no_certificate(&pem_types(certificate)) {
        return Some(words);
    }
    if let Some(words) = no_key(&pem_types(key)) {
        return Some(words);
    }
    let Ok(certificate) = CertificateDer::from_pem_slice(certificate) else {
        return Some("x509: malformed certificate".to_owned());
    };
    if x509_parser::parse_x509_certificate(&certificate).is_err() {
        return Some("x509: malformed certificate".to_owned());
    }
    let signer = PrivateKeyDer::from_pem_slice(key).ok();
    let Some(signer) = signer.and_then(|key| any_supported_type(&key).ok()) else {
        return Some("tls: failed to parse private key".to_owned());
    };
    let pair = CertifiedKey::new(vec![certificate], signer);
    pair.keys_match().err().map(|_| "tls: private key does not match public key".to_owned())
}

fn no_certificate(types: &[String]) -> Option<String> {
    if types.iter().any(|name| name == "CERTIFICATE") {
        return None;
    }
    Some(match types {
        [] => "tls: failed to find any PEM data in certificate input".to_owned(),
        [only] if only.ends_with("PRIVATE KEY") => "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned(),
        more => format!("tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]", more.join(" ")),
    })
}

fn no_key(types: &[String]) -> Option<String> {
    if types.iter().any(|name| name == "PRIVATE KEY" || name.ends_with(" PRIVATE KEY")) {
        return None;
    }
    Some(match types {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [only] if only == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        more => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [{}]",
            more.join(" ")
        ),
    })
}

/// The types of all complete blocks.
fn pem_types(text: &[u8]) -> Vec<String> {
    let text = &*String::from_utf8_lossy(text);
    let ends: BTreeSet<&str> = marked(text, "-----END ").collect();
    marked(text, "-----BEGIN ").filter(|name| ends.contains(name)).map(str::to_owned).collect()
}

/// The text after a marker at the beginning of a line.
fn marked<'a>(text: &'a str, mark: &str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.trim_end().strip_prefix(mark)?.strip_suffix("-----"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_that_belongs_together_is_fine() {
        let (certificate, key) = pair();
        let (_, other) = pair();
        assert_eq!(wrong(certificate.as_bytes(), key.as_bytes()), None);
        assert_eq!(
            wrong(certificate.as_bytes(), other.as_bytes()).as_deref(),
            Some("tls: private key does not match public key")
        );
    }

    #[test]
    fn distinct_inputs_have_distinct_hashes() {
        let (certificate, key) = pair();
        for (first, second, words) in [
            ("", "", "tls: failed to find any PEM data in certificate input"),
            (
                &*key,
                &*certificate,
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
            ),
            (&certificate, "", "tls: failed to find any PEM data in key input"),
            (
                &certificate,
                &certificate,
                "tls: found a certificate rather than a key in the PEM for the private key",
            ),
        ] {
            assert_eq!(wrong(first.as_bytes(), second.as_bytes()).as_deref(), Some(words));
        }
    }
}
