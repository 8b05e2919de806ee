//! One event of a watch: a line `{"type":"ADDED","object":{…}}`, or the same in protobuf, after its
//! length.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use evenkeel_store::{Object, Revision, Seen};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    answer::{self, View},
    document,
    kinds::{KindRef, read::text},
    negotiate::{Media, Shape},
    protobuf,
    status::Failure,
    table,
    verbs::watch::{
        encoded::{Encoded, Line},
        lines::Lines,
    },
};

/// Writes the lines of one watch in the requested format.
#[derive(Debug)]
pub(super) struct Frames {
    kind: KindRef,
    view: View,
    cache: Arc<Encoded>,
    /// Only the first table of a watch defines its columns.
    headed: AtomicBool,
}

impl Frames {
    pub(super) fn new(kind: KindRef, view: View, encoded: Arc<Encoded>) -> Frames {
        Frames { kind, view, cache: encoded, headed: AtomicBool::new(false) }
    }

    pub(super) fn kind(&self) -> &KindRef {
        &self.kind
    }

    pub(super) fn added(&self, out: &mut Lines, object: &Arc<Object>) {
        self.line(out, "ADDED", object, object.revision);
    }

    pub(super) fn event(&self, out: &mut Lines, seen: Seen<'_>, revision: Revision) {
        match seen {
            Seen::Added(object) => self.line(out, "ADDED", object, revision),
            Seen::Modified(object) => self.line(out, "MODIFIED", object, revision),
            Seen::Deleted(object) => self.line(out, "DELETED", object, revision),
        }
    }

    /// `last`: the one that ends the initial events.
    pub(super) fn bookmark(&self, out: &mut Lines, revision: Revision, last: bool) {
        let mut metadata = answer::revision_meta(revision);
        if last {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({"metadata": metadata});
        document::canonical(self.kind.stored_kind(), &mut object);
        object["kind"] = (*self.kind.kind).into();
        object["apiVersion"] = self.kind.api_version().into();
        let shown = match self.view.format.shape {
            Shape::Object | Shape::PartialList(_) => object,
            Shape::Table(version) => {
                let mut options = self.table_options(version, self.without_headers());
                // The annotation is needed even if no objects were requested.
                if last && options.include_object == table::IncludeObject::None {
                    options.include_object = table::IncludeObject::Metadata;
                }
                let meta = answer::revision_meta(revision);
                table::table(&self.kind, &[object], options, &meta, self.view.now)
            }
            Shape::Partial(version) => table::partial(&object, version),
        };
        out.put_shared(&self.encoded("BOOKMARK", &shown));
    }

    pub(super) fn too_old(&self, out: &mut Lines) {
        let why = "The resourceVersion for the provided watch is too old.";
        out.put_shared(&self.failed(&Failure::expired(why)));
    }

    /// The last line of a watch that can't continue.
    pub(super) fn failed(&self, failure: &Failure) -> Bytes {
        self.encoded("ERROR", &failure.status())
    }

    fn line(&self, out: &mut Lines, what: &'static str, object: &Object, revision: Revision) {
        let media = self.view.format.media;
        if media == Media::Json && self.view.is_as_stored(&self.kind, object) {
            out.reserve(object.encoded.len() + 192);
            out.put(b"{\"type\":\"");
            out.put(what.as_bytes());
            out.put(b"\",\"object\":");
            document::write_head(|part| out.put(part), &self.kind, revision);
            out.put_shared(&object.encoded);
            out.put(b"}\n");
            return;
        }
        let line = Line {
            group: self.kind.group.clone(),
            version: self.kind.version.clone(),
            plural: self.kind.plural.clone(),
            fingerprint: self.kind.fingerprint().clone(),
            what,
            revision,
            media,
            shape: self.view.format.shape,
            include: self.view.include,
            headless: self.without_headers(),
        };
        let headless = line.headless;
        out.put_shared(&self.cache.line(line, || self.made(what, object, revision, headless)));
    }

    fn made(&self, what: &str, object: &Object, revision: Revision, headless: bool) -> Bytes {
        if self.view.format.media == Media::Protobuf && self.view.is_as_stored(&self.kind, object) {
            let json = document::text(&self.kind, object, revision);
            let version = self.kind.api_version();
            if let Ok(body) = protobuf::object(&version, &self.kind.kind, &json) {
                return protobuf::watch_event(what, &body).into();
            }
        }
        let value = match document::value_at(self.kind.stored_kind(), object, revision) {
            Ok(value) => value,
            Err(problem) => return self.failed(&problem.into()),
        };
        let mut value = self.kind.presented(value);
        self.view.hide(&self.kind, &mut value);
        let shown = match self.view.format.shape {
            // An event is not a list: Kubernetes then sends it unchanged.
            Shape::Object | Shape::PartialList(_) => value,
            Shape::Table(version) => {
                let options = self.table_options(version, headless);
                let meta = answer::revision_meta(revision);
                table::table(&self.kind, &[value], options, &meta, Timestamp::now())
            }
            Shape::Partial(version) => table::partial(&value, version),
        };
        self.encoded(what, &shown)
    }

    fn encoded(&self, what: &str, object: &Value) -> Bytes {
        if self.view.format.media == Media::Protobuf {
            let (version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
            let body = protobuf::object(version, kind, object.to_string().as_bytes());
            debug_assert!(body.is_ok(), "what a watch shows has a message: {body:?}");
            return protobuf::watch_event(what, &body.unwrap_or_default()).into();
        }
        value_line(what, object)
    }

    /// All tables but the first.
    fn without_headers(&self) -> bool {
        matches!(self.view.format.shape, Shape::Table(_))
            && self.headed.swap(true, Ordering::Relaxed)
    }

    fn table_options(&self, version: &'static str, no_headers: bool) -> table::TableOptions {
        table::TableOptions { no_headers, ..answer::options(self.view, version) }
    }
}

fn value_line(what: &str, object: &Value) -> Bytes {
    let mut line = json!({"type": what, "object": object}).to_string();
    line.push('\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kinds, negotiate::ResponseFormat, settings::Features, table::IncludeObject};

    fn whole(mut lines: Lines) -> Vec<u8> {
        std::iter::from_fn(|| lines.next()).flatten().collect()
    }

    fn lines(include: IncludeObject) -> Vec<Value> {
        let kind = kinds::named("", "configmaps").unwrap();
        let format =
            ResponseFormat { media: Media::Json, shape: Shape::Table("v1"), pretty: false };
        let features = Features::default();
        let view = View { format, include, now: Timestamp::UNIX_EPOCH, features };
        let frames = Frames::new(kind.clone(), view, Arc::default());
        let mut value = json!({"metadata": {"name": "a", "namespace": "n"}});
        document::canonical(kind, &mut value);
        let new = document::stored(kind, &value);
        let (labels, fields, encoded) = (new.labels, new.fields, new.encoded);
        let object = Object { key: "n/a".into(), revision: 7, labels, fields, encoded };
        let mut out = Lines::default();
        frames.added(&mut out, &Arc::new(object.clone()));
        frames.event(&mut out, Seen::Modified(&Arc::new(object)), 8);
        frames.bookmark(&mut out, 9, true);
        let out = whole(out);
        let lines = out[..].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    #[test]
    fn only_the_first_table_of_a_watch_defines_its_columns() {
        let headed: Vec<bool> = lines(IncludeObject::Metadata)
            .iter()
            .map(|line| !line["object"]["columnDefinitions"].is_null())
            .collect();
        assert_eq!(headed, [true, false, false]);
    }

    #[test]
    fn without_its_gate_a_field_of_services_is_stored_and_not_shown() {
        let kind = kinds::named("", "services").unwrap();
        let mut value = json!({"metadata": {"name": "a", "namespace": "n"},
            "spec": {"trafficDistribution": "PreferClose", "type": "ClusterIP"}});
        document::canonical(kind, &mut value);
        let new = document::stored(kind, &value);
        let (labels, fields, encoded) = (new.labels, new.fields, new.encoded);
        let object = Arc::new(Object { key: "n/a".into(), revision: 7, labels, fields, encoded });
        for (service_traffic_distribution, shape, shown) in [
            (true, Shape::Object, json!("PreferClose")),
            (false, Shape::Object, Value::Null),
            (true, Shape::Table("v1"), json!("PreferClose")),
            (false, Shape::Table("v1"), Value::Null),
        ] {
            let format = ResponseFormat { media: Media::Json, shape, pretty: false };
            let (include, now) = (IncludeObject::Object, Timestamp::UNIX_EPOCH);
            let features = Features { service_traffic_distribution, ..Features::default() };
            let frames =
                Frames::new(kind.clone(), View { format, include, now, features }, Arc::default());
            let mut out = Lines::default();
            frames.added(&mut out, &object);
            let line: Value = serde_json::from_slice(&whole(out)).unwrap();
            let object = match shape {
                Shape::Table(_) => &line["object"]["rows"][0]["object"],
                _ => &line["object"],
            };
            assert_eq!(object["spec"]["trafficDistribution"], shown, "{features:?} {shape:?}");
            assert_eq!(object["spec"]["type"], "ClusterIP");
        }
    }

    #[test]
    fn events_in_protobuf_follow_their_length() {
        let kind = kinds::named("", "configmaps").unwrap();
        let mut value = json!({"metadata": {"name": "a", "namespace": "n"}, "data": {"k": "v"}});
        document::canonical(kind, &mut value);
        let new = document::stored(kind, &value);
        let (labels, fields, encoded) = (new.labels, new.fields, new.encoded);
        let object = Arc::new(Object { key: "n/a".into(), revision: 7, labels, fields, encoded });
        let unreadable = Object { encoded: "]".into(), ..(*object).clone() };
        for (shape, kind_shown) in
            [(Shape::Object, "ConfigMap"), (Shape::Partial("v1"), "PartialObjectMetadata")]
        {
            let format = ResponseFormat { media: Media::Protobuf, shape, pretty: false };
            let (include, now) = (IncludeObject::Metadata, Timestamp::UNIX_EPOCH);
            let view = View { format, include, now, features: Features::default() };
            let frames = Frames::new(kind.clone(), view, Arc::default());
            let mut out = Lines::default();
            frames.added(&mut out, &object);
            frames.bookmark(&mut out, 9, true);
            frames.event(&mut out, Seen::Modified(&Arc::new(unreadable.clone())), 8);
            let mut rest = &whole(out)[..];
            let mut kinds = Vec::new();
            while let Some((length, after)) = rest.split_first_chunk::<4>() {
                let (frame, after) = after.split_at(u32::from_be_bytes(*length) as usize);
                let body = frame.windows(4).position(|four| four == b"k8s\0").unwrap();
                kinds.push(protobuf::decode(&frame[body..]).unwrap().1);
                rest = after;
            }
            assert_eq!(kinds, [kind_shown, kind_shown, "Status"]);
        }
    }

    #[test]
    fn a_bookmark_as_a_table_has_its_annotation_in_a_row() {
        for include in [IncludeObject::None, IncludeObject::Metadata, IncludeObject::Object] {
            let bookmark = &lines(include)[2]["object"];
            assert_eq!(bookmark["metadata"], json!({"resourceVersion": "9"}));
            let metadata = &bookmark["rows"][0]["object"]["metadata"];
            assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true", "{include:?}");
            assert_eq!(metadata["resourceVersion"], "9");
        }
    }
}
