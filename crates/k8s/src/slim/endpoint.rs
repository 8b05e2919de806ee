//! The endpoints of a slice.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use evenkeel_model::{Address, AddressType, Conditions, Endpoint, Few, Hints};
use serde::de::{MapAccess, SeqAccess};

use super::{
    checked,
    hints::{HintFields, Several},
    json::{self, Fields, Items, Object, Text},
    tables::Tables,
    target::TargetFields,
};
use crate::FieldError;

pub(super) struct Endpoints<'r, 't> {
    tables: &'r mut Tables<'t>,
    kind: AddressType,
    wrong: Option<FieldError>,
}

struct EndpointFields<'r, 't> {
    tables: &'r mut Tables<'t>,
    kind: AddressType,
    endpoint: Endpoint,
    /// Which of the addresses is wrong, and how.
    wrong: Option<(usize, String)>,
}

struct Addresses {
    kind: AddressType,
    read: Several<Address>,
    wrong: Option<(usize, String)>,
}

struct ConditionFields(Conditions);

/// The addresses of `endpoints`, which were read as names, as what `kind` says they are.
pub(super) fn retype(endpoints: &mut [Endpoint], kind: AddressType) -> Result<(), FieldError> {
    for (index, endpoint) in endpoints.iter_mut().enumerate() {
        let mut read = Addresses::new(kind);
        endpoint.addresses.iter().for_each(|address| read.push(&address.to_string()));
        if let Some(wrong) = read.wrong {
            return Err(wrong_address(index, wrong));
        }
        endpoint.addresses = read.read.into();
    }
    Ok(())
}

fn wrong_address(index: usize, (nth, problem): (usize, String)) -> FieldError {
    FieldError::new(format!("endpoints[{index}].addresses[{nth}]"), problem)
}

// === impl Endpoints ===

impl<'r, 't> Endpoints<'r, 't> {
    pub(super) fn new(tables: &'r mut Tables<'t>, kind: AddressType) -> Self {
        // A text that could not be read has left its endpoints behind.
        tables.endpoints.clear();
        Endpoints { tables, kind, wrong: None }
    }

    /// All endpoints, or what is wrong with the first that is not right.
    pub(super) fn finish(self) -> Result<Vec<Endpoint>, FieldError> {
        self.wrong.map_or(Ok(self.tables.endpoints.drain(..).collect()), Err)
    }
}

impl Items for Endpoints<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut fields = EndpointFields::new(self.tables, self.kind);
        if items.next_element_seed(Object(&mut fields))?.is_none() {
            return Ok(false);
        }
        let EndpointFields { endpoint, wrong, .. } = fields;
        if let (Some(wrong), None) = (wrong, &self.wrong) {
            self.wrong = Some(wrong_address(self.tables.endpoints.len(), wrong));
        }
        self.tables.endpoints.push(endpoint);
        Ok(true)
    }
}

// === impl EndpointFields ===

impl<'r, 't> EndpointFields<'r, 't> {
    fn new(tables: &'r mut Tables<'t>, kind: AddressType) -> Self {
        let endpoint = Endpoint {
            addresses: Few::None,
            conditions: Conditions::default(),
            hostname: None,
            target: None,
            node: None,
            zone: None,
            hints: None,
        };
        EndpointFields { tables, kind, endpoint, wrong: None }
    }

    fn addresses<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut addresses = Addresses::new(self.kind);
        json::array(values, &mut addresses)?;
        self.wrong = addresses.wrong;
        self.endpoint.addresses = addresses.read.into();
        Ok(())
    }

    fn conditions<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut fields = ConditionFields(Conditions::default());
        json::object(values, &mut fields)?;
        self.endpoint.conditions = fields.0;
        Ok(())
    }

    fn target<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut fields = TargetFields::new(&mut self.tables.texts);
        let given = json::object(values, &mut fields)?;
        self.endpoint.target = given.map(|()| Arc::new(fields.finish()));
        Ok(())
    }

    fn hints<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut fields = HintFields { tables: self.tables, hints: Hints::default() };
        let given = json::object(values, &mut fields)?;
        self.endpoint.hints = given.map(|()| fields.hints);
        Ok(())
    }
}

impl Fields for EndpointFields<'_, '_> {
    const EXPECTED: &'static str = "Endpoint";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        let EndpointFields { tables, endpoint, .. } = self;
        match key {
            "addresses" => self.addresses(values)?,
            "conditions" => self.conditions(values)?,
            "hints" => self.hints(values)?,
            "hostname" => endpoint.hostname = json::text(values, |text| text.into())?,
            "nodeName" => {
                endpoint.node = json::text(values, |name| tables.node(name))?;
            }
            "targetRef" => self.target(values)?,
            "zone" => {
                endpoint.zone = json::text(values, |name| tables.zone(name))?;
            }
            _ => json::skip(values)?,
        }
        Ok(())
    }
}

// === impl Addresses ===

impl Addresses {
    fn new(kind: AddressType) -> Self {
        Addresses { kind, read: Several::default(), wrong: None }
    }

    /// A wrong address keeps its place, so that those after it are counted right.
    fn push(&mut self, text: &str) {
        let address = checked::address(self.kind, text).unwrap_or_else(|problem| {
            let nth = self.read.len();
            self.wrong.get_or_insert((nth, problem));
            Address::Ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
        });
        self.read.push(address);
    }
}

impl Items for Addresses {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let read = items.next_element_seed(Text(|text: &str| self.push(text)))?;
        Ok(read.is_some())
    }
}

// === impl ConditionFields ===

impl Fields for ConditionFields {
    const EXPECTED: &'static str = "EndpointConditions";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "ready" => self.0.ready = json::flag(values)?,
            "serving" => self.0.serving = json::flag(values)?,
            "terminating" => self.0.terminating = json::flag(values)?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
