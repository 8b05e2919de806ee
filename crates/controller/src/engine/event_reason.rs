//! Reasons of Events about Services, besides those about Auto hints, which `topology` words.

/// Warning: a sync of the Service failed, or Pods are left out because their Node does not exist.
pub(super) const FAILED: &str = "FailedToUpdateEndpointSlices";
/// Warning: the Service opted out, and its EndpointSlices are no longer updated. They are deleted once
/// another controller lists its Pods.
pub(super) const NOT_UPDATED: &str = "EndpointSlicesNotUpdated";
/// The Service opted out, and its EndpointSlices are deleted because another controller lists its Pods.
pub(super) const RELEASED: &str = "EndpointSlicesReleased";
