//! A report as a page: the picture, and the same figures as tables. It loads nothing. Pure.

use std::fmt::Write as _;

use super::{
    picture,
    report::{Report, ServiceReport},
    text,
};
use crate::{error::counted, svg::text::escaped, table::percent};

const STYLE: &str = "body{font-family:sans-serif;margin:2rem auto;max-width:58rem;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:bold;padding:.3rem 0}\
th,td{text-align:left;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #ccc}\
td.n,th.n{text-align:right}svg{max-width:100%;height:auto}";

pub(super) fn render(report: &Report) -> String {
    let title = escaped(&format!("{} lost for {:.0} s", report.zone, picture::lasted(report)));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&sentence(report))
    );
    page += &picture::render(report);
    page += "<table>\n<caption>Services in the outage</caption>\n<tr><th>Service</th>\
             <th class=\"n\">Requests</th><th class=\"n\">Success</th><th class=\"n\">Converged</th>\
             <th class=\"n\">Max load</th><th class=\"n\">Forecast</th></tr>\n";
    report.services.iter().for_each(|service| row(service, &mut page));
    page += "</table>\n";
    report.services.iter().for_each(|service| endpoints(service, &mut page));
    page + "</body>\n</html>\n"
}

fn sentence(report: &Report) -> String {
    let Report { zone, nodes, outage, before, after, .. } = report;
    let converged = match report.converged_seconds {
        Some(seconds) => format!("Traffic had moved after {seconds:.1} s"),
        None => "Traffic had not moved before the end".to_owned(),
    };
    let back = match report.back_seconds {
        Some(seconds) => format!("{zone} was back {seconds:.1} s after it was given back"),
        None => format!("{zone} was not back when this was written"),
    };
    format!(
        "{} of {zone} lost. {} of {} in the outage answered; before {}, after {}. {converged}. {back}. \
         Loads are measured, forecasts are those of evenkeel plan.",
        counted(nodes.len(), "Node"),
        text::rate(*outage),
        counted(outage.requests, "request"),
        text::rate(*before),
        text::rate(*after),
    )
}

fn known(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), percent)
}

fn row(service: &ServiceReport, page: &mut String) {
    let converged = service.converged_seconds;
    let _ = writeln!(
        page,
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        name(service),
        service.outage.requests,
        text::rate(service.outage),
        converged.map_or_else(|| "no".to_owned(), |after| format!("{after:.1} s")),
        known(service.load.max_load),
        known(service.forecast.as_ref().map(|forecast| forecast.max_load)),
    );
}

fn name(service: &ServiceReport) -> String {
    escaped(&format!("{}/{}", service.namespace, service.service))
}

fn endpoints(service: &ServiceReport, page: &mut String) {
    let _ = writeln!(
        page,
        "<table>\n<caption>Endpoints of {}</caption>\n<tr><th>Zone</th><th>Node</th><th>Pod</th>\
         <th class=\"n\">Answered in all</th><th class=\"n\">After traffic had moved</th>\
         <th class=\"n\">Load</th></tr>",
        name(service)
    );
    for one in &service.load.endpoints {
        let [zone, node, pod] =
            [&one.place.zone, &one.place.node, &one.place.pod].map(|text| escaped(text));
        let _ = writeln!(
            page,
            "<tr><td>{zone}</td><td>{node}</td><td>{pod}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            one.total,
            one.answered,
            known(one.load)
        );
    }
    page.push_str("</table>\n");
}
