//! `prescient serve`: answers over HTTP, and a page to drop photos on.

mod answers;
mod body;
mod guard;
mod learn;
mod limits;
mod listen;
mod metrics;
mod model;
mod models;
mod openapi;
mod page;
mod predict;
mod problem;
mod routes;

use crate::device::DeviceName;
use crate::output;
use clap::Args;
use guard::Guard;
use learn::Teacher;
use limits::{Budget, Limits};
use metrics::Metrics;
use models::{Models, Source};
use prescient::error::{Result, RunError};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Answer over HTTP, with a page to drop photos on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  prescient serve shop                                       then open http://127.0.0.1:8000/
  curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg' http://127.0.0.1:8000/predict
  curl -F photo=@a.jpg -F photo=@b.jpg 'http://127.0.0.1:8000/predict?top=1'
  prescient serve shop --allow-learn                         who has the token may correct answers
  prescient serve shop@3 --host 0.0.0.0 --port 80            version 3, for other machines, too

`/openapi.json` describes what is served. Photos that arrive together are computed together. A newer version of the
model takes over while the service runs; no request is dropped. Ctrl-C lets requests finish, a second one does not.")]
pub(super) struct Serve {
    /// A project such as `shop` or `shop@3`, the folder of a run, or of one of its tasks
    model: PathBuf,

    /// The address to listen at; 0.0.0.0 lets other machines ask
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: IpAddr,

    /// The port to listen at; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    port: u16,

    /// A name by which clients may call this service, such as that of a proxy in front of it; may be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,

    /// Let who has the token teach the project: `POST /learn`, and corrections on the page
    #[arg(long)]
    allow_learn: bool,

    /// The token for teaching, at least 16 characters; made up and printed unless given
    #[arg(long, env = "PRESCIENT_TOKEN", hide_env_values = true, value_parser = long_enough)]
    token: Option<String>,

    /// Answer as after this task; the last finished one unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    task: Option<u32>,

    /// Where to compute
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,

    /// Compute at most so many photos together; 8 on a CPU, 64 on a GPU unless given
    #[arg(long, value_name = "PHOTOS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    batch: Option<u32>,

    /// Take at most so many MiB a request
    #[arg(long, value_name = "MIB", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    max_body: u32,

    /// Take photos of at most so many megapixels
    #[arg(long, value_name = "MEGAPIXELS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=128))]
    max_pixels: u32,

    /// Take at most so many photos a request
    #[arg(long, value_name = "PHOTOS", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_photos: u32,

    /// Wait at most so long for a body, and for its answer
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: u32,
}

/// What all requests share.
struct Service {
    models: Arc<Models>,
    /// Where learning is on.
    teacher: Option<Teacher>,
    guard: Guard,
    limits: Limits,
    budget: Arc<Budget>,
    metrics: Arc<Metrics>,
    begun: Instant,
}

impl Serve {
    pub(super) fn run(self) -> Result<()> {
        let device = self.device.open()?;
        let metrics = Arc::new(Metrics::default());
        let batch = self.batch.unwrap_or(if device.is_cuda() { 64 } else { 8 }) as usize;
        let task = self.task.map(|task| task as usize);
        let source = Source { path: self.model.clone(), task, device, batch };
        let models = Arc::new(Models::open(source, metrics.clone())?);
        let limits = Limits {
            body: (self.max_body as usize) << 20,
            pixels: u64::from(self.max_pixels) * 1_000_000,
            photos: self.max_photos as usize,
            time: Duration::from_secs(self.timeout.into()),
        };
        let (teacher, token) = match self.allow_learn {
            true => {
                let teacher = Teacher::start(&self.model, device, models.clone(), metrics.clone())?;
                (Some(teacher), Some(self.token.clone().map_or_else(guard::new_token, Ok)?))
            }
            false => (None, None),
        };
        let guard = Guard::new(self.host, &self.allow_host, token.as_deref());
        let budget = Arc::new(Budget::new(&limits));
        let service = Arc::new(Service { models, teacher, guard, limits, budget, metrics, begun: Instant::now() });
        // Two threads are plenty for sockets: decoding has its own, and so has the model.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(RunError::io(Path::new("the threads of the service")))?;
        runtime.block_on(self.serve(service, token))
    }

    async fn serve(&self, service: Arc<Service>, token: Option<String>) -> Result<()> {
        let address = SocketAddr::new(self.host, self.port);
        let name = address.to_string();
        let failed = || RunError::io(Path::new(&name));
        let listener = TcpListener::bind(address).await.map_err(failed())?;
        let mut signals =
            (signal(SignalKind::interrupt()).map_err(failed())?, signal(SignalKind::terminate()).map_err(failed())?);
        let address = listener.local_addr().map_err(failed())?;
        service.models.watch().map_err(failed())?;
        output::print_text(&self.greeting(&service, address, token.as_deref()))?;
        let stop = async move {
            asked(&mut signals).await;
            output::tell("stopping: open requests are answered first; once more stops at once");
            // The second time nobody is waited for.
            tokio::spawn(async move {
                asked(&mut signals).await;
                std::process::exit(130);
            });
        };
        let grace = service.limits.time;
        listen::serve(listener, routes::router(service.clone()), service.budget.clone(), stop, grace).await;
        Ok(())
    }

    /// What is served, and where: one line, and one more where it can be taught.
    fn greeting(&self, service: &Service, address: SocketAddr, token: Option<&str>) -> String {
        let live = service.models.current();
        let seen = live.classes.iter().filter(|class| class.seen).count();
        // A project may know of classes by a description and not guess at them yet: these do not compete.
        let described = prescient::Project::open(&self.model).map(|project| {
            let classes = &project.version().classes;
            classes.iter().filter(|class| class.photos == 0 && class.described).count()
        });
        let described = described.unwrap_or(live.classes.len() - seen);
        let mut text = format!(
            "serving `{}` version {} ({seen} classes with photos, {described} described) at http://{address}/\n",
            live.model.name, live.model.version
        );
        match (token, &self.token) {
            (Some(_), Some(_)) => {
                text.push_str("who has the token may teach it; on the page it goes into the field below \"Teaching\"\n")
            }
            // Browsers do not send what stands behind the `#`.
            (Some(made_up), None) => text.push_str(&format!("to teach it, open http://{address}/#token={made_up}\n")),
            (None, _) => {}
        }
        text
    }
}

/// A token that cannot be guessed by trying.
fn long_enough(token: &str) -> std::result::Result<String, String> {
    let fits = token.len() >= 16 && token.chars().all(|c| c.is_ascii_graphic());
    if fits { Ok(token.to_owned()) } else { Err("expected at least 16 letters, digits or signs".to_owned()) }
}

type Signals = (tokio::signal::unix::Signal, tokio::signal::unix::Signal);

/// Ctrl-C or SIGTERM.
async fn asked(signals: &mut Signals) {
    let (one, two) = (std::pin::pin!(signals.0.recv()), std::pin::pin!(signals.1.recv()));
    futures_util::future::select(one, two).await;
}
