//! What is to be run, a command a line: for any scheduler, and as an array for Slurm.

use crate::reproduce::wanted::Wanted;
use std::path::Path;

/// The commands.
pub(super) const COMMANDS: &str = "plan.sh";
/// The same for Slurm.
pub(super) const ARRAY: &str = "plan.slurm";

/// A line of shell that begins a run, goes on with it where it was begun, and does nothing where it is finished.
pub(super) fn command(run: &Wanted, sets: &[String], device: &str) -> String {
    let folder = quoted(&run.folder.display().to_string());
    let unfinished = quoted(&format!("{}.unfinished", run.folder.display()));
    let sets: String = sets.iter().map(|set| format!(" --set {}", quoted(set))).collect();
    format!(
        "if [ -e {folder} ] || [ -e {unfinished} ]; then prescient run --resume {folder} --device {device}; \
         else prescient run {} --seed {} --out {folder} --no-check{sets} --device {device}; fi",
        quoted(&run.name),
        run.seed
    )
}

/// A script that runs line N of the commands as task N of an array. It is handed in where `prescient` was asked for it.
pub(super) fn array(out: &Path, lines: usize) -> String {
    let commands = quoted(&out.join(COMMANDS).display().to_string());
    let logs = out.join("logs");
    format!(
        "#!/bin/sh\n#SBATCH --job-name=prescient\n#SBATCH --array=1-{lines}\n#SBATCH --gpus=1\n\
         #SBATCH --output={}/slurm-%A-%a.log\n\
         # One run a GPU; settings of your cluster (--partition, --time, --mem) go on the line of sbatch.\n\
         sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" {commands} | sh\n",
        logs.display()
    )
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+%@".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_cut_them() {
        assert_eq!(quoted("runs/a-1"), "runs/a-1");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn an_array_has_a_task_for_each_line() {
        let text = array(Path::new("runs/my rows"), 12);
        assert!(text.starts_with("#!/bin/sh\n") && text.contains("#SBATCH --array=1-12\n"), "{text}");
        assert!(text.ends_with("sed -n \"${SLURM_ARRAY_TASK_ID}p\" 'runs/my rows/plan.sh' | sh\n"), "{text}");
    }
}
