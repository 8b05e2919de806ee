//! Values from a server's responses to a command, for the masks in its next requests.

use jiff::Timestamp;
use serde_json::Value;

use crate::apiserver::{send::fetch, server::Server};

#[derive(Debug, Default)]
pub(super) struct Seen {
    version: Option<String>,
    uid: Option<String>,
    /// The paths of the OpenAPI index, each with its hash.
    openapi: Value,
}

impl Seen {
    pub(super) fn note(&mut self, path: &str, answer: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if path == "/openapi/v3" && answer["paths"].is_object() {
            self.openapi = answer["paths"].clone();
        }
        if answer["kind"] != "Status" {
            let metadata = &answer["metadata"];
            self.version = text(&metadata["resourceVersion"]).or(self.version.take());
            self.uid = text(&metadata["uid"]).or(self.uid.take());
        }
    }

    /// The text of a request to `path` with its masks filled.
    pub(super) fn fill(&self, text: &str, path: &str, server: &Server) -> Result<String, String> {
        let mut filled = text.to_owned();
        for mask in ["<rv>", "<uid>", "<hash>", "<seconds>", "<time>"] {
            if filled.contains(mask) {
                filled = filled.replace(mask, &self.value(mask, path, server)?);
            }
        }
        Ok(filled)
    }

    fn value(&self, mask: &str, path: &str, server: &Server) -> Result<String, String> {
        match mask {
            "<rv>" => self.version.clone().map_or_else(|| fetch_version(path, server), Ok),
            "<uid>" => self.uid.clone().ok_or_else(|| "no uid has been seen".to_owned()),
            "<hash>" => self.hash(path, server),
            "<seconds>" => Ok("2".to_owned()),
            _ => Ok(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        }
    }

    fn hash(&self, path: &str, server: &Server) -> Result<String, String> {
        let key = path.trim_start_matches("/openapi/v3/");
        let mut index = self.openapi.clone();
        if index.is_null() {
            index = fetch("/openapi/v3", server)?["paths"].take();
        }
        let address = index[key]["serverRelativeURL"].as_str();
        let hash = address.and_then(|address| address.split_once("hash="));
        Ok(hash.ok_or_else(|| format!("the index has no hash for {key}"))?.1.to_owned())
    }
}

fn fetch_version(path: &str, server: &Server) -> Result<String, String> {
    let version = fetch(path, server)?["metadata"]["resourceVersion"].take();
    version.as_str().map(str::to_owned).ok_or_else(|| format!("{path} has no version"))
}
