//! `evenkeel fairness collisions`.

use evenkeel_fairness::{
    collisions::{Collisions, collisions},
    shard::Dealer,
};
use serde::Serialize;

use super::args::CollisionsArgs;
use crate::{cli::ReportOutput, error::Error, output, printer, table::Table};

/// Computing more queues takes long, and no level has them.
const MAX_QUEUES: u32 = 1 << 16;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    elephants: u32,
    collision_probability: f64,
    expected_queues: f64,
}

pub(crate) fn run(args: &CollisionsArgs) -> Result<(), Error> {
    let threshold = threshold(&args.threshold)?;
    let dealer = Dealer::new(args.queues, args.hand_size)?;
    if args.queues > MAX_QUEUES {
        let problem = "more than 65536 queues; use fewer";
        return Err(Error::Attribute { given: format!("--queues {}", args.queues), problem });
    }
    let row = |of: &Collisions| Row {
        elephants: of.elephants,
        collision_probability: of.collision_probability,
        expected_queues: of.expected_queues,
    };
    let rows: Vec<Row> =
        collisions(&dealer, threshold, args.max_elephants).iter().map(row).collect();
    let text = match args.output {
        ReportOutput::Table => render(&rows, args),
        ReportOutput::Json => output::json(&rows)?,
    };
    printer::data(&text)
}

fn render(rows: &[Row], args: &CollisionsArgs) -> String {
    let mut table = Table::new(&["ELEPHANTS", "COLLISION PROBABILITY", "QUEUES IN USE"]);
    for Row { elephants, collision_probability, expected_queues } in rows {
        table.row([
            elephants.to_string(),
            probability(*collision_probability),
            format!("{expected_queues:.1} of {}", args.queues),
        ]);
    }
    let legend = "\nELEPHANTS: large flows. COLLISION PROBABILITY: that elephants use all queues of \
                  a small flow, so that\nit waits behind them. QUEUES IN USE: expected number of \
                  queues that elephants use.\n";
    table.render("") + legend
}

/// Three digits, however small.
fn probability(value: f64) -> String {
    match value * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent >= 0.01 => format!("{percent:.3} %"),
        percent => format!("{percent:.2e} %"),
    }
}

fn threshold(given: &str) -> Result<f64, Error> {
    let (number, unit) = match given.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (given, 1.0),
    };
    let value: Option<f64> = number.trim().parse().ok().map(|number: f64| number / unit);
    let value = value.filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| Error::Threshold { given: given.to_owned() })
}
