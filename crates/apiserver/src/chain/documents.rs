//! The server's documents about itself: discovery, OpenAPI, version, health, metrics.

use axum::body::Body;
use http::{HeaderMap, HeaderValue, Method, header, request::Parts};
use serde_json::Value;

use crate::{
    answer::Answer,
    api::Api,
    discovery::{self, DiscoveryFormat},
    fairness, metrics,
    negotiate::{self, Media, Offer, ResponseFormat, Shape},
    openapi::{self, Document, DocumentRequest, Reply},
    request::{Discovery, Query, Target},
    status::{Failure, Result},
    tokens,
};

pub(super) fn answer(api: &Api, parts: &Parts, target: &Target) -> Result<Answer> {
    if let Target::Health(path) = target {
        let answer = api.health.answer(path, parts.uri.query());
        let answer = answer.ok_or_else(Failure::unknown_path)?;
        return Ok(Answer::whole(answer.map(Body::from)));
    }
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }
    match target {
        Target::Root => root(api, parts),
        Target::Version => shown(parts, &discovery::version(), &[Media::Json]),
        Target::Metrics => Ok(Answer::new(200, metrics::CONTENT_TYPE, api.metrics_text())),
        Target::FairnessDump(name) => dumped(api, parts, name),
        Target::Discovery(which) => discovered(api, parts, which),
        Target::OpenIdConfiguration => tokens::configuration(api, &parts.headers),
        Target::Jwks => tokens::jwks(api, &parts.headers),
        Target::OpenApiV2 => Ok(described(parts, &openapi::v2(&api.catalogue.load()))),
        Target::OpenApiV3(name) if name.is_empty() => {
            Ok(described(parts, &openapi::v3_index(&api.catalogue.load())))
        }
        Target::OpenApiV3(name) => {
            let found = openapi::v3(&api.catalogue.load(), name);
            Ok(described(parts, &*found.ok_or_else(Failure::unknown_path)?))
        }
        Target::Health(_) | Target::Resource(_) | Target::Review { .. } => {
            Err(Failure::unknown_path())
        }
    }
}

fn dumped(api: &Api, parts: &Parts, name: &str) -> Result<Answer> {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let details = !query.text("includeRequestDetails").is_empty();
    let dump = fairness::dump(&api.fairness, name, details).ok_or_else(Failure::unknown_path)?;
    Ok(Answer::text(200, dump))
}

fn discovered(api: &Api, parts: &Parts, which: &Discovery) -> Result<Answer> {
    let served = api.catalogue.load();
    let accept = text(&parts.headers, &header::ACCEPT);
    let aggregated = match which {
        Discovery::Core => Some(true),
        Discovery::Groups => Some(false),
        Discovery::Group(_) | Discovery::Version(..) => None,
    };
    let media = match discovery::negotiate(accept) {
        Some(DiscoveryFormat::Aggregated) => Some(Media::Json),
        Some(DiscoveryFormat::AggregatedProtobuf) => Some(Media::Protobuf),
        Some(DiscoveryFormat::Plain) | None => None,
    };
    if let Some((core, media)) = aggregated.zip(media) {
        return Ok(aggregated_answer(parts, &discovery::aggregated(&served, core), media));
    }
    let found = match which {
        Discovery::Core => Some(discovery::versions(&api.address.to_string())),
        Discovery::Groups => Some(discovery::groups(&served)),
        Discovery::Group(group) => discovery::group(&served, group),
        Discovery::Version(group, version) => discovery::resources(&served, group, version),
    };
    shown(parts, &found.ok_or_else(Failure::unknown_resource)?, negotiate::ANY)
}

fn aggregated_answer(parts: &Parts, document: &Value, media: Media) -> Answer {
    let etag = discovery::etag(document);
    let type_ = match media {
        Media::Protobuf => discovery::AGGREGATED_PROTOBUF_TYPE,
        Media::Json | Media::Yaml => discovery::AGGREGATED_TYPE,
    };
    if text(&parts.headers, &header::IF_NONE_MATCH) == etag {
        return Answer::new(304, type_, "");
    }
    let format = ResponseFormat { media, shape: Shape::Object, pretty: false };
    let mut answer = Answer::value(200, document, format);
    answer.content_type = HeaderValue::from_static(type_);
    answer.headers.push(tag(&etag));
    answer.headers.push((header::VARY, HeaderValue::from_static("Accept")));
    answer
}

/// In JSON, whatever the client accepts.
fn root(api: &Api, parts: &Parts) -> Result<Answer> {
    let mut parts = parts.clone();
    parts.headers.remove(header::ACCEPT);
    shown(&parts, &discovery::paths(&api.catalogue.load()), &[Media::Json])
}

/// A document in the format that is requested, out of these.
fn shown(parts: &Parts, value: &Value, media: &'static [Media]) -> Result<Answer> {
    let offer = Offer { lists: false, tables: true, media };
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let pretty = query.has("pretty").then(|| query.text("pretty"));
    let format = negotiate::response_format(&parts.headers, offer, pretty)?;
    Ok(Answer::value(200, value, format))
}

fn described(parts: &Parts, document: &Document) -> Answer {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let asked = DocumentRequest {
        accept: Some(text(&parts.headers, &header::ACCEPT)),
        hash: query.has("hash").then(|| query.text("hash")),
        if_none_match: Some(text(&parts.headers, &header::IF_NONE_MATCH)),
    };
    let vary = (header::VARY, HeaderValue::from_static("Accept"));
    match document.reply(&asked) {
        Reply::Document { body, content_type, etag, immutable } => {
            let mut answer = Answer::new(200, content_type, body);
            answer.headers.extend([tag(&etag), vary]);
            if immutable {
                let for_ever = HeaderValue::from_static("public, immutable");
                answer.headers.push((header::CACHE_CONTROL, for_ever));
            }
            answer
        }
        Reply::NotModified { etag } => {
            let mut answer = Answer::new(304, "application/json", "");
            answer.headers.extend([tag(&etag), vary]);
            answer
        }
        Reply::Moved { location } => {
            let mut answer = Answer::text(301, "");
            if let Ok(location) = HeaderValue::from_str(&location) {
                answer.headers.push((header::LOCATION, location));
            }
            answer
        }
        Reply::NotAcceptable => Answer::text(406, ""),
    }
}

fn tag(etag: &str) -> (header::HeaderName, HeaderValue) {
    let value = HeaderValue::from_str(etag);
    (header::ETAG, value.unwrap_or_else(|_| HeaderValue::from_static("\"\"")))
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
