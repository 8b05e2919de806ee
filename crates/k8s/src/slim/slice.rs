//! One EndpointSlice.

use evenkeel_model::{AddressType, Endpoint, EndpointPort, Slice};
use serde::de::MapAccess;

use super::{
    Named, checked,
    endpoint::{self, Endpoints},
    json::{self, Fields},
    metadata::{Metadata, MetadataFields},
    port::Ports,
    tables::Tables,
};
use crate::FieldError;

pub(super) const API_VERSION: &str = "discovery.k8s.io/v1";

/// The parts of a slice as they come. A wrong value is kept instead of told at once: one that
/// comes later may weigh more, and a value of a wrong type weighs most.
pub(super) struct SliceFields<'r, 't> {
    tables: &'r mut Tables<'t>,
    metadata: Metadata,
    address_type: Option<Result<AddressType, String>>,
    ports: Result<Vec<EndpointPort>, FieldError>,
    endpoints: Result<Vec<Endpoint>, FieldError>,
    /// What the addresses of the endpoints were read as. An API server writes the address type
    /// first; without it they are read as names, which lose nothing.
    read_as: AddressType,
}

// === impl SliceFields ===

impl<'r, 't> SliceFields<'r, 't> {
    pub(super) fn new(tables: &'r mut Tables<'t>) -> Self {
        SliceFields {
            tables,
            metadata: Metadata::default(),
            address_type: None,
            ports: Ok(Vec::new()),
            endpoints: Ok(Vec::new()),
            read_as: AddressType::Fqdn,
        }
    }

    pub(super) fn finish(mut self) -> Result<Named<Slice>, Named<FieldError>> {
        let Metadata { namespace, name, resource_version, deleting, labels, owner } =
            std::mem::take(&mut self.metadata);
        let texts = &mut self.tables.texts;
        let named = Named {
            namespace: texts.or_empty(namespace),
            name: texts.or_empty(name),
            resource_version: resource_version.unwrap_or_default(),
            deleting,
            object: (),
        };
        let name = named.name.clone();
        match self.contents() {
            Ok((address_type, ports, endpoints)) => Ok(named.with(Slice {
                name,
                address_type,
                ports,
                endpoints,
                owner,
                labels,
                shares: None,
            })),
            Err(error) => Err(named.with(error)),
        }
    }

    /// Of several wrong values the first counts, in this order.
    fn contents(self) -> Result<(AddressType, Vec<EndpointPort>, Vec<Endpoint>), FieldError> {
        let address_type = self.address_type.unwrap_or_else(|| checked::address_type(""));
        let kind = address_type.map_err(|problem| FieldError::new("addressType", problem))?;
        let ports = self.ports?;
        if self.read_as != kind && self.read_as != AddressType::Fqdn {
            let problem = format!("{kind} after the endpoints, but {} before them", self.read_as);
            return Err(FieldError::new("addressType", problem));
        }
        let mut endpoints = self.endpoints?;
        if self.read_as != kind {
            endpoint::retype(&mut endpoints, kind)?;
        }
        Ok((kind, ports, endpoints))
    }

    fn metadata<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let texts = &mut self.tables.texts;
        let mut fields = MetadataFields { texts, metadata: Metadata::default() };
        json::object(values, &mut fields)?;
        self.metadata = fields.metadata;
        Ok(())
    }

    fn endpoints<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        self.read_as = match self.address_type {
            Some(Ok(kind)) => kind,
            None | Some(Err(_)) => AddressType::Fqdn,
        };
        let mut endpoints = Endpoints::new(self.tables, self.read_as);
        json::array(values, &mut endpoints)?;
        self.endpoints = endpoints.finish();
        Ok(())
    }

    fn ports<'de, A: MapAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        let mut ports = Ports::new(&mut self.tables.texts);
        json::array(values, &mut ports)?;
        self.ports = ports.finish();
        Ok(())
    }
}

impl Fields for SliceFields<'_, '_> {
    const EXPECTED: &'static str = "EndpointSlice";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "apiVersion" => json::constant(values, API_VERSION)?,
            "kind" => json::constant(values, "EndpointSlice")?,
            "metadata" => self.metadata(values)?,
            "addressType" => self.address_type = json::text(values, checked::address_type)?,
            "endpoints" => self.endpoints(values)?,
            "ports" => self.ports(values)?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
