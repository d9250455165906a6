//! Archives: whatever is in them can be listed and read, or says why not; and nothing is written to disk.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prescient::data::Files;
use std::path::PathBuf;
use std::sync::OnceLock;

fuzz_target!(|bytes: &[u8]| {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    // One file for the whole process, which ends by being killed: nobody would tidy up after each input.
    let path = FILE.get_or_init(|| tempfile::tempdir().expect("a folder").keep().join("a.zip"));
    std::fs::write(path, bytes).expect("a file");
    let Ok(files) = Files::open(path) else { return };
    let mut folders = vec![String::new()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in files.entries(&folder).unwrap_or_default() {
            assert!(entry.starts_with(&folder) && entry.len() > folder.len());
            assert!(files.has(&entry));
            seen += 1;
            if seen > 1000 {
                return;
            }
            match entry.ends_with('/') {
                true => folders.push(entry),
                false => drop(files.read(&entry)),
            }
        }
    }
});
