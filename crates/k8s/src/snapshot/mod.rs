//! All objects of a cluster to one [`Snapshot`], grouped by Service.

mod autoscalers;
mod entry;
mod events;
mod followed;
mod members;
mod pod_labels;
mod pod_problems;
mod reports;
mod revisions;
mod table;

use evenkeel_model::Snapshot;
use k8s_openapi::api::core::v1 as core;
use kube::Resource;

use self::entry::{NodeEntry, PodEntry, ServiceEntry, SliceEntry};
pub use self::followed::Followed;
use crate::{Collected, FieldError, Item, Objects, convert, manifest::ManifestError, watched};

/// Converts everything and puts it in its place. The first object that cannot be converted is the
/// error; slices that are being deleted count as gone.
///
/// The cost is that of one pass over all objects and one look-up for each label of each Pod, plus
/// one copy of a Pod for each Service that selects it.
pub fn build(objects: &Objects) -> Result<Snapshot, ManifestError> {
    let mut followed = Followed::default();
    each(&objects.nodes, |node| {
        let converted = convert::node(followed.names_mut(), node)?;
        let cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
        followed.put_node(name(node), NodeEntry { node: converted, cordoned });
        Ok(())
    })?;
    each(&objects.services, |service| {
        let entry = ServiceEntry::new(convert::service(service)?, service.meta());
        followed.put_service(entry);
        Ok(())
    })?;
    each(&objects.slices, |slice| {
        let slim = watched::EndpointSlice::from(slice);
        match slim.seen(followed.names_mut()) {
            Ok(seen) => followed.put_slice(SliceEntry::new(seen, slim.trigger_time())),
            // It is as good as gone.
            Err(_) if slice.metadata.deletion_timestamp.is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    })?;
    each(&objects.pods, |pod: &core::Pod| {
        let converted = convert::pod(followed.names_mut(), pod)?;
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        followed.put_pod(PodEntry::new(converted, labels, pod));
        Ok(())
    })?;
    let (read_at, has_pods) = (objects.read_at, objects.pods_listed || !objects.pods.is_empty());
    followed.put_beside(objects);
    followed.renew_nodes();
    Ok(Snapshot { has_pods, ..followed.snapshot(read_at) })
}

fn each<T: Resource<DynamicType = ()>>(
    given: &Collected<T>,
    mut take: impl FnMut(&T) -> Result<(), FieldError>,
) -> Result<(), ManifestError> {
    for Item { origin, object } in given {
        let fail = |error| ManifestError::in_field(origin.clone(), object, error);
        take(object).map_err(fail)?;
    }
    Ok(())
}

fn name(object: &impl Resource) -> &str {
    object.meta().name.as_deref().unwrap_or_default()
}
