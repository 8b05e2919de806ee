//! The conditions of a Deployment.
//! Source: `k8s.io/kubernetes/pkg/controller/deployment/util`, `SetDeploymentCondition`.

use jiff::Timestamp;
use k8s_openapi::{api::apps::v1::DeploymentCondition, apimachinery::pkg::apis::meta::v1::Time};

pub(super) const PROGRESSING: &str = "Progressing";
const AVAILABLE: &str = "Available";

/// The reason of a condition, in Kubernetes' wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    MinimumReplicasAvailable,
    MinimumReplicasUnavailable,
    NewReplicaSetCreated,
    FoundNewReplicaSet,
    ReplicaSetUpdated,
    NewReplicaSetAvailable,
    ProgressDeadlineExceeded,
    DeploymentPaused,
    DeploymentResumed,
}

#[derive(Debug)]
pub(super) struct Conditions(pub(super) Vec<DeploymentCondition>);

// === impl Reason ===

impl Reason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Reason::MinimumReplicasAvailable => "MinimumReplicasAvailable",
            Reason::MinimumReplicasUnavailable => "MinimumReplicasUnavailable",
            Reason::NewReplicaSetCreated => "NewReplicaSetCreated",
            Reason::FoundNewReplicaSet => "FoundNewReplicaSet",
            Reason::ReplicaSetUpdated => "ReplicaSetUpdated",
            Reason::NewReplicaSetAvailable => "NewReplicaSetAvailable",
            Reason::ProgressDeadlineExceeded => "ProgressDeadlineExceeded",
            Reason::DeploymentPaused => "DeploymentPaused",
            Reason::DeploymentResumed => "DeploymentResumed",
        }
    }

    fn type_and_status(self) -> (&'static str, &'static str) {
        match self {
            Reason::MinimumReplicasAvailable => (AVAILABLE, "True"),
            Reason::MinimumReplicasUnavailable => (AVAILABLE, "False"),
            Reason::NewReplicaSetCreated
            | Reason::FoundNewReplicaSet
            | Reason::ReplicaSetUpdated
            | Reason::NewReplicaSetAvailable => (PROGRESSING, "True"),
            Reason::ProgressDeadlineExceeded => (PROGRESSING, "False"),
            Reason::DeploymentPaused | Reason::DeploymentResumed => (PROGRESSING, "Unknown"),
        }
    }

    /// `subject`: `ReplicaSet "web-1"` or `Deployment "web"`.
    fn message(self, subject: &str) -> String {
        match self {
            Reason::MinimumReplicasAvailable => "Deployment has minimum availability.".to_owned(),
            Reason::MinimumReplicasUnavailable => {
                "Deployment does not have minimum availability.".to_owned()
            }
            Reason::NewReplicaSetCreated => format!("Created new replica set {subject}"),
            Reason::FoundNewReplicaSet => format!("Found new replica set {subject}"),
            Reason::ReplicaSetUpdated => format!("{subject} is progressing."),
            Reason::NewReplicaSetAvailable => format!("{subject} has successfully progressed."),
            Reason::ProgressDeadlineExceeded => format!("{subject} has timed out progressing."),
            Reason::DeploymentPaused => "Deployment is paused".to_owned(),
            Reason::DeploymentResumed => "Deployment is resumed".to_owned(),
        }
    }
}

// === impl Conditions ===

impl Conditions {
    pub(super) fn progressing(&self) -> Option<&DeploymentCondition> {
        self.0.iter().find(|condition| condition.type_ == PROGRESSING)
    }

    pub(super) fn progresses_for(&self, reason: Reason) -> bool {
        let present = self.progressing().and_then(|condition| condition.reason.as_deref());
        present == Some(reason.name())
    }

    /// A condition with the same status and reason is kept unchanged.
    pub(super) fn set(&mut self, reason: Reason, subject: &str, now: Timestamp) {
        let (type_, status) = reason.type_and_status();
        let before = self.0.iter().find(|condition| condition.type_ == type_);
        let is_same = |before: &DeploymentCondition| {
            before.status == status && before.reason.as_deref() == Some(reason.name())
        };
        if !before.is_some_and(is_same) {
            self.renew(reason, subject, now);
        }
    }

    /// The same, but always with a new update time.
    pub(super) fn renew(&mut self, reason: Reason, subject: &str, now: Timestamp) {
        let (type_, status) = reason.type_and_status();
        let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
        let before = self.0.iter().position(|condition| condition.type_ == type_);
        let before = before.map(|index| self.0.remove(index));
        let since = before.filter(|before| before.status == status);
        self.0.push(DeploymentCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.name().to_owned()),
            message: Some(reason.message(subject)),
            last_update_time: Some(now.clone()),
            last_transition_time: since.map_or(Some(now), |before| before.last_transition_time),
        });
    }

    pub(super) fn remove(&mut self, type_: &str) {
        self.0.retain(|condition| condition.type_ != type_);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_changes_with_its_reason_and_its_transition_with_its_status() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Conditions(Vec::new());
        let times = |conditions: &Conditions| {
            let condition = conditions.progressing().unwrap();
            let second = |time: &Option<Time>| time.as_ref().unwrap().0.as_second();
            (second(&condition.last_update_time), second(&condition.last_transition_time))
        };
        conditions.set(Reason::NewReplicaSetCreated, "\"web-1\"", at(1));
        conditions.set(Reason::MinimumReplicasAvailable, "", at(1));
        conditions.set(Reason::NewReplicaSetCreated, "\"web-1\"", at(2));
        assert_eq!(times(&conditions), (1, 1));
        conditions.set(Reason::ReplicaSetUpdated, "ReplicaSet \"web-1\"", at(3));
        assert_eq!(times(&conditions), (3, 1));
        conditions.renew(Reason::ReplicaSetUpdated, "ReplicaSet \"web-1\"", at(4));
        assert_eq!(times(&conditions), (4, 1));
        conditions.set(Reason::ProgressDeadlineExceeded, "ReplicaSet \"web-1\"", at(5));
        assert_eq!(times(&conditions), (5, 5));
        assert_eq!(conditions.0.len(), 2);
        let message = conditions.progressing().unwrap().message.as_deref();
        assert_eq!(message, Some("ReplicaSet \"web-1\" has timed out progressing."));
    }
}
