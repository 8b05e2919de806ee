//! Version 3.

use serde_json::Value;

use super::{Form, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("openapi", 1, Form::Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 4, Form::Inside(1, &Form::Entries(&Form::Message(&PATH_ITEM)))),
        ("components", 5, Form::Message(&COMPONENTS)),
    ],
    extensions: Some(9),
};

static INFO: Message = Message {
    fields: &[("title", 1, Form::Text), ("version", 6, Form::Text)],
    extensions: Some(7),
};

static COMPONENTS: Message = Message {
    fields: &[
        ("schemas", 1, Form::Inside(1, &Form::Entries(&Form::Choice(schema)))),
        (
            "securitySchemes",
            7,
            Form::Inside(1, &Form::Entries(&Form::Inside(1, &Form::Message(&SECURITY_SCHEME)))),
        ),
    ],
    extensions: Some(10),
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        ("type", 1, Form::Text),
        ("description", 2, Form::Text),
        ("name", 3, Form::Text),
        ("in", 4, Form::Text),
    ],
    extensions: Some(9),
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 4, Form::Message(&OPERATION)),
        ("put", 5, Form::Message(&OPERATION)),
        ("post", 6, Form::Message(&OPERATION)),
        ("delete", 7, Form::Message(&OPERATION)),
        ("options", 8, Form::Message(&OPERATION)),
        ("head", 9, Form::Message(&OPERATION)),
        ("patch", 10, Form::Message(&OPERATION)),
        ("parameters", 13, Form::Each(&Form::Inside(1, &Form::Message(&PARAMETER)))),
    ],
    extensions: Some(14),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Form::Texts),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("parameters", 6, Form::Each(&Form::Inside(1, &Form::Message(&PARAMETER)))),
        ("requestBody", 7, Form::Inside(1, &Form::Message(&REQUEST_BODY))),
        (
            "responses",
            8,
            Form::Inside(2, &Form::Entries(&Form::Inside(1, &Form::Message(&RESPONSE)))),
        ),
    ],
    extensions: Some(13),
};

static PARAMETER: Message = Message {
    fields: &[
        ("name", 1, Form::Text),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 10, Form::Choice(schema)),
    ],
    extensions: Some(14),
};

static REQUEST_BODY: Message = Message {
    fields: &[("description", 1, Form::Text), ("content", 2, CONTENT), ("required", 3, Form::Flag)],
    extensions: Some(4),
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, Form::Text), ("content", 3, CONTENT)],
    extensions: Some(5),
};

const CONTENT: Form = Form::Inside(1, &Form::Entries(&Form::Message(&MEDIA_TYPE)));

static MEDIA_TYPE: Message =
    Message { fields: &[("schema", 1, Form::Choice(schema))], extensions: Some(5) };

static SCHEMA: Message = Message {
    fields: &[
        ("uniqueItems", 20, Form::Flag),
        ("required", 23, Form::Texts),
        ("enum", 24, Form::Each(&Form::Any)),
        ("type", 25, Form::Text),
        ("allOf", 26, Form::Each(&Form::Choice(schema))),
        ("oneOf", 27, Form::Each(&Form::Choice(schema))),
        ("anyOf", 28, Form::Each(&Form::Choice(schema))),
        ("items", 30, Form::Inside(1, &Form::Choice(schema))),
        ("properties", 31, Form::Inside(1, &Form::Entries(&Form::Choice(schema)))),
        ("additionalProperties", 32, Form::Choice(additional)),
        ("default", 33, Form::Default),
        ("description", 34, Form::Text),
        ("format", 35, Form::Text),
    ],
    extensions: Some(36),
};

static REFERENCE: Message = Message { fields: &[("$ref", 1, Form::Text)], extensions: None };

/// `SchemaOrReference`.
fn schema(value: &Value) -> Form {
    const HERE: Form = Form::Inside(1, &Form::Message(&SCHEMA));
    const THERE: Form = Form::Inside(2, &Form::Message(&REFERENCE));
    if value.get("$ref").is_some() { THERE } else { HERE }
}

/// `AdditionalPropertiesItem`.
fn additional(value: &Value) -> Form {
    const SCHEMAS: Form = Form::Inside(1, &Form::Choice(schema));
    if value.is_boolean() { Form::Inside(2, &Form::Flag) } else { SCHEMAS }
}
