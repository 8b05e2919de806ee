//! Authorization as a request meets it: the layer of the chain over a server's stored roles.

use http::{Method, Request};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{
    identity::{Attributes, On, User},
    server::{
        builtin,
        in_process::{InProcess, administrator, settings},
    },
};

const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A server with Kubernetes' default roles and some more.
pub struct Authorizations {
    runtime: Runtime,
    server: InProcess,
    user: User,
}

impl std::fmt::Debug for Authorizations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizations").finish_non_exhaustive()
    }
}

impl Authorizations {
    /// With as many further ClusterRoles, each with a binding: every other one for a group of the
    /// user. `None` if the machine lacks the resources for it.
    pub fn start(n_roles: usize) -> Option<Authorizations> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().ok()?;
        let server = {
            let _entered = runtime.enter();
            InProcess::start(settings(), None).ok()?
        };
        runtime.block_on(builtin::create(&server.api)).ok()?;
        let groups = ["developers", "team-17", "system:authenticated"];
        let user = User {
            name: "bob".to_owned(),
            groups: groups.map(str::to_owned).into(),
            ..User::default()
        };
        let all = Authorizations { runtime, server, user };
        for number in 0..n_roles {
            let name = format!("role-{number}");
            let rule = json!({
                "verbs": ["get", "list"], "apiGroups": ["example.com"],
                "resources": [format!("things-{number}")],
            });
            all.create("clusterroles", &json!({"metadata": {"name": name}, "rules": [rule]}))?;
            let group = if number % 2 == 0 { "developers".to_owned() } else { name.clone() };
            all.create("clusterrolebindings", &binding(&name, &name, &group))?;
        }
        all.create("clusterrolebindings", &binding("pods", "system:node", "developers"))?;
        all.allowed().then_some(all)
    }

    /// A request that a role allows.
    pub fn allowed(&self) -> bool {
        self.allows("pods", "get")
    }

    /// A request that no role allows.
    pub fn denied(&self) -> bool {
        !self.allows("secrets", "deletecollection")
    }

    /// Creates a binding, asks, and deletes it.
    pub fn change(&self) -> bool {
        let path = format!("{GROUP}/clusterrolebindings/changed");
        let created = self.create("clusterrolebindings", &binding("changed", "view", "team-17"));
        let gone = self.send(Method::DELETE, &path, &Value::Null);
        created.is_some() && gone == 200 && self.denied()
    }

    fn allows(&self, resource: &str, verb: &str) -> bool {
        let (group, namespace, name) = ("", "shop", "web-1");
        let on = On::Resource { group, resource, subresource: "", namespace, name };
        let asked = Attributes { verb, on, field_selector: "" };
        self.server.api.authorizer.allows(&self.server.api.storage, &self.user, &asked)
    }

    fn create(&self, plural: &str, body: &Value) -> Option<()> {
        (self.send(Method::POST, &format!("{GROUP}/{plural}"), body) == 201).then_some(())
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> u16 {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.runtime.block_on(self.server.send(request, body, administrator())).0
    }
}

fn binding(name: &str, role: &str, group: &str) -> Value {
    let of = "rbac.authorization.k8s.io";
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": of, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": of, "kind": "Group", "name": group}],
    })
}
