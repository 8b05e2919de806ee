//! What a running control plane answers.

use evenkeel_admin::scrape;
use hyper::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::{
    error::Error,
    up::components::{self, Components},
};

const USUAL: &str = "http://127.0.0.1:5680";

/// The one that is given, or that of `evenkeel up`, or where a control plane listens without flags.
pub(super) fn url(given: Option<&str>) -> String {
    let of_up = || Components::found()?.address(components::MESH).map(str::to_owned);
    given.map(str::to_owned).or_else(of_up).unwrap_or_else(|| USUAL.to_owned())
}

/// A page as JSON; `None` if it does not know what is asked for.
pub(super) fn ask(admin: &str, page: &str) -> Result<Option<Value>, Error> {
    let url = format!("{}{page}", admin.trim_end_matches('/'));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let failed = |problem| Error::ControlPlane { url: url.clone(), problem };
    let (status, text) = runtime.block_on(scrape::ask(&url)).map_err(failed)?;
    match status {
        StatusCode::OK => serde_json::from_str(&text)
            .map(Some)
            .map_err(|_| failed("the answer is not that of a control plane".to_owned())),
        StatusCode::NOT_FOUND => Ok(None),
        status => Err(failed(format!("HTTP status {status}"))),
    }
}

/// A page that every control plane has.
pub(super) fn page(admin: &str, page: &str) -> Result<Value, Error> {
    let missing = || Error::ControlPlane {
        url: format!("{}{page}", admin.trim_end_matches('/')),
        problem: "there is no such page; it is not that of a control plane".to_owned(),
    };
    ask(admin, page)?.ok_or_else(missing)
}

/// What the text of a command needs of an answer.
pub(super) fn decoded<T: DeserializeOwned>(admin: &str, value: &Value) -> Result<T, Error> {
    T::deserialize(value).map_err(|error| Error::ControlPlane {
        url: admin.to_owned(),
        problem: format!("the answer is not understood: {error}"),
    })
}
