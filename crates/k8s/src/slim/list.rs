//! A list of EndpointSlices.

use serde::de::{MapAccess, SeqAccess};

use super::{
    Slices,
    json::{self, Fields, Items, Object},
    slice::{API_VERSION, SliceFields},
    tables::Tables,
};

pub(super) struct ListFields<'r, 't> {
    tables: &'r mut Tables<'t>,
    slices: Slices,
}

struct ListMetadata<'r>(&'r mut Slices);

// === impl ListFields ===

impl<'r, 't> ListFields<'r, 't> {
    pub(super) fn new(tables: &'r mut Tables<'t>) -> Self {
        ListFields { tables, slices: Slices::default() }
    }

    pub(super) fn finish(self) -> Slices {
        self.slices
    }

    fn metadata<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        self.slices.resource_version = Box::default();
        self.slices.continue_token = None;
        json::object(values, &mut ListMetadata(&mut self.slices)).map(drop)
    }

    fn items<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        self.slices.slices.clear();
        self.slices.refused.clear();
        json::array(values, self)
    }
}

impl Fields for ListFields<'_, '_> {
    const EXPECTED: &'static str = "EndpointSliceList";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "apiVersion" => json::constant(values, API_VERSION),
            "kind" => json::constant(values, "EndpointSliceList"),
            "metadata" => self.metadata(values),
            "items" => self.items(values),
            _ => json::skip(values),
        }
    }
}

impl Items for ListFields<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut fields = SliceFields::new(self.tables);
        if items.next_element_seed(Object(&mut fields))?.is_none() {
            return Ok(false);
        }
        match fields.finish() {
            Ok(slice) => self.slices.slices.push(slice),
            Err(refused) => self.slices.refused.push(refused),
        }
        Ok(true)
    }
}

// === impl ListMetadata ===

impl Fields for ListMetadata<'_> {
    const EXPECTED: &'static str = "ListMeta";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "resourceVersion" => {
                self.0.resource_version =
                    json::text(values, |text| text.into())?.unwrap_or_default();
            }
            "continue" => {
                let token: Option<Box<str>> = json::text(values, |text| text.into())?;
                self.0.continue_token = token.filter(|token| !token.is_empty());
            }
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
