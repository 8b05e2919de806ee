//! Content negotiation: JSON, YAML or protobuf; whole objects, tables or metadata only.
//!
//! Of what a client accepts, the best that can be had is sent, and of equals the first: kubectl and
//! kube-proxy prefer protobuf to JSON and get it. Tables have no protobuf.
//!
//! Kubernetes rejects in two places with two messages: the router, which knows only media types,
//! and the encoder, which knows their parameters. Source: `endpoints/handlers/negotiation`.

use http::HeaderMap;

use crate::status::{Failure, Result};

/// The negotiated format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseFormat {
    pub(crate) media: Media,
    pub(crate) shape: Shape,
    pub(crate) pretty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

/// The form in which an object is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Object,
    /// `Table` of meta.k8s.io in this version.
    Table(&'static str),
    /// `PartialObjectMetadata`, of one object.
    Partial(&'static str),
    /// `PartialObjectMetadataList`, of a list.
    PartialList(&'static str),
}

/// What objects are offered in.
pub(crate) const ANY: &[Media] = &[Media::Json, Media::Yaml, Media::Protobuf];

const OBJECTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const TEXTS: &str = "application/json, application/yaml";
const STREAMS: &str =
    ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// What a path offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Lists can also be streamed, which the router's error mentions.
    pub(crate) lists: bool,
    /// Actions and reviews have no columns.
    pub(crate) tables: bool,
    pub(crate) media: &'static [Media],
}

/// One entry of an `Accept` header.
#[derive(Debug)]
struct Clause<'a> {
    kind: &'a str,
    sub: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

pub(crate) fn response_format(
    headers: &HeaderMap,
    offer: Offer,
    pretty: Option<&str>,
) -> Result<ResponseFormat> {
    let pretty = match pretty {
        Some(asked) => matches!(asked, "true" | "1"),
        None => for_people(headers),
    };
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(ResponseFormat { media: Media::Json, shape: Shape::Object, pretty });
    };
    // Sent by nearly all clients: needs no allocation.
    if accept == "application/json" {
        return Ok(ResponseFormat { media: Media::Json, shape: Shape::Object, pretty });
    }
    let clauses = clauses(accept);
    let routed = clauses.iter().any(|clause| {
        let known = ["json", "yaml", "vnd.kubernetes.protobuf", "*"];
        clause.kind == "*" || (clause.kind == "application" && known.contains(&clause.sub))
    });
    if !routed {
        let streams = if offer.lists { STREAMS } else { "" };
        return Err(Failure::not_acceptable(&format!("{OBJECTS}{streams}")));
    }
    let is_had = |(media, shape): &(Media, Shape)| match media {
        _ if !offer.media.contains(media) => false,
        Media::Protobuf => !matches!(shape, Shape::Table(_)),
        Media::Json | Media::Yaml => offer.tables || !matches!(shape, Shape::Table(_)),
    };
    let mut asked = clauses.iter().filter_map(|clause| Some((media(clause)?, shape(clause)?)));
    match asked.find(is_had) {
        Some((media, shape)) => Ok(ResponseFormat { media, shape, pretty }),
        None => Err(match offer.media {
            [Media::Json] => Failure::not_acceptable("application/json"),
            media if media.contains(&Media::Protobuf) => Failure::cannot_encode(OBJECTS),
            _ => Failure::cannot_encode(TEXTS),
        }),
    }
}

/// The format of a failure: that of the first entry which asks for whole objects, else JSON.
pub(crate) fn failure_format(headers: &HeaderMap) -> ResponseFormat {
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    let clauses = clauses(accept.unwrap_or_default());
    let whole = clauses.iter().filter(|clause| shape(clause) == Some(Shape::Object));
    let media = whole.filter_map(media).next().unwrap_or(Media::Json);
    ResponseFormat { media, shape: Shape::Object, pretty: false }
}

/// Best first; equal ones in the client's order.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next()?;
    let (kind, sub) = if media == "*" { ("*", "*") } else { media.split_once('/')? };
    let mut clause = Clause { kind, sub, parameters: Vec::new(), quality: 1.0 };
    for (key, value) in parts.filter_map(|part| part.split_once('=')) {
        match key.trim() {
            "q" => clause.quality = value.trim().parse().unwrap_or(1.0),
            key => clause.parameters.push((key, value.trim())),
        }
    }
    Some(clause)
}

fn media(clause: &Clause<'_>) -> Option<Media> {
    match (clause.kind, clause.sub) {
        ("*", "*") | ("application", "*" | "json") => Some(Media::Json),
        ("application", "yaml") => Some(Media::Yaml),
        ("application", "vnd.kubernetes.protobuf") => Some(Media::Protobuf),
        _ => None,
    }
}

fn shape(clause: &Clause<'_>) -> Option<Shape> {
    let parameter = |name| {
        let found = clause.parameters.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| *value)
    };
    let version = match parameter("v") {
        "v1" => "v1",
        "v1beta1" => "v1beta1",
        _ => "",
    };
    if !matches!(parameter("stream"), "" | "watch") {
        return None;
    }
    match (parameter("as"), parameter("g"), version) {
        ("", ..) => Some(Shape::Object),
        ("Table", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Table(version)),
        ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Partial(version)),
        ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
            Some(Shape::PartialList(version))
        }
        _ => None,
    }
}

/// Kubernetes indents for browsers and similar clients by default.
fn for_people(headers: &HeaderMap) -> bool {
    let agent = headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    agent.is_some_and(|agent| {
        ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known))
    })
}

#[cfg(test)]
mod tests;
