//! Whether a JPEG is whole. Decoders fill what is missing with grey and say nothing, so its parts are walked through.
//!
//! ```text
//! FFD8 | FFxx length … | FFxx length … | FFDA length … entropy-coded data | … | FFD9
//! ```

/// Whether these bytes begin as a JPEG and end before its end marker.
pub(crate) fn is_cut(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xd8]) && !reaches_its_end(bytes)
}

fn reaches_its_end(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some(marker) = next_marker(bytes, &mut at) {
        match marker {
            0xd9 => return true,
            // Markers without a length: restarts, and the start once more.
            0x01 | 0xd0..=0xd8 => {}
            // After the header of a scan come its data, up to the next marker: as if there were no data.
            _ => match bytes.get(at..at + 2) {
                Some(length) => at += usize::from(length[0]) << 8 | usize::from(length[1]),
                None => return false,
            },
        }
    }
    false
}

/// The next marker from `at` on, which then stands behind it. `FF00` is an escaped byte of data, and `FF` may be repeated.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|&byte| byte == 0xff)?;
        while *bytes.get(*at)? == 0xff {
            *at += 1;
        }
        let marker = bytes[*at];
        *at += 1;
        if marker != 0 {
            return Some(marker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comment that holds an end marker of its own, a scan with an escaped byte and a restart, then the end.
    const WHOLE: [u8; 24] = [
        0xff, 0xd8, 0xff, 0xfe, 0, 4, 0xff, 0xd9, 0xff, 0xda, 0, 3, 9, 1, 2, 0xff, 0x00, 3, 0xff, 0xd0, 4, 5, 0xff,
        0xd9,
    ];

    #[test]
    fn a_whole_one_reaches_its_end() {
        assert!(!is_cut(&WHOLE));
        assert!(!is_cut(&[&WHOLE[..], b"what some cameras append"].concat()));
        assert!(!is_cut(b"not a JPEG"));
    }

    #[test]
    fn wherever_it_is_cut_it_is_seen() {
        for end in 2..WHOLE.len() {
            assert!(is_cut(&WHOLE[..end]), "cut at {end}");
        }
    }
}
