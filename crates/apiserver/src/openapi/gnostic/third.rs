//! Version 3.

use serde_json::Value;

use super::{FieldEncoding, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        ("openapi", 1, FieldEncoding::Text),
        ("info", 2, FieldEncoding::Message(&INFO)),
        (
            "paths",
            4,
            FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Message(&PATH_ITEM))),
        ),
        ("components", 5, FieldEncoding::Message(&COMPONENTS)),
    ],
    extensions: Some(9),
};

static INFO: Message = Message {
    fields: &[("title", 1, FieldEncoding::Text), ("version", 6, FieldEncoding::Text)],
    extensions: Some(7),
};

static COMPONENTS: Message = Message {
    fields: &[
        (
            "schemas",
            1,
            FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Choice(schema))),
        ),
        (
            "securitySchemes",
            7,
            FieldEncoding::Inside(
                1,
                &FieldEncoding::Entries(&FieldEncoding::Inside(
                    1,
                    &FieldEncoding::Message(&SECURITY_SCHEME),
                )),
            ),
        ),
    ],
    extensions: Some(10),
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        ("type", 1, FieldEncoding::Text),
        ("description", 2, FieldEncoding::Text),
        ("name", 3, FieldEncoding::Text),
        ("in", 4, FieldEncoding::Text),
    ],
    extensions: Some(9),
};

static PATH_ITEM: Message = Message {
    fields: &[
        ("get", 4, FieldEncoding::Message(&OPERATION)),
        ("put", 5, FieldEncoding::Message(&OPERATION)),
        ("post", 6, FieldEncoding::Message(&OPERATION)),
        ("delete", 7, FieldEncoding::Message(&OPERATION)),
        ("options", 8, FieldEncoding::Message(&OPERATION)),
        ("head", 9, FieldEncoding::Message(&OPERATION)),
        ("patch", 10, FieldEncoding::Message(&OPERATION)),
        (
            "parameters",
            13,
            FieldEncoding::Each(&FieldEncoding::Inside(1, &FieldEncoding::Message(&PARAMETER))),
        ),
    ],
    extensions: Some(14),
};

static OPERATION: Message = Message {
    fields: &[
        ("tags", 1, FieldEncoding::Texts),
        ("description", 3, FieldEncoding::Text),
        ("operationId", 5, FieldEncoding::Text),
        (
            "parameters",
            6,
            FieldEncoding::Each(&FieldEncoding::Inside(1, &FieldEncoding::Message(&PARAMETER))),
        ),
        ("requestBody", 7, FieldEncoding::Inside(1, &FieldEncoding::Message(&REQUEST_BODY))),
        (
            "responses",
            8,
            FieldEncoding::Inside(
                2,
                &FieldEncoding::Entries(&FieldEncoding::Inside(
                    1,
                    &FieldEncoding::Message(&RESPONSE),
                )),
            ),
        ),
    ],
    extensions: Some(13),
};

static PARAMETER: Message = Message {
    fields: &[
        ("name", 1, FieldEncoding::Text),
        ("in", 2, FieldEncoding::Text),
        ("description", 3, FieldEncoding::Text),
        ("required", 4, FieldEncoding::Flag),
        ("schema", 10, FieldEncoding::Choice(schema)),
    ],
    extensions: Some(14),
};

static REQUEST_BODY: Message = Message {
    fields: &[
        ("description", 1, FieldEncoding::Text),
        ("content", 2, CONTENT),
        ("required", 3, FieldEncoding::Flag),
    ],
    extensions: Some(4),
};

static RESPONSE: Message = Message {
    fields: &[("description", 1, FieldEncoding::Text), ("content", 3, CONTENT)],
    extensions: Some(5),
};

const CONTENT: FieldEncoding =
    FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Message(&MEDIA_TYPE)));

static MEDIA_TYPE: Message =
    Message { fields: &[("schema", 1, FieldEncoding::Choice(schema))], extensions: Some(5) };

static SCHEMA: Message = Message {
    fields: &[
        ("nullable", 1, FieldEncoding::Flag),
        ("externalDocs", 6, FieldEncoding::Message(&EXTERNAL_DOCS)),
        ("example", 7, FieldEncoding::Any),
        ("title", 9, FieldEncoding::Text),
        ("multipleOf", 10, FieldEncoding::Number),
        ("maximum", 11, FieldEncoding::Number),
        ("exclusiveMaximum", 12, FieldEncoding::Flag),
        ("minimum", 13, FieldEncoding::Number),
        ("exclusiveMinimum", 14, FieldEncoding::Flag),
        ("maxLength", 15, FieldEncoding::Integer),
        ("minLength", 16, FieldEncoding::Integer),
        ("pattern", 17, FieldEncoding::Text),
        ("maxItems", 18, FieldEncoding::Integer),
        ("minItems", 19, FieldEncoding::Integer),
        ("uniqueItems", 20, FieldEncoding::Flag),
        ("maxProperties", 21, FieldEncoding::Integer),
        ("minProperties", 22, FieldEncoding::Integer),
        ("required", 23, FieldEncoding::Texts),
        ("enum", 24, FieldEncoding::Each(&FieldEncoding::Any)),
        ("type", 25, FieldEncoding::Text),
        ("allOf", 26, FieldEncoding::Each(&FieldEncoding::Choice(schema))),
        ("oneOf", 27, FieldEncoding::Each(&FieldEncoding::Choice(schema))),
        ("anyOf", 28, FieldEncoding::Each(&FieldEncoding::Choice(schema))),
        ("not", 29, FieldEncoding::Message(&SCHEMA)),
        ("items", 30, FieldEncoding::Inside(1, &FieldEncoding::Choice(schema))),
        (
            "properties",
            31,
            FieldEncoding::Inside(1, &FieldEncoding::Entries(&FieldEncoding::Choice(schema))),
        ),
        ("additionalProperties", 32, FieldEncoding::Choice(additional)),
        ("default", 33, FieldEncoding::Default),
        ("description", 34, FieldEncoding::Text),
        ("format", 35, FieldEncoding::Text),
    ],
    extensions: Some(36),
};

static EXTERNAL_DOCS: Message = Message {
    fields: &[("description", 1, FieldEncoding::Text), ("url", 2, FieldEncoding::Text)],
    extensions: Some(3),
};

static REFERENCE: Message =
    Message { fields: &[("$ref", 1, FieldEncoding::Text)], extensions: None };

/// `SchemaOrReference`.
fn schema(value: &Value) -> FieldEncoding {
    const HERE: FieldEncoding = FieldEncoding::Inside(1, &FieldEncoding::Message(&SCHEMA));
    const THERE: FieldEncoding = FieldEncoding::Inside(2, &FieldEncoding::Message(&REFERENCE));
    if value.get("$ref").is_some() { THERE } else { HERE }
}

/// `AdditionalPropertiesItem`.
fn additional(value: &Value) -> FieldEncoding {
    const SCHEMAS: FieldEncoding = FieldEncoding::Inside(1, &FieldEncoding::Choice(schema));
    if value.is_boolean() { FieldEncoding::Inside(2, &FieldEncoding::Flag) } else { SCHEMAS }
}
