//! The ports that changed.

use evenkeel_model::PortId;

use super::{Detail, EndpointChange, PortView, View};

/// What changed since changes were last asked for. While it is there the view stays as it is; once it
/// is dropped, these changes are forgotten, so that each consumer must look at all of them first.
#[derive(Debug)]
pub struct Changes<'v, E: Detail = ()> {
    view: &'v mut View<E>,
}

/// A port that changed.
#[derive(Debug)]
pub struct PortChange<'a, E = ()> {
    pub id: PortId,
    pub kind: ChangeKind<'a, E>,
}

#[derive(Debug)]
pub enum ChangeKind<'a, E = ()> {
    /// The port is new: all of its endpoints are.
    Added(PortView<'a, E>),
    Changed {
        port: PortView<'a, E>,
        /// The Service itself has changed: its frontends, policies or ports.
        service: bool,
        /// The endpoints that changed, each once.
        endpoints: &'a [EndpointChange],
    },
    /// The port is gone. Its id may mean another one the next time.
    Removed,
}

// === impl Changes ===

impl<'v, E: Detail> Changes<'v, E> {
    pub(super) fn new(view: &'v mut View<E>) -> Self {
        view.log.squash(&view.ports);
        Changes { view }
    }

    pub fn view(&self) -> &View<E> {
        self.view
    }

    pub fn is_empty(&self) -> bool {
        self.ports().next().is_none()
    }

    /// Each port once, those that are gone first.
    pub fn ports(&self) -> impl Iterator<Item = PortChange<'_, E>> {
        let View { log, .. } = &*self.view;
        let removed = log.removed.iter().map(|&id| PortChange { id, kind: ChangeKind::Removed });
        removed.chain(log.ports.iter().filter_map(|&id| {
            let port = self.view.port(id)?;
            let kind = match port.port.is_new {
                true => ChangeKind::Added(port),
                false => ChangeKind::Changed {
                    port,
                    service: port.port.service_changed,
                    endpoints: log.of_port(id),
                },
            };
            Some(PortChange { id, kind })
        }))
    }
}

impl<E: Detail> Drop for Changes<'_, E> {
    fn drop(&mut self) {
        let View { log, ports, services, .. } = &mut *self.view;
        for id in &log.ports {
            if let Some(port) = ports.get_mut(*id) {
                (port.is_listed, port.is_new, port.service_changed) = (false, false, false);
            }
        }
        log.clear();
        ports.recycle();
        services.recycle();
    }
}
