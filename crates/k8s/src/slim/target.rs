//! The object behind an endpoint.

use std::sync::Arc;

use evenkeel_model::Target;
use serde::de::MapAccess;

use super::{
    json::{self, Fields},
    tables::Texts,
};

pub(super) struct TargetFields<'r> {
    texts: &'r mut Texts,
    kind: Option<Arc<str>>,
    namespace: Option<Arc<str>>,
    name: Option<Arc<str>>,
    uid: Option<Arc<str>>,
}

// === impl TargetFields ===

impl<'r> TargetFields<'r> {
    pub(super) fn new(texts: &'r mut Texts) -> Self {
        TargetFields { texts, kind: None, namespace: None, name: None, uid: None }
    }

    pub(super) fn finish(self) -> Target {
        let TargetFields { texts, kind, namespace, name, uid } = self;
        let mut text = |given| texts.or_empty(given);
        Target { kind: text(kind), namespace: text(namespace), name: text(name), uid: text(uid) }
    }
}

impl Fields for TargetFields<'_> {
    const EXPECTED: &'static str = "ObjectReference";

    /// Names and uids are all different, so that sharing them would only take time.
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "kind" => self.kind = json::text(values, |kind| self.texts.share(kind))?,
            "namespace" => self.namespace = json::text(values, |name| self.texts.share(name))?,
            "name" => self.name = json::text(values, |text| text.into())?,
            "uid" => self.uid = json::text(values, |text| text.into())?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
