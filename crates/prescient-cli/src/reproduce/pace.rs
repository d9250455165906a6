//! How far the work is, and how long it will take.

use crate::reproduce::wanted::{State, Wanted};
use crate::reproduce::work::Running;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use prescient::disk;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A bar for all runs, and below it a line for each that is at work. Without a terminal, a line when a run is over.
pub(super) struct Pace {
    screen: MultiProgress,
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
    began: Instant,
    /// Runs that are over, and all of them.
    over: usize,
    of: usize,
    /// Classes to be learned, over all runs, by those that are at work or wait; and those of runs that are over.
    work: usize,
    done: usize,
    /// What was done of each run when we came.
    before: BTreeMap<PathBuf, usize>,
}

impl Pace {
    pub(super) fn new(queue: &VecDeque<(&Wanted, State)>, finished: usize, jobs: usize) -> Self {
        let style = |template| ProgressStyle::with_template(template).expect("a template of known keys");
        let before: BTreeMap<PathBuf, usize> = queue.iter().map(|(run, _)| (run.folder.clone(), run.done())).collect();
        let left = |run: &Wanted| run.tasks().iter().sum::<usize>() - before[&run.folder];
        let work = queue.iter().map(|(run, _)| left(run)).sum();
        let screen = MultiProgress::new();
        let bar = screen.add(ProgressBar::new(work as u64).with_style(style("{bar:30} {wide_msg}")));
        let line = || screen.add(ProgressBar::new(0).with_style(style("  {wide_msg}")));
        let lines = (0..jobs.min(queue.len())).map(|_| line()).collect();
        if finished > 0 {
            eprintln!("{finished} of {} runs are finished already", finished + queue.len());
        }
        Self { screen, bar, lines, began: Instant::now(), over: 0, of: queue.len(), work, done: 0, before }
    }

    /// What a run has done since we came.
    fn since(&self, run: &Wanted) -> usize {
        run.done().saturating_sub(self.before.get(&run.folder).copied().unwrap_or(0))
    }

    /// A run is over.
    pub(super) fn ends(&mut self, running: &Running<'_>, well: bool) {
        self.over += 1;
        self.done += match well {
            true => self.since(running.run),
            // What it leaves undone will not be done.
            false => running.run.tasks().iter().sum::<usize>() - self.before[&running.run.folder],
        };
        let (over, of, title) = (self.over, self.of, running.run.title());
        let took = spoken(running.began.elapsed());
        let how = if well { "done" } else { "failed" };
        let left = self.left(self.done).map(|left| format!("; about {left} left")).unwrap_or_default();
        self.aside(|| eprintln!("[{over}/{of}] {title}: {how} after {took}{left}"));
        if self.over == self.of {
            self.lines.iter().chain([&self.bar]).for_each(ProgressBar::finish_and_clear);
        }
    }

    /// Shows what is at work.
    pub(super) fn show(&self, running: &[Running<'_>]) {
        if self.bar.is_hidden() || running.is_empty() {
            return;
        }
        let done = self.done + running.iter().map(|running| self.since(running.run)).sum::<usize>();
        self.bar.set_position(done as u64);
        let left = self.left(done).map(|left| format!(", about {left} left")).unwrap_or_default();
        self.bar.set_message(format!("{} of {} runs are over{left}", self.over, self.of));
        let said = running.iter().map(|running| format!("{}: {}", running.run.title(), said(&running.log)));
        for (line, said) in self.lines.iter().zip(said.chain(std::iter::repeat(String::new()))) {
            line.set_message(said);
        }
    }

    /// Prints something where the bars do not write over it.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.screen.suspend(print);
    }

    /// About how long the rest will take, at the pace so far.
    fn left(&self, done: usize) -> Option<String> {
        if done == 0 || done >= self.work {
            return None;
        }
        let share = (self.work - done) as f64 / done as f64;
        Some(spoken(self.began.elapsed().mul_f64(share)))
    }
}

/// What a run said last.
fn said(log: &Path) -> String {
    let text = disk::read(log, disk::RUN).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let line = text.lines().last().unwrap_or("begins");
    let line = line.split_once("prescient").map_or(line, |(_, rest)| rest);
    let start = line.find("task").unwrap_or(0);
    line[start..].split(", lr").next().unwrap_or_default().to_owned()
}

/// A time as one says it.
fn spoken(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_as_people_do() {
        let said = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!([said(0), said(119), said(600), said(7260)], ["0 s", "119 s", "10 min", "2 h 1 min"]);
    }
}
