//! A server without sockets, called as its administrator.

use std::{path::Path, sync::Arc};

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower_service::Service as _;

use crate::{
    api::Api,
    chain::Chain,
    identity::{Certificate, MASTERS, Tokens, User},
    serve::Peer,
    server::{
        assemble::{Known, assemble},
        builtin,
    },
    settings::{Authorization, Features, IpRange, Settings},
    shutdown::Stop,
    writer::Writer,
};

/// Without background tasks.
pub(crate) struct Server {
    pub(crate) api: Arc<Api>,
    writer: Writer,
}

impl Server {
    /// With the objects in a folder.
    pub(crate) async fn start(data: Option<&Path>) -> Server {
        let address = "127.0.0.1:6443".parse().unwrap();
        let settings = Settings {
            data: data.map(Path::to_path_buf),
            listen: address,
            service_ranges: vec![IpRange { first: "10.9.0.0".parse().unwrap(), prefix: 24 }],
            node_ports: (30000, 30100),
            features: Features::default(),
            housekeeping: false,
            tokens: None,
            authorization: Authorization::default(),
            anonymous_health: true,
            sandbox: None,
        };
        let known = Known { tokens: Tokens::default(), address, authority: String::new() };
        let (api, writer) = assemble(settings, data, known, &Stop::default()).unwrap();
        builtin::create(&api).await.unwrap();
        Server { api, writer }
    }

    pub(crate) fn stop(self) {
        drop(self.api);
        self.writer.stop();
    }

    /// Dropping the future simulates a client that disconnects.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> impl Future<Output = (u16, Value)> + use<> {
        let user =
            User { name: "admin".to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() };
        let certificate = Certificate::Of { user: Arc::new(user), ends: i64::MAX };
        let bytes = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .extension(Peer::new(certificate))
            .body(Body::from(bytes))
            .unwrap();
        let answered = Chain::new(&self.api).call(request);
        async move {
            let Ok(response) = answered.await;
            let code = response.status().as_u16();
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            (code, serde_json::from_slice(&bytes).unwrap_or_default())
        }
    }

    pub(crate) async fn items(&self, path: &str) -> Vec<Value> {
        let (_, list) = self.ask(Method::GET, path, &Value::Null).await;
        list["items"].as_array().cloned().unwrap_or_default()
    }
}
