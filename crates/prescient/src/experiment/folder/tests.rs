//! When a task has its name, its files are on the disk.

use super::*;
use crate::disk::SYNCED;
use crate::experiment::record::testing::start;

/// Every file under the name that it had before the renames, then each folder whose names have changed.
#[test]
fn a_finished_task_is_synced_before_it_has_its_name() {
    let parent = tempfile::tempdir().expect("a folder");
    let (path, start) = (parent.path().join("run"), start(["a"], &[1]));
    let mut folder = RunFolder::create(&path, "").expect("a folder");
    SYNCED.with_borrow_mut(Vec::clear);
    let kept = Kept { images: "", scatter: &Scatter::default(), telemetry: "{}" };
    let save = |made: &Path| write(&made.join("weights.safetensors"), b"w");
    folder.finish(&start, 1, &[], &kept, save).expect("it can be written");
    let synced = SYNCED.with_borrow(Clone::clone);
    let made = parent.path().join("run.unfinished/tasks/01.tmp");
    for name in ["weights.safetensors", IMAGES, FEATURES, TELEMETRY, RECORD] {
        assert!(synced.contains(&made.join(name)), "`{name}` is not synced: {synced:?}");
    }
    assert_eq!(synced.last(), Some(&parent.path().to_owned()), "{synced:?}");
}

/// Another process finishes its first task meanwhile: the part is gone, and the folder has its old name for a moment yet.
#[test]
fn who_looks_into_an_unfinished_run_takes_nothing_away() {
    let parent = tempfile::tempdir().expect("a folder");
    let (path, unfinished) = (parent.path().join("run"), parent.path().join("run.unfinished"));
    let writer = RunFolder::create(&path, "").expect("a folder");
    std::fs::write(unfinished.join(RECORD), "").expect("a record");
    std::fs::write(writer.partial(1), "").expect("half a task");
    let looker = RunFolder::open_unfinished(&path).expect("half learned");
    std::fs::remove_file(writer.partial(1)).expect("finished");
    drop(looker);
    assert!(unfinished.join(RECORD).is_file());
    drop(writer);
    assert!(!unfinished.exists(), "who writes and fails leaves nothing behind");
}

/// As somebody finds it in the folder; and what has a finished task in it is not cleared away, whatever its name.
#[test]
fn an_unfinished_run_is_gone_on_with_by_either_name_and_never_cleared_away() {
    let parent = tempfile::tempdir().expect("a folder");
    let (path, unfinished) = (parent.path().join("run"), parent.path().join("run.unfinished"));
    std::fs::create_dir_all(unfinished.join("tasks")).expect("a folder");
    std::fs::write(unfinished.join(RECIPE), "").expect("a recipe");
    let refused = || RunFolder::to_go_on(&path).expect_err("nothing yet").to_string();
    assert!(refused().contains("run"), "{}", refused());
    let held = Lock::take(&unfinished).expect("a folder").expect("free");
    assert_eq!(refused(), format!("another process is writing `{}`", path.display()));
    drop(held);

    std::fs::write(unfinished.join(RECORD), "").expect("a record");
    std::fs::write(unfinished.join("tasks/01.part"), "").expect("half a task");
    for name in [&path, &unfinished] {
        assert_eq!(RunFolder::to_go_on(name).expect("half learned").path(), path);
    }
    std::fs::remove_file(unfinished.join("tasks/01.part")).expect("ours");
    std::fs::create_dir(unfinished.join("tasks/01")).expect("a task");
    std::fs::write(unfinished.join("tasks/01/record.jsonl"), "").expect("its record");
    assert!(matches!(RunFolder::create(&path, ""), Err(RunError::Unfinished { .. })));
    // Killed between the first task and the name: whoever goes on gives it.
    let mut again = RunFolder::to_go_on(&unfinished).expect("a finished task");
    again.lock().expect("free");
    assert_eq!((again.finished(), again.task(1)), (1, path.join("tasks/01")));
    drop(again);
    assert!(path.join("tasks/01").is_dir() && !unfinished.exists());
}
