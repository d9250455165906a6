//! One file from whichever mirror has it. What has come stays in `NAME.part`, so that a fetch that was cut off goes on
//! there; the file gets its name once its checksum is right.

use crate::fetch::Remote;
use prescient::disk;
use prescient::error::DataError;
use sha2::{Digest, Sha256};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

/// A mirror that says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// One that cannot even be reached, sooner.
const CONNECT: Duration = Duration::from_secs(8);
/// How often each mirror is asked.
const ROUNDS: usize = 2;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It was there before, whole.
    Already,
    /// It came now.
    Now,
}

/// Hears how many bytes of the file there are so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// Fetches a file into `folder` from the first of `mirrors` that gives it.
pub fn fetch(remote: &Remote, mirrors: &[String], folder: &Path, progress: Progress<'_>) -> Result<Fetched, DataError> {
    let (target, part) = (folder.join(remote.name), folder.join(format!("{}.part", remote.name)));
    if target.exists() && sha256(&target)?.starts_with(remote.sha256) {
        return Ok(Fetched::Already);
    }
    fs::create_dir_all(folder).map_err(DataError::io(folder))?;
    let mut refusal = DataError::Fetch {
        name: remote.name.to_owned(),
        mirror: String::new(),
        reason: "there is no mirror to ask".to_owned(),
    };
    for mirror in mirrors.iter().cycle().take(ROUNDS * mirrors.len()) {
        let refused =
            |reason: String| DataError::Fetch { name: remote.name.to_owned(), mirror: mirror.clone(), reason };
        match whole(remote, mirror, &part, progress) {
            Ok(()) => {
                let found = sha256(&part)?;
                if found.starts_with(remote.sha256) {
                    fs::rename(&part, &target).map_err(DataError::io(&target))?;
                    return Ok(Fetched::Now);
                }
                // Nothing of it can be trusted.
                fs::remove_file(&part).map_err(DataError::io(&part))?;
                refusal = refused(format!("expected the SHA-256 {}, found {found}", remote.sha256));
            }
            Err(Failure::Here(error)) => return Err(DataError::io(&part)(error)),
            Err(Failure::There(reason)) => refusal = refused(reason),
        }
    }
    // There is nothing in it to go on with.
    if fs::metadata(&part).is_ok_and(|part| part.len() == 0) {
        fs::remove_file(&part).map_err(DataError::io(&part))?;
    }
    Err(refusal)
}

/// On whose side something went wrong: another mirror helps against the one, not against the other.
enum Failure {
    Here(io::Error),
    There(String),
}

/// Fetches what `part` still lacks.
fn whole(remote: &Remote, mirror: &str, part: &Path, progress: Progress<'_>) -> Result<(), Failure> {
    let mut file = OpenOptions::new().create(true).append(true).open(part).map_err(Failure::Here)?;
    let mut have = file.metadata().map_err(Failure::Here)?.len();
    if have > remote.bytes {
        file.set_len(0).map_err(Failure::Here)?;
        have = 0;
    }
    if have == remote.bytes {
        return Ok(());
    }
    let url = format!("{}/{}", mirror.trim_end_matches('/'), remote.name);
    let response = agent().get(&url).header("Range", format!("bytes={have}-")).call();
    let response = response.map_err(|error| Failure::There(error.to_string()))?;
    let from = response.headers().get("Content-Range").and_then(|range| range.to_str().ok()).unwrap_or_default();
    match response.status().as_u16() {
        206 if from.starts_with(&format!("bytes {have}-")) => {}
        // A mirror that knows no parts begins at the beginning.
        200 => {
            file.set_len(0).map_err(Failure::Here)?;
            have = 0;
        }
        status => return Err(Failure::There(format!("it answers with status {status}"))),
    }
    let mut body = response.into_body().into_reader().take(remote.bytes - have + 1);
    let mut buffer = vec![0; 1 << 16];
    loop {
        progress(have);
        let read = body.read(&mut buffer).map_err(|error| Failure::There(error.to_string()))?;
        if read == 0 {
            break;
        }
        file.write_all(&buffer[..read]).map_err(Failure::Here)?;
        have += read as u64;
    }
    match have == remote.bytes {
        true => Ok(()),
        false => Err(Failure::There(format!("expected {} bytes, found {have}", remote.bytes))),
    }
}

fn agent() -> Agent {
    let certificates = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder().tls_config(certificates).http_status_as_error(false);
    let config = config.timeout_connect(Some(CONNECT)).timeout_recv_response(Some(PATIENCE));
    config.timeout_per_read(Some(PATIENCE)).build().new_agent()
}

fn sha256(path: &Path) -> Result<String, DataError> {
    let mut hasher = Sha256::new();
    let (mut file, _) = disk::open(path).map_err(DataError::io(path))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(DataError::io(path))? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
