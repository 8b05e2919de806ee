//! As much of HTTP/2 as a client of one long stream needs (RFC 9113).
//!
//! Headers of the server are not read. What we send is small, so that the server's windows are never exhausted:
//! it opens them again while it reads.

/// What the server may have sent on the stream that we have not read; the protocol's own default.
pub(super) const WINDOW: usize = 65_535;

const STREAM: u32 = 1;
const HEADER: usize = 9;

mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What of a frame concerns us.
#[derive(Debug, PartialEq)]
pub(super) enum Frame<'a> {
    Data(&'a [u8]),
    Settings,
    Ping(&'a [u8]),
    /// The server ended the stream or the connection.
    Ended,
    Other,
}

/// Appends what a client begins with: its settings, none but the defaults, and the headers of one request.
pub(super) fn begin(out: &mut Vec<u8>, authority: &str, path: &str) {
    out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame(out, kind::SETTINGS, 0, 0, &[]);
    // By their number in the static table of HPACK: `:method: POST`, `:scheme: http`, `:path`, `:authority`,
    // `content-type`; then a name of its own.
    let mut headers = vec![0x83, 0x86, 0x04];
    text(&mut headers, path);
    headers.push(0x01);
    text(&mut headers, authority);
    headers.extend_from_slice(&[0x0f, 0x10]);
    text(&mut headers, "application/grpc");
    headers.push(0x00);
    text(&mut headers, "te");
    text(&mut headers, "trailers");
    frame(out, kind::HEADERS, END_HEADERS, STREAM, &headers);
}

pub(super) fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    // The largest frame that a server must accept.
    for part in bytes.chunks(16 * 1024) {
        frame(out, kind::DATA, 0, STREAM, part);
    }
}

/// Lets the server send so much more.
pub(super) fn open_windows(out: &mut Vec<u8>, by: usize) {
    let by = u32::try_from(by).unwrap_or_default().to_be_bytes();
    frame(out, kind::WINDOW_UPDATE, 0, 0, &by);
    frame(out, kind::WINDOW_UPDATE, 0, STREAM, &by);
}

pub(super) fn accept_settings(out: &mut Vec<u8>) {
    frame(out, kind::SETTINGS, ACK, 0, &[]);
}

pub(super) fn answer_ping(out: &mut Vec<u8>, ping: &[u8]) {
    frame(out, kind::PING, ACK, 0, ping);
}

/// The first frame, if it is complete, and its length.
pub(super) fn first(bytes: &[u8]) -> Option<(Frame<'_>, usize)> {
    let [a, b, c, kind, flags, ..] = *bytes else { return None };
    let len = HEADER + u32::from_be_bytes([0, a, b, c]) as usize;
    let payload = bytes.get(HEADER..len)?;
    let frame = match kind {
        kind::DATA if flags & END_STREAM == 0 => Frame::Data(payload),
        kind::SETTINGS if flags & ACK == 0 => Frame::Settings,
        kind::PING if flags & ACK == 0 => Frame::Ping(payload),
        kind::HEADERS if flags & END_STREAM == 0 => Frame::Other,
        kind::DATA | kind::HEADERS | kind::RST_STREAM | kind::GOAWAY => Frame::Ended,
        _ => Frame::Other,
    };
    Some((frame, len))
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let len = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    out.extend_from_slice(&len[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// As it is, without compression.
fn text(out: &mut Vec<u8>, text: &str) {
    // Below 127 bytes, one byte for the length.
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}
