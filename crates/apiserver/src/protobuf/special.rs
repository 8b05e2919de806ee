//! Values whose JSON is not an object of their fields.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use evenkeel_store::schema::{self, DecodeError, Precision, Shape};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    ProtobufError,
    wire::{parts, put_counted, put_tag, put_varint},
};

pub(super) fn base64(bytes: &[u8]) -> Value {
    STANDARD.encode(bytes).into()
}

/// `metav1.Time`: whole seconds; an empty message is no time.
pub(super) fn time(message: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let Some(at) = timestamp(message, bytes)? else { return Ok(Value::Null) };
    Ok(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into())
}

/// `metav1.MicroTime`: always six digits after the point.
pub(super) fn micro_time(message: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let Some(at) = timestamp(message, bytes)? else { return Ok(Value::Null) };
    Ok(at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string().into())
}

/// `resource.Quantity`: {string = 1}. Absent is zero.
pub(super) fn quantity(message: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut text = "";
    for part in parts(bytes) {
        let part = part?;
        if part.number == 1 {
            text = part.text(message, "string")?;
        }
    }
    Ok(if text.is_empty() { "0" } else { text }.into())
}

/// `intstr.IntOrString`: {type = 1, intVal = 2, strVal = 3}; type 1 is the string.
pub(super) fn int_or_string(message: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut int, mut text) = (false, 0, "");
    for part in parts(bytes) {
        let part = part?;
        match part.number {
            1 => is_text = part.int(message)? == 1,
            2 => int = part.int(message)?,
            3 => text = part.text(message, "strVal")?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { int.into() })
}

/// `metav1.FieldsV1` and `runtime.RawExtension`: {raw = 1}, which is JSON. Absent is null.
pub(super) fn json(message: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut raw: &[u8] = &[];
    for part in parts(bytes) {
        let part = part?;
        if part.number == 1 {
            raw = part.bytes(message)?;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    schema::any_json(raw, schema::MOST_LEVELS).map_err(|problem| match problem {
        DecodeError::TooDeep(_) => ProtobufError::JsonTooDeep(problem.to_string()),
        _ => ProtobufError::Json(message.to_owned()),
    })
}

/// Appends a value that is a string in JSON, without tag and length; false if it is of another type.
pub(super) fn put_text(out: &mut Vec<u8>, shape: &Shape, text: &str) -> bool {
    match shape {
        Shape::Text(_) => out.extend_from_slice(text.as_bytes()),
        Shape::Bytes => {
            let start = out.len();
            let decoded = STANDARD.decode_vec(text, out);
            if decoded.is_err() {
                out.truncate(start);
            }
            return decoded.is_ok();
        }
        Shape::Quantity => put_counted(out, 1, text.as_bytes()),
        Shape::IntOrString => {
            out.extend([1 << 3, 1, 2 << 3, 0]);
            put_counted(out, 3, text.as_bytes());
        }
        Shape::Time => return put_timestamp(out, text, Precision::Seconds),
        Shape::MicroTime => return put_timestamp(out, text, Precision::Micros),
        _ => return false,
    }
    true
}

/// The same for a number.
pub(super) fn put_number(out: &mut Vec<u8>, shape: &Shape, number: &str) -> bool {
    match (shape, number.parse::<i64>()) {
        (Shape::Int32 | Shape::Int64, Ok(number)) => put_varint(out, number.cast_unsigned()),
        (Shape::IntOrString, Ok(number)) => {
            out.extend([1 << 3, 0, 2 << 3]);
            put_varint(out, number.cast_unsigned());
            put_counted(out, 3, b"");
        }
        (Shape::Quantity, _) => put_counted(out, 1, number.as_bytes()),
        (Shape::Float, _) => {
            let Ok(number) = number.parse::<f64>() else { return false };
            out.extend(number.to_le_bytes());
        }
        _ => return false,
    }
    true
}

fn put_timestamp(out: &mut Vec<u8>, text: &str, precision: Precision) -> bool {
    let Some((seconds, micros)) = schema::unix_time(text, precision) else { return false };
    put_tag(out, 1, 0);
    put_varint(out, seconds.cast_unsigned());
    put_tag(out, 2, 0);
    put_varint(out, u64::from(micros) * 1000);
    true
}

fn timestamp(message: &str, bytes: &[u8]) -> Result<Option<Timestamp>, ProtobufError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for part in parts(bytes) {
        let part = part?;
        match part.number {
            1 => seconds = part.int(message)?,
            2 => nanos = part.int(message)?,
            _ => {}
        }
    }
    let nanos = i32::try_from(nanos).ok().filter(|nanos| (0..1_000_000_000).contains(nanos));
    let at = nanos.and_then(|nanos| Timestamp::new(seconds, nanos).ok());
    at.filter(|at| in_range(*at)).map(Some).ok_or_else(|| ProtobufError::Time(message.to_owned()))
}

/// The range of RFC 3339: the years 1 to 9999.
fn in_range(at: Timestamp) -> bool {
    (-62_135_596_800..=253_402_300_799).contains(&at.as_second())
}
