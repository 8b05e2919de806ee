//! What a failure means to the engine. This is the one place that knows.

use super::Verb;
use crate::{ask::Failure, engine::Outcome};

/// The cause by which an API server refuses new objects in a namespace that is being deleted.
const TERMINATING: &str = "NamespaceTerminating";

pub(super) fn outcome(verb: Verb, failure: Failure) -> Outcome {
    let may_pass = failure.may_pass();
    match failure {
        Failure::Refused { code, reason, message, after, causes } => match code {
            // What a create does not find is the namespace.
            404 if verb != Verb::Create => Outcome::Gone,
            409 if reason == "AlreadyExists" => Outcome::Exists,
            409 => Outcome::Conflict,
            // So does the API server word it when the object is another one by the same name: a
            // patch that names a uid can't change it.
            422 if matches!(&*causes, [one] if one.field == "metadata.uid") => Outcome::Conflict,
            403 if causes.iter().any(|cause| cause.reason == TERMINATING) => {
                Outcome::NamespaceTerminating
            }
            429 => Outcome::Busy { after },
            _ if may_pass => Outcome::Unknown { after, message: format!("{message} ({code})") },
            _ => Outcome::Refused { code, message },
        },
        Failure::Lost(message) => Outcome::Unknown { after: None, message },
        Failure::Unsendable(message) => Outcome::Refused { code: 0, message },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ask::Cause;

    fn check(verb: Verb, code: u16, reason: &str, expected: &Outcome) {
        let after = (code == 429).then_some(Duration::from_secs(3));
        let (reason, message) = (reason.to_owned(), "no".to_owned());
        let failure = Failure::Refused { code, reason, message, after, causes: vec![] };
        assert_eq!(&outcome(verb, failure), expected, "{verb:?} {code}");
    }

    fn unknown(code: u16) -> Outcome {
        Outcome::Unknown { after: None, message: format!("no ({code})") }
    }

    fn refused(code: u16) -> Outcome {
        Outcome::Refused { code, message: "no".to_owned() }
    }

    #[test]
    fn each_answer_has_one_meaning() {
        let all =
            [Verb::Create, Verb::Update, Verb::Relabel, Verb::Delete, Verb::Read, Verb::Conditions];
        for verb in all {
            check(verb, 409, "AlreadyExists", &Outcome::Exists);
            check(verb, 409, "Conflict", &Outcome::Conflict);
            check(verb, 409, "", &Outcome::Conflict);
            let after = Some(Duration::from_secs(3));
            check(verb, 429, "TooManyRequests", &Outcome::Busy { after });
            for code in [408, 500, 502, 503, 504, 507, 599] {
                check(verb, code, "", &unknown(code));
            }
            for code in [400, 401, 403, 405, 410, 413, 415, 422] {
                check(verb, code, "", &refused(code));
            }
            if verb != Verb::Create {
                check(verb, 404, "NotFound", &Outcome::Gone);
            }
            let lost = Outcome::Unknown { after: None, message: "cut".to_owned() };
            assert_eq!(outcome(verb, Failure::Lost("cut".to_owned())), lost);
            let unsendable = Outcome::Refused { code: 0, message: "odd".to_owned() };
            assert_eq!(outcome(verb, Failure::Unsendable("odd".to_owned())), unsendable);
        }
        check(Verb::Create, 404, "NotFound", &refused(404));
    }

    /// What a refusal with this one cause means.
    fn caused(verb: Verb, code: u16, reason: &str, field: &str) -> Outcome {
        let causes = vec![Cause { reason: reason.to_owned(), field: field.to_owned() }];
        let (reason, message) = ("Invalid".to_owned(), "no".to_owned());
        outcome(verb, Failure::Refused { code, reason, message, after: None, causes })
    }

    #[test]
    fn a_uid_that_is_another_is_a_conflict_and_no_bad_request() {
        for (field, expected) in [("metadata.uid", Outcome::Conflict), ("ports", refused(422))] {
            let given = caused(Verb::Conditions, 422, "FieldValueInvalid", field);
            assert_eq!(given, expected, "{field}");
        }
    }

    #[test]
    fn a_namespace_that_is_being_deleted_is_no_refusal_like_others() {
        let given = caused(Verb::Create, 403, "NamespaceTerminating", "metadata.namespace");
        assert_eq!(given, Outcome::NamespaceTerminating);
        assert_eq!(caused(Verb::Create, 403, "Other", ""), refused(403));
    }
}
