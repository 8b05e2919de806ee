//! `evenkeel drill`: a zone of `evenkeel up --proxy` is lost for a while, and what becomes of requests.
//!
//! ```text
//!  input ─► subject (pure) ─► forecast                                             on any other cluster
//!              └─► traffic: requests ─► recording ─► report (pure) ─► text, picture, page
//!                  zone: outage ─► restored ─► back
//! ```

mod args;
mod forecast;
mod page;
mod picture;
mod recording;
mod report;
mod schedule;
mod subject;
mod text;
mod traffic;
mod zone;

use std::{fs, path::Path, time::Duration};

use evenkeel_admin::signals::Signals;
use evenkeel_k8s::live::{self, ClusterSource, Connection};
use kube::Client;
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, interval, sleep},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::args::{DrillArgs, EXAMPLES};
use self::{
    forecast::forecasts,
    report::{Report, Timeline},
    subject::Subject,
    text::Moment,
    traffic::Traffic,
    zone::{DrillLock, LEASE, Outage, RENEW},
};
use crate::{
    cli::ReportOutput,
    error::Error,
    exit::Exit,
    find,
    input::{self, Wanted},
    network::{self, Record},
    output, printer,
    progress::Progress,
    up::DATA,
};

/// Requests are sent for this long before the zone is lost.
const BEFORE: Duration = Duration::from_secs(3);

const ELSEWHERE: &str = "this is not the cluster of an `evenkeel up --proxy` on this host";

/// How often the progress line is written.
const TELL: Duration = Duration::from_millis(250);

/// Whether a zone may be lost.
enum Mode {
    Drill(Box<Ground>),
    /// Why it may not.
    Forecast(&'static str),
}

/// An `up --proxy` on this host.
struct Ground {
    client: Client,
    record: Record,
    _lock: DrillLock,
}

pub(crate) fn run(args: &DrillArgs) -> Result<Exit, Error> {
    let named = args.services.iter().map(|given| find::service_ref(given));
    let named: Vec<_> = named.collect::<Result<_, Error>>()?;
    args.check_report()?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::Start)?;
    let mode = mode(args, &runtime)?;
    let input = input::read(&args.input, Wanted::All)?;
    let subject = subject::subject(&input, &args.lose, &named, args.input.namespace.as_deref())?;
    match mode {
        Mode::Drill(ground) => {
            let subject = sendable(subject, &ground.record)?;
            drill(args, &runtime, &ground, &subject)
        }
        Mode::Forecast(why) => {
            let forecasts = forecasts(&subject, why);
            printer::data(&match args.output {
                ReportOutput::Table => text::forecasts(&forecasts),
                ReportOutput::Json => output::json(&forecasts)?,
            })?;
            if args.report.is_some() || args.fail_under.is_some() {
                printer::note("nothing was measured: --report and --fail-under have no effect");
            }
            Ok(Exit::Clean)
        }
    }
}

/// What an earlier drill left is restored, before anything is read.
fn mode(args: &DrillArgs, runtime: &Runtime) -> Result<Mode, Error> {
    if !args.input.filename.is_empty() {
        return Ok(Mode::Forecast("objects are from files"));
    }
    if args.dry_run {
        return Ok(Mode::Forecast("--dry-run"));
    }
    runtime.block_on(async {
        let (kubeconfig, context) = (args.input.kubeconfig.clone(), args.input.context.clone());
        let source = ClusterSource::find(kubeconfig, context, Path::new(DATA))?;
        let Connection { client, address } = live::controller_client(&source).await?;
        let cluster = network::cluster_uid(&client).await.unwrap_or_default();
        let record = Record::of_running(Path::new(network::FOLDER), &address, &cluster);
        let Some(record) = record else {
            return Ok(Mode::Forecast(ELSEWHERE));
        };
        if !network::is_root() {
            return Err(Error::NeedsRoot { what: "drill" });
        }
        let lock = DrillLock::take(&record)?;
        if let Some(left) = Outage::left_behind(&client).await? {
            printer::note("a drill was killed: restoring its zone first");
            left.end().await?;
            left.is_over(async || Ok(true)).await?;
        }
        Ok(Mode::Drill(Box::new(Ground { client, record, _lock: lock })))
    })
}

/// Without Services that no request can be sent to, and Nodes that none can be sent from.
fn sendable(mut subject: Subject, record: &Record) -> Result<Subject, Error> {
    let (with, without): (Vec<_>, Vec<_>) =
        subject.services.into_iter().partition(|one| one.frontend.is_some());
    for one in &without {
        printer::note(format_args!(
            "left out: Service {} has no cluster IP of IPv4, or no TCP or UDP port",
            one.key
        ));
    }
    subject.services = with;
    subject.clients.retain(|client| record.nodes.contains_key(&*client.node));
    let (problem, help) = match (subject.services.is_empty(), subject.clients.is_empty()) {
        (false, false) => return Ok(subject),
        (true, _) => {
            ("requests can be sent to none of the Services", "choose others with --service")
        }
        _ => ("no other Node has a network namespace", "wait until `evenkeel up` has created them"),
    };
    Err(Error::Drill { problem: problem.to_owned(), help: help.to_owned() })
}

fn drill(
    args: &DrillArgs,
    runtime: &Runtime,
    ground: &Ground,
    subject: &Subject,
) -> Result<Exit, Error> {
    let report = runtime.block_on(measured(args, ground, subject))?;
    printer::data(&match args.output {
        ReportOutput::Table => text::report(&report),
        ReportOutput::Json => output::json(&report)?,
    })?;
    if let Some(path) = &args.report {
        let written = match args.is_page() {
            true => page::render(&report),
            false => picture::render(&report),
        };
        fs::write(path, written).map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    let is_under = args.fail_under.is_some_and(|percent| report.is_under(percent));
    Ok(if is_under { Exit::Findings } else { Exit::Clean })
}

/// Whatever happens after the zone is lost, it is given back.
async fn measured(args: &DrillArgs, ground: &Ground, subject: &Subject) -> Result<Report, Error> {
    let stop = CancellationToken::new();
    let (signals, stopped) = (Signals::new().map_err(Error::Start)?, stop.clone());
    let told = move || {
        printer::note("restoring the zone; press Ctrl-C again to let it come back by itself");
    };
    tokio::spawn(async move {
        signals.first(told).await;
        stopped.cancel();
    });
    let progress = Progress::new(None, "sending requests");
    let traffic = Traffic::start(subject, &ground.record, args.rate)?;
    tokio::select! {
        () = sleep(BEFORE) => {}
        () = stop.cancelled() => {}
    }
    let outage = Outage::new(&ground.client, &subject.lost);
    let lost = traffic.elapsed();
    let lasted = match stop.is_cancelled() {
        true => Ok(()),
        false => last(&outage, args.duration, &traffic, subject, &progress, &stop).await,
    };
    let restored = traffic.elapsed();
    progress.say(format!("restoring {}", subject.zone));
    let ended = outage.end().await;
    let interrupted = stop.is_cancelled();
    lasted.and(ended)?;
    let answer = async || zone::endpoints_answer(&ground.client, subject, &ground.record).await;
    let back = outage.is_over(answer).await?.then(|| traffic.elapsed());
    let end = traffic.elapsed();
    let recording = traffic.stop().await;
    let times = Timeline { lost, restored, back, end, interrupted };
    Ok(report::report(subject, times, &recording))
}

/// The outage, until its time has passed or `stop`.
async fn last(
    outage: &Outage,
    duration: Duration,
    traffic: &Traffic,
    subject: &Subject,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let (begun, lost) = (Instant::now(), traffic.elapsed());
    let (mut renew, mut tell) = (interval(RENEW), interval(TELL));
    let mut renewed = begun;
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = sleep(duration.saturating_sub(begun.elapsed())) => return Ok(()),
            _ = renew.tick() => {
                if renewed.elapsed() >= LEASE {
                    return Err(Error::DrillStalled);
                }
                outage.renew().await?;
                renewed = Instant::now();
            }
            _ = tell.tick() => {
                let now = Moment { lost, now: traffic.elapsed(), end: lost + duration };
                progress.say(text::live(&subject.zone, now, &traffic.recent()));
            }
        }
    }
}
