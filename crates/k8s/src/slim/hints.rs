//! The hints of an endpoint.

use evenkeel_model::{Few, Hints};
use serde::de::{MapAccess, SeqAccess};

use super::{
    json::{self, Fields, Items, Object},
    tables::Tables,
};

pub(super) struct HintFields<'r, 't> {
    pub(super) tables: &'r mut Tables<'t>,
    pub(super) hints: Hints,
}

/// Items on the way to a [`Few`], which needs no heap for one of them.
pub(super) struct Several<T> {
    first: Option<T>,
    more: Vec<T>,
}

/// Zones or nodes that an endpoint is meant for: objects with nothing but a name.
struct HintedNames<R, T> {
    intern: R,
    ids: Several<T>,
}

struct HintedName<'r, R, T> {
    intern: &'r mut R,
    id: Option<T>,
}

// === impl HintFields ===

impl Fields for HintFields<'_, '_> {
    const EXPECTED: &'static str = "EndpointHints";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        let HintFields { tables, hints } = self;
        match key {
            "forZones" => hints.zones = ids(values, |name| tables.zone(name))?,
            "forNodes" => hints.nodes = ids(values, |name| tables.node(name))?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}

fn ids<'de, A: MapAccess<'de>, T>(
    values: &mut A,
    intern: impl FnMut(&str) -> T,
) -> Result<Few<T>, A::Error> {
    let mut hinted = HintedNames { intern, ids: Several::default() };
    json::array(values, &mut hinted)?;
    Ok(hinted.ids.into())
}

// === impl Several ===

impl<T> Several<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    pub(super) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.more.push(item),
        }
    }
}

impl<T> Default for Several<T> {
    fn default() -> Self {
        Several { first: None, more: Vec::new() }
    }
}

impl<T> From<Several<T>> for Few<T> {
    fn from(several: Several<T>) -> Self {
        several.first.into_iter().chain(several.more).collect()
    }
}

// === impl HintedNames ===

impl<T, R: FnMut(&str) -> T> Items for HintedNames<R, T> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut fields = HintedName { intern: &mut self.intern, id: None };
        if items.next_element_seed(Object(&mut fields))?.is_none() {
            return Ok(false);
        }
        let HintedName { intern, id } = fields;
        self.ids.push(id.unwrap_or_else(|| intern("")));
        Ok(true)
    }
}

// === impl HintedName ===

impl<T, R: FnMut(&str) -> T> Fields for HintedName<'_, R, T> {
    const EXPECTED: &'static str = "an object with a name";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.id = json::text(values, &mut *self.intern)?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
