//! How many writes the API server was asked for, as it counts itself.

use crate::load::{Failure, connection::Connection};

const WRITES: [&str; 5] = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];

/// All that changed an object or tried to. A review, by which a client asks what it may do, is a
/// POST of no resource and no write.
pub(crate) async fn writes(connection: &mut Connection) -> Result<u64, Failure> {
    let text = connection.get("/metrics").await?;
    let text = std::str::from_utf8(text)?;
    let counts = text.lines().filter(|line| line.starts_with("apiserver_request_total{"));
    let is_write = |line: &&str| WRITES.iter().any(|verb| line.contains(&format!("verb=\"{verb}")));
    let writes = counts.filter(is_write).filter(|line| !line.contains(r#",resource="","#));
    let counts = writes.map(|line| line.rsplit(' ').next().unwrap_or_default().parse::<f64>());
    Ok(counts.sum::<Result<f64, _>>()? as u64)
}
