//! The ports of a slice.

use std::sync::Arc;

use evenkeel_model::{EndpointPort, Protocol};
use serde::de::{MapAccess, SeqAccess};

use super::{
    checked,
    json::{self, Fields, Items, Object},
    tables::Texts,
};
use crate::FieldError;

pub(super) struct Ports<'r> {
    texts: &'r mut Texts,
    read: Result<Vec<EndpointPort>, FieldError>,
    index: usize,
}

struct PortFields<'r> {
    texts: &'r mut Texts,
    name: Option<Arc<str>>,
    protocol: Option<Result<Protocol, String>>,
    port: Option<i32>,
    app_protocol: Option<Arc<str>>,
}

// === impl Ports ===

impl<'r> Ports<'r> {
    pub(super) fn new(texts: &'r mut Texts) -> Self {
        Ports { texts, read: Ok(Vec::new()), index: 0 }
    }

    /// All ports, or what is wrong with the first that is not right.
    pub(super) fn finish(self) -> Result<Vec<EndpointPort>, FieldError> {
        self.read
    }
}

impl Items for Ports<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut fields = PortFields::new(self.texts);
        if items.next_element_seed(Object(&mut fields))?.is_none() {
            return Ok(false);
        }
        if let Ok(ports) = &mut self.read {
            match fields.finish(self.index) {
                Ok(port) => ports.push(port),
                Err(error) => self.read = Err(error),
            }
        }
        self.index += 1;
        Ok(true)
    }
}

// === impl PortFields ===

impl<'r> PortFields<'r> {
    fn new(texts: &'r mut Texts) -> Self {
        PortFields { texts, name: None, protocol: None, port: None, app_protocol: None }
    }

    fn finish(self, index: usize) -> Result<EndpointPort, FieldError> {
        let wrong =
            |name| move |problem| FieldError::new(format!("ports[{index}].{name}"), problem);
        let protocol = self.protocol.unwrap_or(Ok(Protocol::Tcp));
        let port = self.port.map(checked::port).transpose();
        Ok(EndpointPort {
            name: self.texts.or_empty(self.name),
            protocol: protocol.map_err(wrong("protocol"))?,
            port: port.map_err(wrong("port"))?,
            app_protocol: self.app_protocol,
        })
    }
}

impl Fields for PortFields<'_> {
    const EXPECTED: &'static str = "EndpointPort";

    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.name = json::text(values, |name| self.texts.share(name))?,
            "protocol" => self.protocol = json::text(values, checked::protocol)?,
            "port" => self.port = values.next_value()?,
            "appProtocol" => self.app_protocol = json::text(values, |name| self.texts.share(name))?,
            _ => json::skip(values)?,
        }
        Ok(())
    }
}
