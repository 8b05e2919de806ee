//! The paths of a resource and their operations.

use serde_json::{Map, Value};

use super::{
    connect,
    operation::{Answer, Body, Operation},
    parameters::{self, NAME, NAMESPACE, PRETTY, Parameter},
    resources::{Resource, capital, short},
};
use crate::kinds::{DeleteAnswers, Subresource};

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const WATCH_EVENT: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent";

/// A path with its operations.
pub(super) type PathItem = (String, Vec<Operation>);

/// All paths of a resource.
pub(super) fn of(resource: &Resource) -> Vec<PathItem> {
    let at = At::new(resource);
    let mut items = vec![(at.collection.clone(), at.collection_operations())];
    if resource.namespaced && resource.can("list") {
        items.push((format!("{}/{}", at.prefix, resource.plural), vec![at.list(Scope::All)]));
    }
    let object = format!("{}/{{name}}", at.collection);
    items.push((object.clone(), at.object_operations()));
    for subresource in resource.subresources {
        items.extend(at.subresource(subresource, &object));
    }
    if resource.can("watch") {
        items.extend(at.watches());
    }
    items.retain(|(_, operations)| !operations.is_empty());
    items
}

/// A path item for version 3: parameters common to all operations are stated once.
pub(super) fn v3(operations: &[Operation]) -> Value {
    let mut common: Vec<Parameter> =
        operations.first().map_or(Vec::new(), |first| first.parameters.clone());
    common.retain(|one| operations.iter().all(|operation| operation.parameters.contains(one)));
    let mut item: Map<String, Value> = operations
        .iter()
        .map(|operation| (operation.method.to_owned(), operation.v3(&common)))
        .collect();
    if !common.is_empty() {
        item.insert("parameters".to_owned(), common.iter().map(Parameter::v3).collect());
    }
    item.into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The object's own scope: its namespace, or the cluster.
    Own,
    /// All namespaces.
    All,
}

/// A resource and its paths.
#[derive(Debug)]
struct At<'a> {
    resource: &'a Resource,
    /// `/api/v1`, `/apis/apps/v1`.
    prefix: String,
    /// The path where objects are created and listed.
    collection: String,
}

// === impl At ===

impl<'a> At<'a> {
    fn new(resource: &'a Resource) -> At<'a> {
        let prefix = format!("/{}", resource.document());
        let collection = match resource.namespaced {
            true => format!("{prefix}/namespaces/{{namespace}}/{}", resource.plural),
            false => format!("{prefix}/{}", resource.plural),
        };
        At { resource, prefix, collection }
    }

    fn collection_operations(&self) -> Vec<Operation> {
        let resource = self.resource;
        let mut operations = Vec::new();
        if resource.can("list") {
            operations.push(self.list(Scope::Own));
        }
        if resource.can("create") {
            let mut create = self.operation("post", "post", "create", "");
            create.parameters.extend(parameters::WRITE);
            create.body = Some(Body::Object(resource.schema));
            create.answers = &["200", "201", "202"];
            operations.push(create);
        }
        if resource.can("deletecollection") {
            let mut delete = self.operation("delete", "deletecollection", "delete", "");
            delete.id = self.id("delete", "Collection", "");
            delete.parameters.extend(parameters::DELETE_WHICH);
            delete.parameters.extend(parameters::DELETE);
            delete.body = Some(Body::DeleteOptions);
            delete.answer = Answer::Object(STATUS.to_owned());
            operations.push(delete);
        }
        operations.into_iter().map(sorted).collect()
    }

    fn list(&self, scope: Scope) -> Operation {
        let mut list = self.operation("get", "list", "list", "");
        if scope == Scope::All {
            list.parameters.retain(|one| *one != NAMESPACE);
            list.id = self.id_of_all("list", "");
        }
        list.parameters.extend(parameters::LIST);
        list.answer = Answer::Stream(format!("{}List", self.resource.schema));
        sorted(list)
    }

    fn object_operations(&self) -> Vec<Operation> {
        let mut operations = self.parts("", None, self.resource.verbs);
        if self.resource.can("delete") {
            let mut delete = self.operation("delete", "delete", "delete", "");
            delete.parameters.extend(parameters::DELETE);
            delete.parameters.push(NAME);
            delete.body = Some(Body::DeleteOptions);
            delete.answers = &["200", "202"];
            if self.resource.delete_answers == DeleteAnswers::Status {
                delete.answer = Answer::Object(STATUS.to_owned());
            }
            operations.push(sorted(delete));
        }
        operations
    }

    /// Get, replace and patch, of an object or a subresource that may have another kind.
    fn parts(&self, part: &str, other: Option<&Other>, verbs: &[&str]) -> Vec<Operation> {
        let schema = other.map_or(self.resource.schema, |other| other.schema);
        let mut operations = Vec::new();
        if verbs.contains(&"get") {
            operations.push(self.operation("get", "get", "read", part));
        }
        if verbs.contains(&"update") {
            let mut replace = self.operation("put", "put", "replace", part);
            replace.parameters.extend(parameters::WRITE);
            replace.body = Some(Body::Object(schema));
            replace.answers = &["200", "201"];
            operations.push(replace);
        }
        if verbs.contains(&"patch") {
            let mut patch = self.operation("patch", "patch", "patch", part);
            patch.parameters.extend(parameters::PATCH);
            patch.body = Some(Body::Patch);
            patch.answers = &["200", "201"];
            operations.push(patch);
        }
        let finish = |mut operation: Operation| {
            operation.parameters.push(NAME);
            sorted(be(operation, other))
        };
        operations.into_iter().map(finish).collect()
    }

    fn subresource(&self, subresource: &Subresource, object: &str) -> Vec<PathItem> {
        let one = |name: &str, operations| vec![(format!("{object}/{name}"), operations)];
        match subresource {
            Subresource::Status => {
                one("status", self.parts("Status", None, &["get", "update", "patch"]))
            }
            Subresource::Scale => {
                one("scale", self.parts("Scale", Some(&SCALE), &["get", "update", "patch"]))
            }
            Subresource::Binding => one("binding", vec![self.post("Binding", &BINDING)]),
            Subresource::Eviction => one("eviction", vec![self.post("Eviction", &EVICTION)]),
            Subresource::Finalize(_) => one("finalize", self.parts("Finalize", None, &["update"])),
            Subresource::Token => one("token", vec![self.post("Token", &TOKEN)]),
            Subresource::Part(name, _) => {
                one(name, self.parts(&capital(name), None, &["get", "update", "patch"]))
            }
            Subresource::NotSupported(name, kind, verbs)
                if *kind == self.resource.kind && *name != "log" =>
            {
                one(name, self.parts(&capital(name), None, verbs))
            }
            Subresource::NotSupported(name, kind, verbs) => {
                connect::paths(name, object, |method, with_path| {
                    self.connect(name, kind, verbs, method, with_path)
                })
            }
        }
    }

    fn post(&self, part: &str, other: &'static Other) -> Operation {
        let mut post = self.operation("post", "post", "create", part);
        post.parameters.push(NAME);
        post.parameters.extend(parameters::WRITE);
        post.body = Some(Body::Object(other.schema));
        post.answers = &["200", "201", "202"];
        sorted(be(post, Some(other)))
    }

    fn connect(
        &self,
        name: &'static str,
        kind: &'static str,
        verbs: &[&str],
        method: &'static str,
        with_path: bool,
    ) -> Option<Operation> {
        let (action, verb) = if name == "log" { ("get", "read") } else { ("connect", "connect") };
        if !connect::offers(verbs, method) {
            return None;
        }
        let mut operation = self.operation(method, action, verb, &capital(name));
        if action == "connect" {
            let with = if with_path { "WithPath" } else { "" };
            operation.id =
                self.id("connect", &capital(method), &format!("{}{with}", capital(name)));
            operation.parameters.retain(|one| *one != PRETTY);
        }
        operation.kind = Some([self.resource.group, kind, self.resource.version]);
        operation.parameters.push(NAME);
        operation.parameters.extend(connect::parameters(name));
        if with_path {
            operation.parameters.push(parameters::PATH);
        }
        operation.answer = if name == "log" { Answer::Log } else { Answer::Anything };
        Some(sorted(operation))
    }

    /// The deprecated paths for watches.
    fn watches(&self) -> Vec<PathItem> {
        let resource = self.resource;
        let watch = |action, id: String, named: bool, scope: Scope| {
            let mut watch = self.operation("get", action, "watch", "");
            watch.id = id;
            watch.parameters.extend(parameters::LIST);
            if named {
                watch.parameters.push(NAME);
            }
            if scope == Scope::All {
                watch.parameters.retain(|one| *one != NAMESPACE);
            }
            watch.answer = Answer::Stream(WATCH_EVENT.to_owned());
            vec![sorted(watch)]
        };
        let old = |path: &str| path.replacen(&self.prefix, &format!("{}/watch", self.prefix), 1);
        let collection = old(&self.collection);
        let mut items = vec![
            (
                format!("{collection}/{{name}}"),
                watch("watch", self.id("watch", "", ""), true, Scope::Own),
            ),
            (collection, watch("watchlist", self.id("watch", "", "List"), false, Scope::Own)),
        ];
        if resource.namespaced {
            let all = format!("{}/watch/{}", self.prefix, resource.plural);
            items.push((
                all,
                watch("watchlist", self.id_of_all("watch", "List"), false, Scope::All),
            ));
        }
        items
    }

    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        verb: &str,
        part: &str,
    ) -> Operation {
        let mut operation = Operation::on(self.resource, method, action);
        operation.id = self.id(verb, "", part);
        operation.parameters.push(PRETTY);
        if self.resource.namespaced {
            operation.parameters.push(NAMESPACE);
        }
        operation
    }

    /// `replaceAppsV1NamespacedDeploymentScale`.
    fn id(&self, verb: &str, what: &str, part: &str) -> String {
        let namespaced = if self.resource.namespaced { "Namespaced" } else { "" };
        format!("{verb}{}{what}{namespaced}{}{part}", self.owner(), self.resource.kind)
    }

    fn id_of_all(&self, verb: &str, part: &str) -> String {
        format!("{verb}{}{}{part}ForAllNamespaces", self.owner(), self.resource.kind)
    }

    fn owner(&self) -> String {
        format!("{}{}", capital(&short(self.resource.group)), capital(self.resource.version))
    }
}

/// The kind of a subresource that differs from its parent's.
#[derive(Debug)]
struct Other {
    kind: [&'static str; 3],
    schema: &'static str,
}

const SCALE: Other =
    Other { kind: ["autoscaling", "Scale", "v1"], schema: "io.k8s.api.autoscaling.v1.Scale" };
const BINDING: Other = Other { kind: ["", "Binding", "v1"], schema: "io.k8s.api.core.v1.Binding" };
const EVICTION: Other =
    Other { kind: ["policy", "Eviction", "v1"], schema: "io.k8s.api.policy.v1.Eviction" };
const TOKEN: Other = Other {
    kind: ["authentication.k8s.io", "TokenRequest", "v1"],
    schema: "io.k8s.api.authentication.v1.TokenRequest",
};

fn be(mut operation: Operation, other: Option<&Other>) -> Operation {
    if let Some(other) = other {
        operation.kind = Some(other.kind);
        operation.answer = Answer::Object(other.schema.to_owned());
    }
    operation
}

fn sorted(mut operation: Operation) -> Operation {
    operation.parameters.sort_by_key(|one| (one.name, one.location));
    operation
}
