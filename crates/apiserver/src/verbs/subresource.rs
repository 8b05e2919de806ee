//! Subresources: parts of an object, and actions on it.

use http::Method;
use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call, name_of},
    body::{self, Expected},
    custom::ScalePaths,
    invalid::quoted,
    kinds::{
        Kind, Part, Subresource,
        pod::binding::{self, BindError},
        read::{number, text},
        workload::scale,
    },
    registry::{Error, NodeWrite, PodHooks, UpdateStrategy, precondition_failed},
    request::query::FieldValidation,
    status::{Failure, Result},
    tokens,
    verbs::{
        create::placed,
        evict, patch, read,
        update::{self, check_name},
    },
};

const SCALE: Expected<'_> = Expected {
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    schema: "io.k8s.api.autoscaling.v1.Scale",
};

const BINDING: Expected<'_> =
    Expected { group: "", version: "v1", kind: "Binding", schema: "io.k8s.api.core.v1.Binding" };

pub(crate) async fn carry_out(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let named = kind.subresource(&call.resource.subresource);
    restrict_node(api, call)?;
    let unknown = || match kind.custom.is_some() {
        true => Failure::not_found(kind, &call.resource.name),
        false => Failure::unknown_resource(),
    };
    match (named.ok_or_else(unknown)?, call.method) {
        (Subresource::Status, &Method::GET) => read::get(api, call).await,
        (Subresource::Status, &Method::PUT) => {
            update::replace(api, call, UpdateStrategy::OfKind(Part::Status)).await
        }
        (Subresource::Status, &Method::PATCH) => {
            patch::apply(api, call, UpdateStrategy::OfKind(Part::Status)).await
        }
        (Subresource::Part(..), &Method::GET) => read::get(api, call).await,
        (Subresource::Finalize(strategy) | Subresource::Part(_, strategy), &Method::PUT) => {
            update::replace(api, call, UpdateStrategy::OfPart(*strategy)).await
        }
        (Subresource::Part(_, strategy), &Method::PATCH) => {
            patch::apply(api, call, UpdateStrategy::OfPart(*strategy)).await
        }
        (Subresource::Scale, &Method::GET) => read_scale(api, call).await,
        (Subresource::Scale, &Method::PUT) => replace_scale(api, call).await,
        (Subresource::Scale, &Method::PATCH) => patch_scale(api, call).await,
        (Subresource::Binding, &Method::POST) => bind(api, call, &call.resource.name).await,
        (Subresource::Token, &Method::POST) => tokens::create(api, call).await,
        (Subresource::Eviction, &Method::POST) => evict::evict(api, call).await,
        (Subresource::NotSupported(name, _, offered), method) => {
            if !offered.contains(&super::verb(method, &call.resource.name, false)) {
                return Err(Failure::method_not_allowed());
            }
            let of = &call.resource.name;
            api.storage.object(kind, &call.key(of)).ok_or_else(|| Failure::not_found(kind, of))?;
            Err(Failure::not_implemented(not_supported(&kind.plural, name)))
        }
        _ if kind.custom.is_some() => {
            let verb = super::verb(call.method, &call.resource.name, false);
            Err(Failure::not_supported(kind, verb))
        }
        _ => Err(Failure::method_not_allowed()),
    }
}

/// A kubelet may write few subresources; those are examined with the objects they are about.
fn restrict_node(api: &Api, call: &Call<'_>) -> Result<()> {
    let subresource = call.resource.subresource.as_str();
    if matches!(*call.method, Method::GET | Method::HEAD)
        || matches!(subresource, "status" | "eviction" | "token")
    {
        return Ok(());
    }
    let verb = super::verb(call.method, &call.resource.name, false);
    let (kind, key) = (call.kind(), call.key(&call.resource.name));
    let write = NodeWrite { verb, kind, subresource, key: &key, before: None, after: None };
    Ok(call.registry(api, false).restrict_node(write)?)
}

fn not_supported(plural: &str, name: &str) -> String {
    let why = match name {
        "proxy" => "this server does not proxy requests",
        _ => "this server has no kubelets",
    };
    format!("{plural}/{name} is not supported: {why}")
}

async fn read_scale(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let (kind, name) = (call.kind(), &call.resource.name);
    let object = api.storage.object(kind, &call.key(name));
    let object = object.ok_or_else(|| Failure::not_found(kind, name))?;
    let value = kind.presented(crate::document::value(kind.stored_kind(), &object)?);
    let scale = match custom_scale(kind) {
        Some(paths) => match paths.of(&value).map_err(refused)? {
            (scale, true) => scale,
            (_, false) => {
                let path = quoted(paths.spec_replicas_path());
                let problem = format!("the spec replicas field {path} does not exist");
                return Err(Failure::internal_error(&problem));
            }
        },
        None => scale::scale_of(kind, &value),
    };
    Ok(answer::shown(200, &scale::SCALE, scale, call.view))
}

async fn replace_scale(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let options = call.query.write_options("UpdateOptions")?;
    let read = body::typed(call.body(), SCALE, options.field_validation)?;
    let wanted = placed(read.value, call.kind(), call.namespace())?;
    check_name(&wanted, &call.resource.name)?;
    rescale(api, call, options.dry_run, read.warnings, |_, _| Ok(wanted.clone())).await
}

async fn patch_scale(api: &Api, call: &Call<'_>) -> Result<Answer> {
    patch::check_type(call)?;
    let options = call.query.write_options("PatchOptions")?;
    rescale(api, call, options.dry_run, Vec::new(), |present, warnings| {
        let wanted = patch::patched(call, SCALE, present, options.field_validation, warnings)?;
        patch::placed_as_asked(call, wanted)
    })
    .await
}

/// `next` computes the desired scale from the present one.
async fn rescale(
    api: &Api,
    call: &Call<'_>,
    dry_run: bool,
    mut warnings: Vec<String>,
    next: impl Fn(Value, &mut Vec<String>) -> Result<Value>,
) -> Result<Answer> {
    let kind = call.kind();
    let write = |mut object: Value, warnings: &mut Vec<String>| {
        let wanted = match custom_scale(kind) {
            Some(paths) => rescaled(paths, &mut object, |scale| next(scale, warnings))?,
            None => {
                let wanted = next(scale::scale_of(kind, &object), warnings)?;
                let errors = scale::apply_scale(&mut object, &wanted);
                if !errors.is_empty() {
                    let name = &call.resource.name;
                    return Err(Failure::invalid_as("autoscaling", "Scale", name, &errors));
                }
                wanted
            }
        };
        for field in ["resourceVersion", "uid"] {
            if custom_scale(kind).is_none() || !text(&wanted, &["metadata", field]).is_empty() {
                object["metadata"][field] = wanted["metadata"][field].clone();
            }
        }
        Ok(Some(object))
    };
    let whole = UpdateStrategy::OfKind(Part::Main);
    let updated = update::write(api, call, whole, dry_run, &mut warnings, write).await?;
    let shown = match custom_scale(kind) {
        Some(paths) => paths.of(&updated.value).map_err(Failure::bad_request)?.0,
        None => scale::scale_of(kind, &updated.value),
    };
    Ok(answer::shown(200, &scale::SCALE, shown, call.view).with_warnings(warnings))
}

/// As Kubernetes reports what it can't read: an error of the server.
fn refused(problem: String) -> Failure {
    Error::Refused(problem).into()
}

fn custom_scale(kind: &Kind) -> Option<&ScalePaths> {
    kind.custom.as_ref()?.version.scale.as_ref()
}

/// Writes the replicas of the desired scale into a custom resource.
fn rescaled(
    paths: &ScalePaths,
    object: &mut Value,
    next: impl FnOnce(Value) -> Result<Value>,
) -> Result<Value> {
    // Smallest number of 32 bits: it was not set before.
    const UNSET: i64 = i32::MIN as i64;
    let (mut present, is_set) = paths.of(object).map_err(refused)?;
    if !is_set {
        present["spec"]["replicas"] = UNSET.into();
    }
    let wanted = next(present)?;
    let replicas = number(&wanted, &["spec", "replicas"]).unwrap_or_default();
    if replicas == UNSET {
        let path = quoted(paths.spec_replicas_path());
        let problem = format!("the spec replicas field {path} cannot be empty");
        return Err(Failure::bad_request(problem));
    }
    paths.set(object, replicas).map_err(refused)?;
    Ok(wanted)
}

/// Binds a Pod to a node: by `pods/binding`, or by a `Binding` in the namespace.
pub(crate) async fn bind(api: &Api, call: &Call<'_>, pod: &str) -> Result<Answer> {
    let options = call.query.write_options("CreateOptions")?;
    let read = body::typed(call.body(), BINDING, options.field_validation)?;
    if !pod.is_empty() {
        check_name(&read.value, pod)?;
    }
    let mut binding = placed(read.value, call.kind(), call.namespace())?;
    binding::check(&binding).map_err(|problem| unbound(problem, pod))?;
    PodHooks::complete_binding(api, &mut binding);
    let mut warnings = read.warnings;
    let next = |mut present: Value, _: &mut Vec<String>| {
        check_bound(call, &binding, &present)?;
        let bound = binding::bind(&mut present, &binding, call.now());
        bound.map_err(|problem| unbound(problem, pod))?;
        Ok(Some(present))
    };
    update::write(api, call, UpdateStrategy::Unchecked, options.dry_run, &mut warnings, next)
        .await?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::value(201, &done, call.view.format).with_warnings(warnings))
}

/// A binding may identify its Pod by more than the name.
fn check_bound(call: &Call<'_>, binding: &Value, pod: &Value) -> Result<()> {
    for (field, what) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let [wanted, present] = [binding, pod].map(|object| text(object, &["metadata", field]));
        if !wanted.is_empty() && wanted != present {
            let key = call.key(&call.resource.name);
            return Err(precondition_failed(call.kind(), &key, what, wanted, present).into());
        }
    }
    Ok(())
}

/// The Pod that a `Binding` in a namespace names.
pub(crate) fn bound_name(bytes: &[u8], content_type: &str) -> Result<String> {
    let body = body::Body { content_type, bytes };
    let read = body::typed(body, BINDING, FieldValidation::Ignore)?;
    Ok(name_of(&read.value).to_owned())
}

fn unbound(problem: BindError, pod: &str) -> Failure {
    match problem {
        BindError::Invalid(_) => Failure::internal(problem.to_string()),
        BindError::Conflict(why) => Failure::conflict_on("pods/binding", pod, &why),
    }
}
