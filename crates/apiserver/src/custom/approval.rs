//! The condition `KubernetesAPIApprovalPolicyConformant`, of definitions in protected groups.
//!
//! Source: `controller/apiapproval/apiapproval_controller.go`.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{self, APPROVAL_CONFORMANT, Condition};
use crate::kinds::{
    customresourcedefinition::approval::{self, Approval},
    read::text,
};

pub(crate) fn decide(definition: &mut Value, now: Timestamp) -> bool {
    // A group does not change: there is no condition to be removed.
    if !approval::is_protected(text(definition, &["spec", "group"])) {
        return false;
    }
    let (approval, message) = approval::of(definition);
    let (status, reason) = match approval {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    let condition = Condition { type_: APPROVAL_CONFORMANT, status, reason, message };
    conditions::set(definition, &condition, now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_annotation_is_approval_or_says_why_there_is_none() {
        let must = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        let form = "with either a URL or a reason starting with \"unapproved\"";
        for (annotation, status, reason, message) in [
            ("", "False", "MissingAnnotation", format!("{must}, {see}")),
            ("nonsense", "False", "InvalidAnnotation", format!("{must} {form}, {see}")),
            ("/path", "False", "InvalidAnnotation", format!("{must} {form}, {see}")),
            ("https://", "False", "InvalidAnnotation", format!("{must} {form}, {see}")),
            ("https://a b/c", "False", "InvalidAnnotation", format!("{must} {form}, {see}")),
            (
                "unapproved, a test",
                "False",
                "UnapprovedAnnotation",
                "not approved: \"unapproved, a test\"".to_owned(),
            ),
            (
                "https://github.com/kubernetes/kubernetes/pull/78458",
                "True",
                "ApprovedAnnotation",
                "approved in https://github.com/kubernetes/kubernetes/pull/78458".to_owned(),
            ),
        ] {
            let mut definition = json!({
                "metadata": {"annotations": {approval::ANNOTATION: annotation}},
                "spec": {"group": "sigs.k8s.io"},
            });
            let now = "2026-01-01T00:00:00Z".parse().unwrap();
            assert!(decide(&mut definition, now), "{annotation}");
            let condition = &definition["status"]["conditions"][0];
            assert_eq!(condition["status"], status, "{annotation}");
            assert_eq!(condition["reason"], reason, "{annotation}");
            assert_eq!(condition["message"], message, "{annotation}");
            assert!(!decide(&mut definition, now), "{annotation}");
        }
    }

    #[test]
    fn only_groups_of_the_community_are_protected() {
        for (group, expected) in [
            ("k8s.io", true),
            ("a.k8s.io", true),
            ("kubernetes.io", true),
            ("a.b.kubernetes.io", true),
            ("ak8s.io", false),
            ("k8s.io.example.com", false),
            ("example.com", false),
        ] {
            assert_eq!(approval::is_protected(group), expected, "{group}");
        }
    }
}
