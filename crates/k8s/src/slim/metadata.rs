//! What a slice says about itself.

use std::{collections::BTreeMap, sync::Arc};

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::{
    json::{self, Fields, Items, Object, Text},
    tables::Texts,
};

#[derive(Default)]
pub(super) struct Metadata {
    pub(super) namespace: Option<Arc<str>>,
    pub(super) name: Option<Arc<str>>,
    pub(super) resource_version: Option<Box<str>>,
    pub(super) deleting: bool,
    pub(super) labels: BTreeMap<Arc<str>, Arc<str>>,
    /// The uid of the Service that owns the object.
    pub(super) owner: Option<Arc<str>>,
}

pub(super) struct MetadataFields<'r> {
    pub(super) texts: &'r mut Texts,
    pub(super) metadata: Metadata,
}

struct Labels<'r> {
    texts: &'r mut Texts,
    labels: BTreeMap<Arc<str>, Arc<str>>,
}

struct Owners<'r> {
    texts: &'r mut Texts,
    service: Option<Arc<str>>,
}

struct OwnerFields<'r> {
    texts: &'r mut Texts,
    is_service: bool,
    is_v1: bool,
    uid: Option<Arc<str>>,
}

// === impl MetadataFields ===

impl MetadataFields<'_> {
    fn labels<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut labels = Labels { texts: self.texts, labels: BTreeMap::new() };
        json::object(values, &mut labels)?;
        self.metadata.labels = labels.labels;
        Ok(())
    }

    fn owner<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut owners = Owners { texts: self.texts, service: None };
        json::array(values, &mut owners)?;
        self.metadata.owner = owners.service;
        Ok(())
    }
}

impl Fields for MetadataFields<'_> {
    const EXPECTED: &'static str = "ObjectMeta";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        let MetadataFields { texts, metadata } = self;
        match key {
            "namespace" => metadata.namespace = json::text(values, |name| texts.share(name))?,
            "name" => metadata.name = json::text(values, |text| text.into())?,
            "resourceVersion" => {
                metadata.resource_version = json::text(values, |text| text.into())?;
            }
            "deletionTimestamp" => {
                metadata.deleting = values.next_value::<Option<IgnoredAny>>()?.is_some();
            }
            "labels" => self.labels(values)?,
            "ownerReferences" => self.owner(values)?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}

// === impl Labels ===

impl Fields for Labels<'_> {
    const EXPECTED: &'static str = "a map";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        let key = self.texts.share(key);
        let value = values.next_value_seed(Text(|value: &str| self.texts.share(value)))?;
        self.labels.insert(key, value);
        Ok(())
    }
}

// === impl Owners ===

impl Items for Owners<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut fields =
            OwnerFields { texts: self.texts, is_service: false, is_v1: false, uid: None };
        if items.next_element_seed(Object(&mut fields))?.is_none() {
            return Ok(false);
        }
        if fields.is_service && fields.is_v1 && self.service.is_none() {
            self.service = Some(fields.texts.or_empty(fields.uid));
        }
        Ok(true)
    }
}

// === impl OwnerFields ===

impl Fields for OwnerFields<'_> {
    const EXPECTED: &'static str = "OwnerReference";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "apiVersion" => self.is_v1 = json::text(values, |name| name == "v1")? == Some(true),
            "kind" => self.is_service = json::text(values, |name| name == "Service")? == Some(true),
            "uid" => self.uid = json::text(values, |uid| self.texts.share(uid))?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
