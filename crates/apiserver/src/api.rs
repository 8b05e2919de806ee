//! State shared by all verbs, and one request as they see it.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use evenkeel_admin::{health::Health, supervisor::Supervisor};
use evenkeel_model::labels::LabelSelector;
use evenkeel_store::{
    Revision, Selector,
    selector::{FieldError, FieldSelector},
};
use http::{HeaderMap, Method};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    answer::View,
    authorizer::Authorizer,
    body::Body,
    custom,
    fairness::{Fairness, HeldSeat},
    identity::{Attributes, Tokens, User},
    journal::Writable,
    kinds::{Admission, KindRef, catalogue::CatalogueCell, names},
    meters::Meters,
    metrics::Metrics,
    pools::Pools,
    registry::Registry,
    request::{Query, Resource},
    serve::Kill,
    server::health::Started,
    settings::Settings,
    status::{Failure, Result},
    storage::Storage,
    tokens::{self, AccountTokens},
    verbs::watch::encoded::Encoded,
    watchers::Watchers,
};

/// The server without its sockets.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) storage: Storage,
    /// Everything served.
    pub(crate) catalogue: CatalogueCell,
    pub(crate) authorizer: Authorizer,
    pub(crate) fairness: Fairness,
    pub(crate) pools: Arc<Pools>,
    pub(crate) settings: Settings,
    pub(crate) tokens: Tokens,
    /// Tokens of ServiceAccounts.
    pub(crate) accounts: Arc<AccountTokens>,
    pub(crate) health: Health,
    pub(crate) started: Started,
    /// Whether the journal accepts writes.
    pub(crate) writable: watch::Receiver<Writable>,
    pub(crate) metrics: Metrics,
    pub(crate) meters: Meters,
    pub(crate) watchers: Watchers,
    pub(crate) encoded: Arc<Encoded>,
    /// The revision since which Services have been shown in their current form.
    pub(crate) services_shown_since: OnceLock<Revision>,
    pub(crate) address: SocketAddr,
    /// The CA certificate for clients, in PEM.
    pub(crate) authority: watch::Sender<String>,
    /// Ends all watches.
    pub(crate) stop: CancellationToken,
    /// Restarts background tasks that fail.
    pub(crate) supervisor: Supervisor,
    #[cfg(test)]
    pub(crate) faults: crate::faults::Faults,
}

/// One resource request, parsed as far as all verbs need it.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a Method,
    pub(crate) resource: &'a Resource,
    pub(crate) query: &'a Query<'a>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) view: View,
    /// Aborts the response if its client does not read it.
    pub(crate) kill: &'a Kill,
    pub(crate) user: &'a User,
    /// The seat of the request.
    pub(crate) seat: &'a HeldSeat,
}

impl Api {
    pub(crate) fn admission(&self, now: Timestamp) -> Admission {
        Admission { now, features: self.settings.features }
    }

    /// `/metrics`, including metrics computed on request.
    pub(crate) fn metrics_text(&self) -> String {
        for kind in self.catalogue.load().stored() {
            let count = self.storage.state().count(kind.id());
            let gauge = self.metrics.objects(kind.resource());
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.metrics.text()
    }

    /// The user of a token: of a ServiceAccount, or from the token file.
    pub(crate) fn user_of_token(&self, token: &str) -> Option<Arc<User>> {
        tokens::user(self, token)
    }

    /// Authorizes a request of a user.
    pub(crate) fn authorize(
        &self,
        user: &User,
        attributes: &Attributes<'_>,
    ) -> std::result::Result<(), String> {
        self.authorizer.check(&self.storage, user, attributes)
    }
}

impl Call<'_> {
    pub(crate) fn kind(&self) -> &KindRef {
        &self.resource.kind
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.resource.namespace.as_deref()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.view.now
    }

    /// The registry as this call's user uses it.
    pub(crate) fn registry<'a>(&'a self, api: &'a Api, dry_run: bool) -> Registry<'a> {
        Registry { api, user: self.user, now: self.now(), dry_run }
    }

    pub(crate) fn body(&self) -> Body<'_> {
        Body { content_type: self.content_type(), bytes: &self.body }
    }

    pub(crate) fn content_type(&self) -> &str {
        let found = self.headers.get(http::header::CONTENT_TYPE);
        found.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The key of an object with this name.
    pub(crate) fn key(&self, name: &str) -> String {
        key(self.namespace(), name)
    }

    /// The selector from `labelSelector`, `fieldSelector` and the namespace of the path.
    pub(crate) fn selector(&self) -> Result<Selector> {
        let kind = self.kind();
        let labels = LabelSelector::parse(self.query.text("labelSelector"), names::LABELS);
        let labels = labels.map_err(Failure::bad_request)?;
        let own: Vec<&str> = match &kind.custom {
            Some(custom) => custom.selectable.iter().map(|(label, _)| &**label).collect(),
            None => kind.fields.iter().map(|(name, _)| *name).collect(),
        };
        let fields = FieldSelector::parse(self.query.text("fieldSelector"), &own);
        let mut fields = fields.map_err(|problem| match (problem, &kind.custom) {
            (FieldError::Unknown(label), Some(_)) => FieldError::NotSupported(label),
            (problem, _) => problem,
        });
        if kind.custom.is_some() && !own.is_empty() {
            fields = fields.map(|fields| fields.reading(custom::select::reader(kind)));
        }
        let mut fields = fields.map_err(|problem| Failure::bad_request(problem.to_string()))?;
        // Nodes and namespaces have their own conversion, which omits it.
        let has_own_conversion = !own.is_empty() || kind.custom.is_some();
        if !kind.namespaced && has_own_conversion && fields.has_namespace() {
            return Err(Failure::bad_request("field label not supported: metadata.namespace"));
        }
        if self.resource.watch && !self.resource.name.is_empty() {
            fields = fields.and_name(&self.resource.name);
        }
        Ok(Selector::new(kind.namespaced, self.namespace(), labels, fields))
    }
}

pub(crate) fn key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// The name in an object's metadata.
pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
