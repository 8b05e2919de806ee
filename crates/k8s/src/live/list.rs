//! Lists, page by page.

use std::{collections::BTreeMap, fmt::Debug};

use evenkeel_model::{ServiceKey, label};
use k8s_openapi::{
    api::{
        autoscaling::v2::HorizontalPodAutoscaler,
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    jiff::Timestamp,
};
use kube::{Api, Client, Resource, api::ListParams, core::NamespaceResourceScope};
use serde::{Serialize, de::DeserializeOwned};

use super::LiveError;
use crate::{Collected, Note, Objects, Origin};

/// The page size of `kubectl`.
pub(super) const PAGE: u32 = 500;

/// What to read. Nodes are always read, since all Services share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One Service and what belongs to it.
    Service(ServiceKey),
    Namespace(String),
    AllNamespaces,
}

/// Reads all that `scope` covers. `progress` is called after each page with the kind, in the
/// plural, and how many of it there are so far.
///
/// Slices decide which endpoints are used; Pods, Events and autoscalers explain why. If those can't be
/// listed, the result has a note.
pub async fn objects(
    client: Client,
    scope: Scope,
    progress: impl FnMut(&str, usize),
) -> Result<Objects, LiveError> {
    let mut reader = Reader { client, progress };
    let mut objects = Objects::default();
    let nodes = Api::<Node>::all(reader.client.clone());
    reader.list("nodes", &nodes, ListParams::default(), &mut objects.nodes).await?;
    let wanted = reader.services(&scope, &mut objects.services).await?;

    let slices: Api<EndpointSlice> = reader.api(&scope);
    reader.list("endpointslices", &slices, wanted.slices, &mut objects.slices).await?;
    if let Some(params) = wanted.pods {
        let pods: Api<Pod> = reader.api(&scope);
        let listed = reader.pods(&pods, params, &mut objects.pods).await;
        objects.pods_listed = listed.is_ok();
        objects.notes.extend(forgive("pods", listed)?);
    }

    reader.beside(&scope, wanted.events, &mut objects).await?;
    Ok(objects)
}

/// What of all namespaces no watch brings: Events about Services, autoscalers and the reports of proxies.
/// Kinds that can't be listed are empty, and the result has a note.
pub async fn beside(client: Client) -> Result<Objects, LiveError> {
    let mut reader = Reader { client, progress: |_: &str, _| () };
    let mut objects = Objects::default();
    let events = Wanted::everything().events;
    reader.beside(&Scope::AllNamespaces, events, &mut objects).await?;
    Ok(objects)
}

struct Reader<P> {
    client: Client,
    progress: P,
}

/// Which objects to list, once the Services are known.
struct Wanted {
    slices: ListParams,
    /// `None`: the Service selects no Pods.
    pods: Option<ListParams>,
    events: ListParams,
}

// === impl Reader ===

impl<P: FnMut(&str, usize)> Reader<P> {
    fn api<T>(&self, scope: &Scope) -> Api<T>
    where
        T: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let client = self.client.clone();
        match scope {
            Scope::Service(key) => Api::namespaced(client, &key.namespace),
            Scope::Namespace(name) => Api::namespaced(client, name),
            Scope::AllNamespaces => Api::all(client),
        }
    }

    async fn beside(
        &mut self,
        scope: &Scope,
        events: ListParams,
        objects: &mut Objects,
    ) -> Result<(), LiveError> {
        let api: Api<Event> = self.api(scope);
        let listed = self.list("events", &api, events, &mut objects.events).await;
        objects.notes.extend(forgive("events", listed)?);
        let api: Api<HorizontalPodAutoscaler> = self.api(scope);
        let (what, all) = ("horizontalpodautoscalers", ListParams::default());
        let listed = self.list(what, &api, all, &mut objects.autoscalers).await;
        objects.notes.extend(forgive(what, listed)?);
        // Last, so that reports are not older than the objects they are about.
        let api = Api::<Lease>::all(self.client.clone());
        let proxies =
            ListParams::default().labels(&format!("{}={}", label::COMPONENT, label::PROXY));
        let listed = self.list("leases", &api, proxies, &mut objects.leases).await;
        objects.notes.extend(forgive("leases", listed)?);
        objects.read_at = Some(Timestamp::now().as_second());
        Ok(())
    }

    async fn services(
        &mut self,
        scope: &Scope,
        into: &mut Collected<Service>,
    ) -> Result<Wanted, LiveError> {
        let api: Api<Service> = self.api(scope);
        let Scope::Service(key) = scope else {
            self.list("services", &api, ListParams::default(), into).await?;
            return Ok(Wanted::everything());
        };
        let service = api.get(&key.name).await.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 404 => {
                LiveError::NoService { key: key.clone() }
            }
            error => LiveError::request("services", error),
        })?;
        let wanted = Wanted::of(key, &service);
        into.add(origin(), service)?;
        (self.progress)("services", 1);
        Ok(wanted)
    }

    /// Pods; where a selector matches none, one page of all of them, to find the nearest labels.
    async fn pods(
        &mut self,
        api: &Api<Pod>,
        params: ListParams,
        into: &mut Collected<Pod>,
    ) -> Result<(), LiveError> {
        let selects = params.label_selector.is_some();
        self.list("pods", api, params, into).await?;
        if selects && into.is_empty() {
            let page = api.list(&ListParams::default().limit(PAGE)).await;
            for pod in page.map_err(|error| LiveError::request("pods", error))?.items {
                into.add(origin(), pod)?;
            }
        }
        Ok(())
    }

    async fn list<T>(
        &mut self,
        what: &'static str,
        api: &Api<T>,
        params: ListParams,
        into: &mut Collected<T>,
    ) -> Result<(), LiveError>
    where
        T: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + PartialEq + Serialize,
    {
        let mut page = params.clone().limit(PAGE);
        loop {
            let list = match api.list(&page).await {
                Ok(list) => list,
                // The token outlived the API server's memory: start over, all in one answer.
                Err(kube::Error::Api(status))
                    if status.code == 410 && page.continue_token.is_some() =>
                {
                    *into = Collected::default();
                    page = params.clone();
                    continue;
                }
                Err(error) => return Err(LiveError::request(what, error)),
            };
            for object in list.items {
                into.add(origin(), object)?;
            }
            (self.progress)(what, into.len());
            match list.metadata.continue_ {
                Some(token) if !token.is_empty() => page.continue_token = Some(token),
                _ => return Ok(()),
            }
        }
    }
}

// === impl Wanted ===

impl Wanted {
    /// Of all Events only those about Services: there may be a hundred times more about Pods.
    fn everything() -> Self {
        Wanted {
            slices: ListParams::default(),
            pods: Some(ListParams::default()),
            events: ListParams::default().fields("involvedObject.kind=Service"),
        }
    }

    fn of(key: &ServiceKey, service: &Service) -> Self {
        let slices = format!("{}={}", label::SERVICE_NAME, key.name);
        let about = format!("involvedObject.kind=Service,involvedObject.name={}", key.name);
        let spec = service.spec.as_ref();
        let selector = spec.and_then(|spec| spec.selector.as_ref());
        let selector = selector.filter(|selector| !selector.is_empty());
        Wanted {
            slices: ListParams::default().labels(&slices),
            pods: selector.map(|pairs| ListParams::default().labels(&join(pairs))),
            events: ListParams::default().fields(&about),
        }
    }
}

fn join(selector: &BTreeMap<String, String>) -> String {
    let pairs = selector.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}

pub(super) fn origin() -> Origin {
    Origin::new("the cluster")
}

/// Turns a refusal into a note. An API server that can't be reached is an error here too; one that
/// doesn't serve the kind has no objects of it, which is no news.
fn forgive(what: &str, listed: Result<(), LiveError>) -> Result<Option<Note>, LiveError> {
    match listed {
        Ok(()) | Err(LiveError::Refused { code: 404, .. }) => Ok(None),
        Err(error @ (LiveError::Refused { .. } | LiveError::Failed { .. })) => {
            Ok(Some(Note { what: what.to_owned(), problem: error.to_string() }))
        }
        Err(error) => Err(error),
    }
}
