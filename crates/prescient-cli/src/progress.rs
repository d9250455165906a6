//! How a run goes on: a bar on a terminal, else a line a minute; both with the time that is left of the whole run.

use crate::{interrupt, output};
use indicatif::{ProgressBar, ProgressStyle};
use prescient::learner::{Event, Observer};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Off a terminal there is a line this often.
const EVERY: Duration = Duration::from_secs(60);

/// Shows how a run goes on.
pub(super) struct Progress {
    bar: ProgressBar,
    task: String,
    /// The stage, and the epoch where there is one.
    what: String,
    pace: Pace,
    /// Off a terminal, where there is no bar.
    lines: Option<Lines>,
}

impl Progress {
    /// On stderr.
    pub(super) fn new() -> Self {
        let style = ProgressStyle::with_template("{prefix:>10} {bar:20} {pos}/{len}  {wide_msg}")
            .expect("a template of known keys");
        let terminal = std::io::stderr().is_terminal();
        interrupt::watch();
        Self {
            bar: ProgressBar::new(0).with_style(style),
            task: String::new(),
            what: String::new(),
            pace: Pace::new(Instant::now()),
            lines: (!terminal).then(|| Lines { every: EVERY, last: Instant::now() }),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows where the run is.
    fn show(&mut self, what: String, terms: &str) {
        let left = self.left(Instant::now());
        self.bar.set_message(format!("{left}{}{what}  {terms}", if left.is_empty() { "" } else { ", " }));
        self.what = what;
        self.tell();
    }

    /// The same off a terminal, once a minute.
    fn tell(&mut self) {
        let now = Instant::now();
        if self.lines.as_mut().is_some_and(|lines| lines.due(now)) {
            let (left, so_far) = (self.left(now), told(now - self.pace.began));
            let left = if left.is_empty() { left } else { format!(", {left}") };
            eprintln!("{}: {}, {so_far} so far{left}", self.task, self.what);
        }
    }

    fn left(&self, now: Instant) -> String {
        self.pace.left(now).map(|left| format!("about {} left", told(left))).unwrap_or_default()
    }
}

/// A line now and then.
struct Lines {
    every: Duration,
    last: Instant,
}

impl Lines {
    fn due(&mut self, now: Instant) -> bool {
        let due = now - self.last >= self.every;
        if due {
            self.last = now;
        }
        due
    }
}

/// How long tasks take, and so how long the rest will.
struct Pace {
    began: Instant,
    /// How many tasks there are.
    of: usize,
    /// When each task began that has.
    tasks: Vec<Instant>,
    /// Steps of the stage: done, in all, and when it began.
    stage: (usize, usize, Instant),
    /// The tasks that were finished before.
    before: usize,
}

impl Pace {
    fn new(now: Instant) -> Self {
        Self { began: now, of: 0, tasks: Vec::new(), stage: (0, 0, now), before: 0 }
    }

    fn task(&mut self, task: usize, of: usize, now: Instant) {
        self.of = of;
        self.before = task - 1 - self.tasks.len();
        self.tasks.push(now);
    }

    /// What is left of the run: later tasks take as long as those before, the first aside, which is often larger. While none is
    /// finished, a task is taken to be as long as its stage.
    fn left(&self, now: Instant) -> Option<Duration> {
        let begun = *self.tasks.last()?;
        let spent = now - begun;
        let (done, of, since) = self.stage;
        let in_stage = (done > 0).then(|| (now - since).mul_f64((of - done.min(of)) as f64 / done as f64))?;
        let later = self.of - self.before - self.tasks.len();
        let finished: Vec<Duration> = self.tasks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let alike = if finished.len() > 1 && self.before == 0 { &finished[1..] } else { &finished[..] };
        Some(match alike.len() {
            0 => in_stage + (spent + in_stage) * later as u32,
            count => {
                let mean = alike.iter().sum::<Duration>() / count as u32;
                mean.saturating_sub(spent).max(in_stage) + mean * later as u32
            }
        })
    }
}

/// A time in words.
fn told(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

impl Observer for Progress {
    fn stops(&self) -> bool {
        interrupt::asked()
    }

    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { summary } => self.bar.suspend(|| output::tell(summary)),
            Event::TaskStarted { task, of } => {
                self.task = format!("task {task}/{of}");
                self.pace.task(*task, *of, Instant::now());
                tracing::info!("{} begins", self.task);
            }
            Event::StageStarted { stage, steps } => {
                self.bar.reset();
                self.bar.set_length(*steps as u64);
                self.bar.set_prefix(self.task.clone());
                self.pace.stage = (0, *steps, Instant::now());
                self.show((*stage).to_owned(), "");
            }
            Event::Step => {
                self.bar.inc(1);
                self.pace.stage.0 += 1;
                self.tell();
            }
            Event::Epoch { stage, epoch, of, lr, terms, .. } => {
                let terms: Vec<String> = terms.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
                let terms = terms.join("  ");
                self.show(format!("{stage}, epoch {epoch}/{of}"), &terms);
                tracing::info!("{} {stage}, epoch {epoch}/{of}, lr {lr:.4}: {terms}", self.task);
            }
            Event::Remembered { exemplars, .. } => {
                let images: usize = exemplars.iter().map(|(_, images)| images.len()).sum();
                tracing::info!("{} keeps {images} images of {} classes", self.task, exemplars.len());
            }
            Event::Imagined { .. } => {}
            Event::Fitted { worth } => {
                let task = &self.task;
                let said = match (&worth.why_not, worth.kappa) {
                    (Some(why_not), _) => format!("no guesses at classes without photos: {why_not}"),
                    (None, Some(kappa)) => format!("a description is worth {kappa:.1} photos"),
                    (None, None) => "classes are known by their photos alone".to_owned(),
                };
                self.bar.suspend(|| tracing::info!("{task}: {said}"));
            }
            Event::Calibrated { promise } => {
                let task = &self.task;
                let said = match &promise.why_not {
                    Some(why_not) => format!("only seen classes answer: {why_not}"),
                    None => format!(
                        "guesses take seen accuracy from {:.1} to {:.1} % on {} held-out images",
                        100.0 * promise.seen_alone,
                        100.0 * promise.seen,
                        promise.images
                    ),
                };
                self.bar.suspend(|| tracing::info!("{task}: {said}"));
            }
            Event::Scattered { scatter, .. } => {
                tracing::debug!("{} keeps {} features to be drawn", self.task, scatter.real.len());
            }
            Event::Read { images, .. } => tracing::debug!("{} read {} images", self.task, images.len()),
            Event::Evaluated { answers, .. } => {
                let right =
                    (0..answers.truth.len()).filter(|&image| answers.answer(image) == answers.truth[image]).count();
                let (of, task) = (answers.truth.len(), &self.task);
                self.bar.suspend(|| tracing::info!("{task}: {right} of {of} test images of all classes right"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Five tasks. In the first, 10 of 40 steps took 20 s: 60 s of it are left, and four tasks of 80 s. The first took 100 s, the
    /// second 30 s; 10 s into the third: 20 s of it are left, and two tasks of 30 s.
    #[test]
    fn the_time_left_is_that_of_the_run() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.task(1, 5, start);
        pace.stage = (0, 40, start);
        assert_eq!(pace.left(start + SECOND), None);
        pace.stage.0 = 10;
        assert_eq!(pace.left(start + 20 * SECOND), Some(60 * SECOND + 4 * 80 * SECOND));
        pace.task(2, 5, start + 100 * SECOND);
        pace.task(3, 5, start + 130 * SECOND);
        pace.stage = (5, 10, start + 135 * SECOND);
        assert_eq!(pace.left(start + 140 * SECOND), Some(20 * SECOND + 2 * 30 * SECOND));
    }

    #[test]
    fn off_a_terminal_there_is_a_line_a_minute() {
        let start = Instant::now();
        let mut lines = Lines { every: EVERY, last: start };
        let due: Vec<u32> = (0..200).filter(|second| lines.due(start + *second * SECOND)).collect();
        assert_eq!(due, [60, 120, 180]);
    }

    #[test]
    fn times_are_told_in_words() {
        let told = [5, 89, 90, 3600, 5400, 9000].map(|seconds| told(seconds * SECOND));
        assert_eq!(told, ["5 s", "89 s", "2 min", "60 min", "1.5 h", "2.5 h"]);
    }
}
