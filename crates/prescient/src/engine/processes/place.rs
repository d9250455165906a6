//! Where a process stands among others: as `torchrun` says, else as Slurm says.

use crate::error::ProcessError;
use std::time::Duration;

/// Where a process stands among others, and where they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 0. Process 0 writes.
    pub rank: usize,
    /// How many there are.
    pub count: usize,
    /// From 0, on this machine: which GPU is its own.
    pub local_rank: usize,
    /// How many there are on this machine: what share of its cores is its own.
    pub local_count: usize,
    /// Where they meet.
    pub host: String,
    /// The port there.
    pub port: u16,
    /// Whether whoever started the processes keeps what they share; else process 0 does.
    pub kept_elsewhere: bool,
    /// Tells this start from another that met at the same place.
    pub attempt: String,
    /// How long they wait for each other.
    pub times: Times,
}

/// How long processes wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until all have come: `PRESCIENT_JOIN_SECONDS`, else a minute.
    pub join: Duration,
    /// Until one that gives no sign of life counts as gone.
    pub silence: Duration,
    /// Until something that all take part in must be done: `PRESCIENT_WAIT_SECONDS`, else two hours. Who waits here does so
    /// because another works, and is alive.
    pub wait: Duration,
}

/// A process that gives no sign of life for so long counts as gone.
const SILENCE: Duration = Duration::from_secs(6);

impl Place {
    /// As the environment says; none for a process that is alone. One that `torchrun` has started, or `--processes 1`, takes part in
    /// a group of one: what they share is kept already, and what several do can be tried out.
    pub fn from_environment() -> Result<Option<Self>, ProcessError> {
        Self::read(&|name| std::env::var(name).ok())
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, ProcessError> {
        let times = Times {
            join: Duration::from_secs(number(variable, "PRESCIENT_JOIN_SECONDS", Some(60))?),
            silence: SILENCE,
            wait: Duration::from_secs(number(variable, "PRESCIENT_WAIT_SECONDS", Some(7200))?),
        };
        let place = if variable("WORLD_SIZE").is_some() {
            let count = number(variable, "WORLD_SIZE", None)? as usize;
            let name = |name: &str| variable(name).unwrap_or_default();
            Self {
                rank: number(variable, "RANK", None)? as usize,
                count,
                local_rank: number(variable, "LOCAL_RANK", Some(0))? as usize,
                local_count: number(variable, "LOCAL_WORLD_SIZE", Some(1))? as usize,
                host: variable("MASTER_ADDR").ok_or_else(|| wrong("MASTER_ADDR", "a host name", "nothing"))?,
                port: port(variable)?,
                kept_elsewhere: name("TORCHELASTIC_USE_AGENT_STORE") == "True",
                attempt: format!("{}/{}", name("TORCHELASTIC_RUN_ID"), name("TORCHELASTIC_RESTART_COUNT")),
                times,
            }
        } else if variable("SLURM_STEP_NUM_TASKS").is_some() && variable("SLURM_PROCID").is_some() {
            let job = number(variable, "SLURM_JOB_ID", Some(0))?;
            let nodes = variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_JOB_NODELIST"));
            let first = nodes.as_deref().map(first_node);
            let tasks = variable("SLURM_STEP_TASKS_PER_NODE").unwrap_or_default();
            Self {
                rank: number(variable, "SLURM_PROCID", None)? as usize,
                count: number(variable, "SLURM_STEP_NUM_TASKS", None)? as usize,
                local_rank: number(variable, "SLURM_LOCALID", Some(0))? as usize,
                local_count: leading_number(&tasks).unwrap_or(1),
                host: variable("MASTER_ADDR")
                    .or(first)
                    .ok_or_else(|| wrong("SLURM_STEP_NODELIST", "the names of machines", "nothing"))?,
                port: match variable("MASTER_PORT") {
                    Some(_) => port(variable)?,
                    // Two jobs on one machine do not meet.
                    None => 20_000 + (job % 20_000) as u16,
                },
                kept_elsewhere: false,
                attempt: variable("SLURM_STEP_ID").unwrap_or_default(),
                times,
            }
        } else {
            return Ok(None);
        };
        if place.rank >= place.count {
            let expected = format!("a number below {}, for so many processes there are", place.count);
            return Err(wrong("RANK", &expected, &place.rank.to_string()));
        }
        Ok((place.count > 1 || place.kept_elsewhere).then_some(place))
    }
}

fn wrong(name: &str, expected: &str, found: &str) -> ProcessError {
    ProcessError::Variable { name: name.to_owned(), expected: expected.to_owned(), found: found.to_owned() }
}

fn number(
    variable: &dyn Fn(&str) -> Option<String>,
    name: &str,
    unless_given: Option<u64>,
) -> Result<u64, ProcessError> {
    match (variable(name), unless_given) {
        (None, Some(value)) => Ok(value),
        (None, None) => Err(wrong(name, "a number", "nothing")),
        (Some(text), _) => text.trim().parse().map_err(|_| wrong(name, "a number", &format!("`{text}`"))),
    }
}

fn port(variable: &dyn Fn(&str) -> Option<String>) -> Result<u16, ProcessError> {
    let found = number(variable, "MASTER_PORT", None)?;
    u16::try_from(found).map_err(|_| wrong("MASTER_PORT", "a port, at most 65535", &found.to_string()))
}

/// The first of a list of machines as Slurm writes it: `node[03-07,9],other` begins with `node03`.
fn first_node(nodes: &str) -> String {
    match nodes.split_once('[') {
        Some((name, rest)) if !name.contains(',') => {
            let first: String = rest.chars().take_while(char::is_ascii_digit).collect();
            name.to_owned() + &first
        }
        _ => nodes.split(',').next().unwrap_or_default().to_owned(),
    }
}

/// `4(x2),3`: four on the first machine.
fn leading_number(text: &str) -> Option<usize> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Place>, ProcessError> {
        Place::read(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn torchrun_says_where_a_process_stands() {
        let variables = [("RANK", "3"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "1"), ("LOCAL_WORLD_SIZE", "2")];
        let meet = [("MASTER_ADDR", "node1"), ("MASTER_PORT", "29500"), ("TORCHELASTIC_USE_AGENT_STORE", "True")];
        let place = read(&[&variables[..], &meet].concat()).expect("valid").expect("several");
        assert_eq!((place.rank, place.count, place.local_rank, place.local_count), (3, 4, 1, 2));
        assert_eq!((place.host.as_str(), place.port, place.kept_elsewhere), ("node1", 29500, true));
        assert_eq!(place.times.join, Duration::from_secs(60));
        assert_eq!(read(&[]), Ok(None));
        let alone = [("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1")];
        assert_eq!(read(&alone), Ok(None));
        let torchrun = [&alone[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
        assert_eq!(read(&torchrun).expect("valid").expect("a group of one").count, 1);
    }

    #[test]
    fn slurm_says_it_too_and_the_port_follows_from_the_job() {
        let variables = [
            ("SLURM_PROCID", "5"),
            ("SLURM_STEP_NUM_TASKS", "8"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_STEP_TASKS_PER_NODE", "4(x2)"),
            ("SLURM_STEP_NODELIST", "node[03-04]"),
            ("SLURM_JOB_ID", "41234"),
        ];
        let place = read(&variables).expect("valid").expect("several");
        assert_eq!((place.rank, place.count, place.local_rank, place.local_count), (5, 8, 1, 4));
        assert_eq!((place.host.as_str(), place.port), ("node03", 21_234));
        assert_eq!(["a,b", "gpu7", "x[1,3]"].map(first_node), ["a", "gpu7", "x1"]);
        // In a batch script, before `srun`, there is one process.
        assert_eq!(read(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let says = |variables: &[(&str, &str)]| read(variables).expect_err("wrong").to_string();
        assert_eq!(says(&[("WORLD_SIZE", "two")]), "the variable `WORLD_SIZE`: expected a number, found `two`");
        assert_eq!(says(&[("WORLD_SIZE", "2")]), "the variable `RANK`: expected a number, found nothing");
        let meet = [("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "70000"), ("RANK", "0")];
        assert_eq!(says(&meet), "the variable `MASTER_PORT`: expected a port, at most 65535, found 70000");
        let late = [("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "1"), ("RANK", "2")];
        assert!(says(&late).contains("expected a number below 2"));
    }
}
