//! `wrk` with a script made for the run.

use std::{fs, process::Command};

use crate::{
    Failure, config_maps,
    load::server::{Folder, Server, TOKEN},
};

const CONNECTIONS: u32 = 64;
/// A name that the script replaces, of the length that its names have.
const PLACE: &str = "000000000";

/// Requests a second over 64 connections, all answered with success.
fn rate(server: &Server, folder: &Folder, seconds: u32, script: &str) -> Result<f64, Failure> {
    let file = folder.path().join("load.lua");
    fs::write(&file, script)?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "-s"])
        .arg(&file)
        .arg(format!("https://{}", server.address))
        .output()
        .map_err(|error| format!("wrk: {error}; to install: apt-get install wrk"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("Non-2xx") || said.contains("Socket errors") {
        return Err(format!("wrk had errors:\n{said}").into());
    }
    let rate = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    Ok(rate.ok_or_else(|| format!("wrk said:\n{said}"))?.trim().parse()?)
}

/// Creates ConfigMaps with names in a row.
pub(crate) fn creates(server: &Server, folder: &Folder, seconds: u32) -> Result<f64, Failure> {
    let request = config_maps::create(PLACE, "");
    let (before, after) = request.split_once(PLACE).ok_or("the request has its name")?;
    let script = format!(
        "local before, after = {before:?}, {after:?}\n\
         local made = 0\n\
         function request()\n\
         made = made + 1\n\
         return before .. string.format('w%08d', made) .. after\n\
         end\n"
    );
    rate(server, folder, seconds, &script)
}

/// Reads the objects that the path's names stand for, in turn.
pub(crate) fn gets(
    server: &Server,
    folder: &Folder,
    seconds: u32,
    names: impl Iterator<Item = String>,
) -> Result<f64, Failure> {
    let collection = config_maps::collection();
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    let script = format!(
        "local names, at, requests = {{{}}}, 0, {{}}\n\
         function init()\n\
         for i, name in ipairs(names) do\n\
         requests[i] = wrk.format('GET', '{collection}/' .. name, {{['Authorization'] = 'Bearer {TOKEN}'}})\n\
         end\n\
         end\n\
         function request()\n\
         at = at % #requests + 1\n\
         return requests[at]\n\
         end\n",
        names.join(",")
    );
    rate(server, folder, seconds, &script)
}
