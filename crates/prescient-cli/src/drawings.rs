//! What `prescient report` draws: a page, and figures as files.

use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use prescient::error::{Result, RunError};
use prescient::report::{Gallery, ReadRun, page};
use std::fs;
use std::path::{Path, PathBuf};

/// Draws the runs and writes what is asked for.
pub(super) fn write(runs: &[PathBuf], html: Option<&Path>, figures: Option<&Path>) -> Result<()> {
    if let Some(folder) = html.filter(|file| file.is_dir()) {
        return Err(RunError::PageIsAFolder { path: folder.to_owned() }.into());
    }
    let runs = runs.iter().map(|run| ReadRun::read(run)).collect::<Result<Vec<_>>>()?;
    let style = ProgressStyle::with_template("{prefix:>10} {bar:30} {pos}/{len} tasks  {eta:>4} left")
        .expect("a template of known keys");
    let tasks = prescient::report::Kind::among(&runs).iter().map(|kind| kind.first().finished() as u64).sum();
    let bar = ProgressBar::new(tasks).with_style(style).with_prefix("drawing");
    let gallery = Gallery::new(&runs, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut said = String::new();
    if let Some(file) = html {
        replace(file, &page(&gallery))?;
        said.push_str(&format!("written to {}\n", file.display()));
    }
    if let Some(folder) = figures {
        fs::create_dir_all(folder).map_err(RunError::io(folder))?;
        let figures = gallery.files();
        for figure in &figures {
            replace(&folder.join(format!("{}.svg", figure.name)), &figure.to_svg())?;
        }
        said.push_str(&format!("{} figures written to {}\n", figures.len(), folder.display()));
    }
    output::print_text(&said)
}

/// Writes a file under a temporary name first: what was there stays whole until the new one is.
fn replace(file: &Path, text: &str) -> Result<(), RunError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let made = file.with_file_name(format!("{name}.{}.tmp", std::process::id()));
    let written = fs::write(&made, text).and_then(|()| fs::rename(&made, file));
    if written.is_err() {
        let _ = fs::remove_file(&made);
    }
    written.map_err(RunError::io(file))
}
