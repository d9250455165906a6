//! Several processes that cannot work together.

/// Several processes that cannot work together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// A variable that says where a process stands, and does not.
    #[error("the variable `{name}`: expected {expected}, found {found}")]
    Variable {
        /// Its name.
        name: String,
        /// What it should say.
        expected: String,
        /// What it says.
        found: String,
    },
    /// The port for the processes to meet at is taken.
    #[error("port {port} of `{host}`, where the processes are to meet, is in use by another program")]
    PortInUse {
        /// This machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// The place to meet cannot be reached.
    #[error("process {rank} of {count} could not reach process 0 at `{host}:{port}` within {seconds} s: {reason}")]
    NotReached {
        /// This process, from 0.
        rank: usize,
        /// How many there are to be.
        count: usize,
        /// Where to meet.
        host: String,
        /// The port.
        port: u16,
        /// How long was tried.
        seconds: u64,
        /// Why not.
        reason: String,
    },
    /// Some never came.
    #[error("{} of {count} did not come within {seconds} s", listed(missing))]
    Missing {
        /// Which, from 0.
        missing: Vec<usize>,
        /// How many there are to be.
        count: usize,
        /// How long was waited.
        seconds: u64,
    },
    /// Two processes are not about to do the same.
    #[error("the processes are not about to do the same: {first} has {what} {expected}, {second} has {found}")]
    Differs {
        /// What they differ in.
        what: Box<str>,
        /// Process 0.
        first: Box<str>,
        /// What it has.
        expected: Box<str>,
        /// The other.
        second: Box<str>,
        /// What it has.
        found: Box<str>,
    },
    /// Batches cannot be dealt out.
    #[error("`train.shards` is {shards}, and {count} processes cannot share {shards} shards equally")]
    Shards {
        /// As the recipe says.
        shards: usize,
        /// How many processes there are.
        count: usize,
    },
    /// Nothing was heard of a process any more.
    #[error("{who} is gone or stopped: no sign of life for {seconds} s")]
    Gone {
        /// Which, and where it ran.
        who: String,
        /// How long it is silent.
        seconds: u64,
    },
    /// Nothing was heard of what all share any more.
    #[error("the processes have lost each other: what they share at `{host}:{port}` does not answer: {reason}")]
    StoreGone {
        /// Where they met.
        host: String,
        /// The port.
        port: u16,
        /// What was said.
        reason: String,
    },
    /// Another process has failed.
    #[error("{who} has failed: {message}")]
    Failed {
        /// Which, and where it ran.
        who: String,
        /// What it said.
        message: String,
    },
    /// What all take part in did not come to an end.
    #[error("{doing} with the other processes failed: {reason}")]
    Broken {
        /// What was done.
        doing: &'static str,
        /// What was said.
        reason: String,
    },
}

fn listed(ranks: &[usize]) -> String {
    let names: Vec<String> = ranks.iter().map(usize::to_string).collect();
    match names.len() {
        1 => format!("process {}", names[0]),
        _ => format!("processes {}", names.join(", ")),
    }
}

impl ProcessError {
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Variable { .. } => {
                "`torchrun` sets `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`, `srun` sets `SLURM_PROCID` and others; \
                 on one machine `prescient run --processes N` needs none of them"
                    .into()
            }
            Self::PortInUse { .. } => "choose another one: `MASTER_PORT=29501`, or `torchrun --master-port 29501`".into(),
            Self::NotReached { .. } | Self::Missing { .. } => {
                "start all processes within that time, and see that `MASTER_ADDR` can be reached from every machine; \
                 `PRESCIENT_JOIN_SECONDS` sets another time"
                    .into()
            }
            Self::Differs { .. } => {
                "start every process with the same version, recipe, seed and data; a shard may be missing on one machine".into()
            }
            Self::Shards { count, .. } => format!("set a multiple of {count}: `--set train.shards={count}`; results depend on it"),
            Self::Gone { .. } | Self::StoreGone { .. } | Self::Failed { .. } => {
                "mend that, then go on with `prescient run --resume DIR`, with as many processes as you like".into()
            }
            Self::Broken { .. } => "`PRESCIENT_WAIT_SECONDS` sets how long processes wait for each other, 7200 unless given".into(),
        })
    }
}
