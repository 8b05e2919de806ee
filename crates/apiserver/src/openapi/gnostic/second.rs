//! Version 2.

use serde_json::Value;

use super::{Form, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, Form::Text),
        ("info", 2, Form::Message(&INFO)),
        ("paths", 8, Form::Inside(2, &Form::Entries(&Form::Message(&PATH_ITEM)))),
        ("definitions", 9, Form::Inside(1, &Form::Entries(&Form::Message(&SCHEMA)))),
        (
            "security",
            12,
            Form::Each(&Form::Inside(1, &Form::Entries(&Form::Inside(1, &Form::Texts)))),
        ),
        (
            "securityDefinitions",
            13,
            Form::Inside(1, &Form::Entries(&Form::Inside(2, &Form::Message(&API_KEY)))),
        ),
    ],
    extensions: Some(16),
};

static INFO: Message = Message {
    fields: &[("title", 1, Form::Text), ("version", 2, Form::Text)],
    extensions: Some(7),
};

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("description", 4, Form::Text),
    ],
    extensions: Some(5),
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, Form::Message(&OPERATION)),
        ("put", 3, Form::Message(&OPERATION)),
        ("post", 4, Form::Message(&OPERATION)),
        ("delete", 5, Form::Message(&OPERATION)),
        ("options", 6, Form::Message(&OPERATION)),
        ("head", 7, Form::Message(&OPERATION)),
        ("patch", 8, Form::Message(&OPERATION)),
        ("parameters", 9, PARAMETERS),
    ],
    extensions: Some(10),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, Form::Texts),
        ("description", 3, Form::Text),
        ("operationId", 5, Form::Text),
        ("produces", 6, Form::Texts),
        ("consumes", 7, Form::Texts),
        ("parameters", 8, PARAMETERS),
        (
            "responses",
            9,
            Form::Inside(1, &Form::Entries(&Form::Inside(1, &Form::Message(&RESPONSE)))),
        ),
        ("schemes", 10, Form::Texts),
    ],
    extensions: Some(13),
};

/// A `ParametersItem` holds a `Parameter`, which is a body or a `NonBodyParameter`.
const PARAMETERS: Form = Form::Each(&Form::Inside(1, &Form::Choice(parameter)));

static BODY: Message = Message {
    fields: &[
        ("description", 1, Form::Text),
        ("name", 2, Form::Text),
        ("in", 3, Form::Text),
        ("required", 4, Form::Flag),
        ("schema", 5, Form::Message(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY: Message = Message {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 6, Form::Text),
        ("format", 7, Form::Text),
        ("uniqueItems", 20, Form::Flag),
    ],
    extensions: Some(23),
};

static PATH: Message = Message {
    fields: &[
        ("required", 1, Form::Flag),
        ("in", 2, Form::Text),
        ("description", 3, Form::Text),
        ("name", 4, Form::Text),
        ("type", 5, Form::Text),
        ("format", 6, Form::Text),
        ("uniqueItems", 19, Form::Flag),
    ],
    extensions: Some(22),
};

static RESPONSE: Message = Message {
    fields: &[
        ("description", 1, Form::Text),
        ("schema", 2, Form::Inside(1, &Form::Message(&SCHEMA))),
    ],
    extensions: Some(5),
};

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, Form::Text),
        ("format", 2, Form::Text),
        ("description", 4, Form::Text),
        ("default", 5, Form::Any),
        ("uniqueItems", 16, Form::Flag),
        ("required", 19, Form::Texts),
        ("enum", 20, Form::Each(&Form::Any)),
        ("additionalProperties", 21, Form::Choice(additional)),
        ("type", 22, Form::Choice(type_)),
        ("items", 23, Form::Inside(1, &Form::Message(&SCHEMA))),
        ("allOf", 24, Form::Each(&Form::Message(&SCHEMA))),
        ("properties", 25, Form::Inside(1, &Form::Entries(&Form::Message(&SCHEMA)))),
    ],
    extensions: Some(31),
};

fn parameter(value: &Value) -> Form {
    const IN_BODY: Form = Form::Inside(1, &Form::Message(&BODY));
    const IN_PATH: Form = Form::Inside(2, &Form::Inside(4, &Form::Message(&PATH)));
    const IN_QUERY: Form = Form::Inside(2, &Form::Inside(3, &Form::Message(&QUERY)));
    match value["in"].as_str() {
        Some("body") => IN_BODY,
        Some("path") => IN_PATH,
        _ => IN_QUERY,
    }
}

/// `AdditionalPropertiesItem`.
fn additional(value: &Value) -> Form {
    const SCHEMAS: Form = Form::Inside(1, &Form::Message(&SCHEMA));
    if value.is_boolean() { Form::Inside(2, &Form::Flag) } else { SCHEMAS }
}

/// `TypeItem`.
fn type_(value: &Value) -> Form {
    if value.is_array() { Form::Inside(1, &Form::Texts) } else { Form::Inside(1, &Form::Text) }
}
