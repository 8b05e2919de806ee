//! A server without sockets, called as its administrator: for tests and for the fuzzer.

use std::{path::Path, sync::Arc};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, request::Builder};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use tower_service::Service as _;

use super::{
    Error,
    assemble::{Known, assemble},
};
use crate::{
    api::Api,
    chain::Chain,
    identity::{Certificate, MASTERS, Tokens, User},
    serve::Peer,
    settings::Settings,
    shutdown::Stop,
    tokens::Keys,
    writer::Writer,
};

/// Without background tasks. [`InProcess::stop`] must not be called on a thread that runs them.
pub(crate) struct InProcess {
    pub(crate) api: Arc<Api>,
    writer: Writer,
}

/// Kubernetes' default ranges, no sandbox, no housekeeping.
pub(crate) fn settings() -> Settings {
    let listen = ([127, 0, 0, 1], 6443).into();
    Settings { listen, housekeeping: false, ..Settings::default() }
}

/// The certificate of a member of `system:masters`.
pub(crate) fn administrator() -> Certificate {
    let groups = vec![MASTERS.to_owned()];
    let user = Arc::new(User { name: "admin".to_owned(), groups, ..User::default() });
    Certificate::Of { user, ends: i64::MAX }
}

impl InProcess {
    /// With the objects in `journal`, or none; a runtime must be entered.
    pub(crate) fn start(settings: Settings, journal: Option<&Path>) -> Result<InProcess, Error> {
        let address = settings.listen;
        let keys = Keys::in_memory(Timestamp::now())?;
        let authority = "a CA".to_owned();
        let known = Known { tokens: Tokens::default(), keys, address, authority };
        let (api, writer) = assemble(settings, journal, known, &Stop::default())?;
        Ok(InProcess { api, writer })
    }

    /// Waits for the writer.
    pub(crate) fn stop(self) {
        drop(self.api);
        self.writer.stop();
    }

    /// The status code and the whole body. Dropping the future simulates a client that disconnects.
    ///
    /// # Panics
    /// If the request is malformed or the response's body fails.
    pub(crate) fn send<B: Into<Body>>(
        &self,
        request: Builder,
        body: B,
        certificate: Certificate,
    ) -> impl Future<Output = (u16, Bytes)> + use<B> {
        let request: Request<Body> = request
            .extension(Peer::new(certificate))
            .body(body.into())
            .expect("callers pass valid paths and headers");
        let answered = Chain::new(&self.api).call(request);
        async move {
            let Ok(response) = answered.await;
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.expect("a body of ours has an end");
            (code, body.to_bytes())
        }
    }
}
