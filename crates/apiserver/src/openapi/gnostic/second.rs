//! Version 2.

use serde_json::Value;

use super::{FieldEncoding, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", 1, FieldEncoding::Text),
        ("info", 2, FieldEncoding::Message(&INFO)),
        (
            "paths",
            8,
            FieldEncoding::Inside(2, &FieldEncoding::Entries(&FieldEncoding::Message(&PATH_ITEM))),
        ),
        (
            "definitions",
            9,
            FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Message(&SCHEMA))),
        ),
        (
            "security",
            12,
            FieldEncoding::Each(&FieldEncoding::Inside(
                1,
                &FieldEncoding::Entries(&FieldEncoding::Inside(1, &FieldEncoding::Texts)),
            )),
        ),
        (
            "securityDefinitions",
            13,
            FieldEncoding::Inside(
                1,
                &FieldEncoding::Entries(&FieldEncoding::Inside(
                    2,
                    &FieldEncoding::Message(&API_KEY),
                )),
            ),
        ),
    ],
    extensions: Some(16),
};

static INFO: Message = Message {
    fields: &[("title", 1, FieldEncoding::Text), ("version", 2, FieldEncoding::Text)],
    extensions: Some(7),
};

static API_KEY: Message = Message {
    fields: &[
        ("type", 1, FieldEncoding::Text),
        ("name", 2, FieldEncoding::Text),
        ("in", 3, FieldEncoding::Text),
        ("description", 4, FieldEncoding::Text),
    ],
    extensions: Some(5),
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 2, FieldEncoding::Message(&OPERATION)),
        ("put", 3, FieldEncoding::Message(&OPERATION)),
        ("post", 4, FieldEncoding::Message(&OPERATION)),
        ("delete", 5, FieldEncoding::Message(&OPERATION)),
        ("options", 6, FieldEncoding::Message(&OPERATION)),
        ("head", 7, FieldEncoding::Message(&OPERATION)),
        ("patch", 8, FieldEncoding::Message(&OPERATION)),
        ("parameters", 9, PARAMETERS),
    ],
    extensions: Some(10),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, FieldEncoding::Texts),
        ("description", 3, FieldEncoding::Text),
        ("operationId", 5, FieldEncoding::Text),
        ("produces", 6, FieldEncoding::Texts),
        ("consumes", 7, FieldEncoding::Texts),
        ("parameters", 8, PARAMETERS),
        (
            "responses",
            9,
            FieldEncoding::Inside(
                1,
                &FieldEncoding::Entries(&FieldEncoding::Inside(
                    1,
                    &FieldEncoding::Message(&RESPONSE),
                )),
            ),
        ),
        ("schemes", 10, FieldEncoding::Texts),
    ],
    extensions: Some(13),
};

/// A `ParametersItem` holds a `Parameter`, which is a body or a `NonBodyParameter`.
const PARAMETERS: FieldEncoding =
    FieldEncoding::Each(&FieldEncoding::Inside(1, &FieldEncoding::Choice(parameter)));

static BODY: Message = Message {
    fields: &[
        ("description", 1, FieldEncoding::Text),
        ("name", 2, FieldEncoding::Text),
        ("in", 3, FieldEncoding::Text),
        ("required", 4, FieldEncoding::Flag),
        ("schema", 5, FieldEncoding::Message(&SCHEMA)),
    ],
    extensions: Some(6),
};

static QUERY: Message = Message {
    fields: &[
        ("required", 1, FieldEncoding::Flag),
        ("in", 2, FieldEncoding::Text),
        ("description", 3, FieldEncoding::Text),
        ("name", 4, FieldEncoding::Text),
        ("type", 6, FieldEncoding::Text),
        ("format", 7, FieldEncoding::Text),
        ("uniqueItems", 20, FieldEncoding::Flag),
    ],
    extensions: Some(23),
};

static PATH: Message = Message {
    fields: &[
        ("required", 1, FieldEncoding::Flag),
        ("in", 2, FieldEncoding::Text),
        ("description", 3, FieldEncoding::Text),
        ("name", 4, FieldEncoding::Text),
        ("type", 5, FieldEncoding::Text),
        ("format", 6, FieldEncoding::Text),
        ("uniqueItems", 19, FieldEncoding::Flag),
    ],
    extensions: Some(22),
};

static RESPONSE: Message = Message {
    fields: &[
        ("description", 1, FieldEncoding::Text),
        ("schema", 2, FieldEncoding::Inside(1, &FieldEncoding::Message(&SCHEMA))),
    ],
    extensions: Some(5),
};

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", 1, FieldEncoding::Text),
        ("format", 2, FieldEncoding::Text),
        ("title", 3, FieldEncoding::Text),
        ("description", 4, FieldEncoding::Text),
        ("default", 5, FieldEncoding::Any),
        ("multipleOf", 6, FieldEncoding::Number),
        ("maximum", 7, FieldEncoding::Number),
        ("exclusiveMaximum", 8, FieldEncoding::Flag),
        ("minimum", 9, FieldEncoding::Number),
        ("exclusiveMinimum", 10, FieldEncoding::Flag),
        ("maxLength", 11, FieldEncoding::Integer),
        ("minLength", 12, FieldEncoding::Integer),
        ("pattern", 13, FieldEncoding::Text),
        ("maxItems", 14, FieldEncoding::Integer),
        ("minItems", 15, FieldEncoding::Integer),
        ("uniqueItems", 16, FieldEncoding::Flag),
        ("maxProperties", 17, FieldEncoding::Integer),
        ("minProperties", 18, FieldEncoding::Integer),
        ("required", 19, FieldEncoding::Texts),
        ("enum", 20, FieldEncoding::Each(&FieldEncoding::Any)),
        ("additionalProperties", 21, FieldEncoding::Choice(additional)),
        ("type", 22, FieldEncoding::Choice(type_)),
        ("items", 23, FieldEncoding::Inside(1, &FieldEncoding::Message(&SCHEMA))),
        ("allOf", 24, FieldEncoding::Each(&FieldEncoding::Message(&SCHEMA))),
        (
            "properties",
            25,
            FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Message(&SCHEMA))),
        ),
        ("externalDocs", 29, FieldEncoding::Message(&EXTERNAL_DOCS)),
        ("example", 30, FieldEncoding::Any),
    ],
    extensions: Some(31),
};

static EXTERNAL_DOCS: Message = Message {
    fields: &[("description", 1, FieldEncoding::Text), ("url", 2, FieldEncoding::Text)],
    extensions: Some(3),
};

fn parameter(value: &Value) -> FieldEncoding {
    const IN_BODY: FieldEncoding = FieldEncoding::Inside(1, &FieldEncoding::Message(&BODY));
    const IN_PATH: FieldEncoding =
        FieldEncoding::Inside(2, &FieldEncoding::Inside(4, &FieldEncoding::Message(&PATH)));
    const IN_QUERY: FieldEncoding =
        FieldEncoding::Inside(2, &FieldEncoding::Inside(3, &FieldEncoding::Message(&QUERY)));
    match value["in"].as_str() {
        Some("body") => IN_BODY,
        Some("path") => IN_PATH,
        _ => IN_QUERY,
    }
}

/// `AdditionalPropertiesItem`.
fn additional(value: &Value) -> FieldEncoding {
    const SCHEMAS: FieldEncoding = FieldEncoding::Inside(1, &FieldEncoding::Message(&SCHEMA));
    if value.is_boolean() { FieldEncoding::Inside(2, &FieldEncoding::Flag) } else { SCHEMAS }
}

/// `TypeItem`.
fn type_(value: &Value) -> FieldEncoding {
    if value.is_array() {
        FieldEncoding::Inside(1, &FieldEncoding::Texts)
    } else {
        FieldEncoding::Inside(1, &FieldEncoding::Text)
    }
}
