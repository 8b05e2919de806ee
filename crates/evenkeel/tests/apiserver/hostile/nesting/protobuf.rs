//! A Deployment in protobuf, field by field.

/// The same as [`deployment`](super::deployment).
pub(super) fn deployment(name: &str, anything: &str) -> Vec<u8> {
    let label = [field(1, b"app"), field(2, b"a")].concat();
    let entry = [
        field(1, b"m"),
        field(2, b"Update"),
        field(6, b"FieldsV1"),
        field(7, &field(1, anything.as_bytes())),
    ];
    let metadata = [field(11, &label), field(17, &entry.concat())].concat();
    let container = [field(1, b"c"), field(2, b"i")].concat();
    let template = [field(1, &metadata), field(2, &field(2, &container))].concat();
    let spec = [field(2, &field(1, &label)), field(3, &template)].concat();
    let object = [field(1, &field(1, name.as_bytes())), field(2, &spec)].concat();
    let kind = [field(1, b"apps/v1"), field(2, b"Deployment")].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &object)].concat()
}

fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len()), bytes.to_vec()].concat()
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while number > 127 {
        out.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
    out
}
