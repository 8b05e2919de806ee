//! Responses with a document: encoding, caching and redirects.
//!
//! Source: `k8s.io/kube-openapi/pkg/handler` and `handler3`. Clients send media types with `@`,
//! which are not well formed, so the response names the type without it.

use super::{Chunks, Document};

/// The relevant parts of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DocumentRequest<'a> {
    pub(crate) accept: Option<&'a str>,
    /// The query parameter `hash`.
    pub(crate) hash: Option<&'a str>,
    pub(crate) if_none_match: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// 200 with `Vary: Accept`. `immutable`: `Cache-Control: public, immutable`, and `Expires` in
    /// a year.
    Document { body: Chunks, content_type: &'static str, etag: String, immutable: bool },
    /// 304.
    NotModified { etag: String },
    /// 301: the hash is that of another version.
    Moved { location: String },
    /// 406 without a body.
    NotAcceptable,
}

/// The type of a document, which determines its media types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentType {
    Index,
    V2,
    V3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Media {
    Json,
    Protobuf,
}

// === impl Document ===

impl Document {
    pub(crate) fn reply(&self, asked: &DocumentRequest<'_>) -> Reply {
        let Some(media) = self.type_.media(asked.accept) else { return Reply::NotAcceptable };
        let hash = asked.hash.filter(|hash| !hash.is_empty() && self.type_ == DocumentType::V3);
        if hash.is_some_and(|hash| hash != self.hash()) {
            return Reply::Moved { location: self.location() };
        }
        if asked.if_none_match.is_some_and(|tags| self.is_named_by(tags)) {
            return Reply::NotModified { etag: self.etag() };
        }
        let body = match media {
            Media::Json => self.json(),
            Media::Protobuf => self.protobuf(),
        };
        let content_type = self.type_.content_type(media);
        Reply::Document { body, content_type, etag: self.etag(), immutable: hash.is_some() }
    }

    /// The URL that includes the hash.
    pub(super) fn location(&self) -> String {
        location(&self.name, self.hash())
    }

    /// Whether an `If-None-Match` names this document.
    fn is_named_by(&self, tags: &str) -> bool {
        let mut tags = tags.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
        tags.any(|tag| tag == "*" || tag == self.etag())
    }
}

/// The URL of a document that includes its hash.
pub(super) fn location(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

// === impl DocumentType ===

impl DocumentType {
    /// The index is not negotiated, and is labelled as text; it is JSON.
    fn media(self, accept: Option<&str>) -> Option<Media> {
        if self == DocumentType::Index {
            return Some(Media::Json);
        }
        let accept = accept.filter(|accept| !accept.trim().is_empty()).unwrap_or("*/*");
        let mut clauses: Vec<(&str, f32)> = accept.split(',').map(clause).collect();
        clauses.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        clauses.into_iter().find_map(|(media, _)| self.named(media))
    }

    fn named(self, media: &str) -> Option<Media> {
        let version = if self == DocumentType::V2 { "v2" } else { "v3" };
        let (kind, sub) = media.split_once('/')?;
        match (kind, sub) {
            ("*" | "application", "*" | "json") => Some(Media::Json),
            ("*" | "application", sub) => {
                let version_of = sub.strip_prefix("com.github.proto-openapi.spec.")?;
                let version_of = version_of.strip_suffix("v1.0+protobuf")?;
                let asked = version_of.strip_suffix(['@', '.'])?;
                (asked == version).then_some(Media::Protobuf)
            }
            _ => None,
        }
    }

    fn content_type(self, media: Media) -> &'static str {
        match (self, media) {
            (DocumentType::Index, _) => "text/plain; charset=utf-8",
            (_, Media::Json) => "application/json",
            (DocumentType::V2, Media::Protobuf) => {
                "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            }
            (DocumentType::V3, Media::Protobuf) => {
                "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
            }
        }
    }
}

/// A media type of an `Accept` header, and its weight.
fn clause(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
    (media, quality.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::{Document, DocumentRequest, DocumentType, Reply};
    use crate::{
        kinds::Catalogue,
        openapi::{built_in, v2, v3, v3_index},
    };

    const V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    const V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

    #[test]
    fn the_form_is_negotiated() {
        let table = [
            (DocumentType::V3, None, Some("application/json")),
            (DocumentType::V3, Some("application/json, */*"), Some("application/json")),
            (
                DocumentType::V3,
                Some("application/com.github.proto-openapi.spec.v3@v1.0+protobuf"),
                Some(V3),
            ),
            (DocumentType::V3, Some(V3), Some(V3)),
            (DocumentType::V3, Some(V2), None),
            (
                DocumentType::V3,
                Some(
                    "application/json;q=0.5, application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
                ),
                Some(V3),
            ),
            (DocumentType::V3, Some("text/html, application/*;q=0.1"), Some("application/json")),
            (DocumentType::V3, Some("text/html"), None),
            (DocumentType::V3, Some("nonsense"), None),
            (
                DocumentType::V2,
                Some("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
                Some(V2),
            ),
            (DocumentType::V2, Some("*/*"), Some("application/json")),
            (DocumentType::Index, Some("text/html"), Some("text/plain; charset=utf-8")),
        ];
        for (type_, accept, expected) in table {
            let content_type = type_.media(accept).map(|media| type_.content_type(media));
            assert_eq!(content_type, expected, "{type_:?} {accept:?}");
        }
    }

    #[test]
    fn the_right_hash_is_cached_for_ever_and_a_wrong_one_leads_to_it() {
        let document = v3(&Catalogue::default(), "apis/apps/v1").unwrap();
        let asked = |hash| document.reply(&DocumentRequest { hash, ..DocumentRequest::default() });
        let immutable = |reply| match reply {
            Reply::Document { immutable, body, .. } => {
                assert_eq!(body, document.json());
                Some(immutable)
            }
            _ => None,
        };
        assert_eq!(immutable(asked(None)), Some(false));
        assert_eq!(immutable(asked(Some(""))), Some(false));
        assert_eq!(immutable(asked(Some(document.hash()))), Some(true));
        let location = format!("/openapi/v3/apis/apps/v1?hash={}", document.hash());
        assert_eq!(asked(Some("0123")), Reply::Moved { location });
    }

    #[test]
    fn who_has_the_document_is_told_so() {
        let served = Catalogue::default();
        let (v2, index) = (v2(&served), v3_index(&served));
        let documents: [&Document; 3] = [&v2, &index, built_in("version").unwrap()];
        for document in documents {
            let etag = document.etag();
            let weak = format!("\"x\", W/{etag}");
            for tags in [etag.as_str(), &weak, "*"] {
                let reply = document.reply(&DocumentRequest {
                    if_none_match: Some(tags),
                    ..DocumentRequest::default()
                });
                assert_eq!(reply, Reply::NotModified { etag: etag.clone() });
            }
            let reply = document.reply(&DocumentRequest {
                if_none_match: Some("\"x\""),
                ..DocumentRequest::default()
            });
            assert!(matches!(reply, Reply::Document { .. }));
        }
    }
}
