//! Requests as the handler chain serves them, with and without priority and fairness.

use std::sync::Arc;

use http::Request;
use tokio::runtime::{Builder, Runtime};

use crate::{
    identity::{Certificate, User},
    server::{
        builtin,
        in_process::{InProcess, settings},
    },
    settings::{Authorization, Settings},
};

/// A server and a user of it, whose requests are of the level `global-default`.
pub struct Admissions {
    runtime: Runtime,
    server: InProcess,
    user: Certificate,
}

impl std::fmt::Debug for Admissions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admissions").finish_non_exhaustive()
    }
}

impl Admissions {
    /// `None` if the machine lacks the resources for it.
    pub fn start(fairness: bool) -> Option<Admissions> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let mut settings = Settings { authorization: Authorization::AlwaysAllow, ..settings() };
        settings.fairness.enabled = fairness;
        let server = {
            let _entered = runtime.enter();
            InProcess::start(settings, None).ok()?
        };
        runtime.block_on(builtin::create(&server.api)).ok()?;
        let user = User { name: "bob".to_owned(), ..User::default() }.authenticated();
        let user = Certificate::Of { user: Arc::new(user), ends: i64::MAX };
        let all = Admissions { runtime, server, user };
        (all.get() == 200).then_some(all)
    }

    /// The status code of a get, all of it on this thread.
    pub fn get(&self) -> u16 {
        let request = Request::builder().uri("/api/v1/namespaces/default");
        self.runtime.block_on(self.server.send(request, "", self.user.clone())).0
    }
}
