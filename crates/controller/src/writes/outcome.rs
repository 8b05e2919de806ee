//! What a failure means to the engine. This is the one place that knows.

use super::Verb;
use crate::{ask::Failure, engine::Outcome};

pub(super) fn outcome(verb: Verb, failure: Failure) -> Outcome {
    let may_pass = failure.may_pass();
    match failure {
        Failure::Refused { code, reason, message, after, fields } => match code {
            // What a create does not find is the namespace.
            404 if verb != Verb::Create => Outcome::Gone,
            409 if reason == "AlreadyExists" => Outcome::Exists,
            409 => Outcome::Conflict,
            // So does the API server word it when the object is another one by the same name: a
            // patch that names a uid can't change it.
            422 if fields == ["metadata.uid"] => Outcome::Conflict,
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

    fn check(verb: Verb, code: u16, reason: &str, expected: &Outcome) {
        let after = (code == 429).then_some(Duration::from_secs(3));
        let (reason, message) = (reason.to_owned(), "no".to_owned());
        let failure = Failure::Refused { code, reason, message, after, fields: vec![] };
        assert_eq!(&outcome(verb, failure), expected, "{verb:?} {code}");
    }

    fn unknown(code: u16, after: Option<u64>) -> Outcome {
        let after = after.map(Duration::from_secs);
        Outcome::Unknown { after, message: format!("no ({code})") }
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
            check(verb, 429, "TooManyRequests", &unknown(429, Some(3)));
            for code in [408, 500, 502, 503, 504, 507, 599] {
                check(verb, code, "", &unknown(code, None));
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

    #[test]
    fn a_uid_that_is_another_is_a_conflict_and_no_bad_request() {
        for (field, expected) in [("metadata.uid", Outcome::Conflict), ("ports", refused(422))] {
            let fields = vec![field.to_owned()];
            let (reason, message) = ("Invalid".to_owned(), "no".to_owned());
            let failure = Failure::Refused { code: 422, reason, message, after: None, fields };
            assert_eq!(outcome(Verb::Conditions, failure), expected, "{field}");
        }
    }
}
