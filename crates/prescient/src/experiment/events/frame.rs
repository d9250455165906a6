//! TFRecord's frames: how events lie in a file, so that a reader knows a damaged or unfinished one.
//!
//! ```text
//! u64 length │ u32 masked CRC32C of the length │ the bytes │ u32 masked CRC32C of the bytes      (little endian)
//!
//! masked(c) = (c ≫ 15 | c ≪ 17) + 0xa282ead8
//! ```

/// The bytes in their frame.
pub(super) fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [&length, &masked(&length)[..], bytes, &masked(bytes)].concat()
}

/// The first frame of `file`: its bytes, and what comes after it. None where the frame is damaged or has an end missing.
pub(super) fn first(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = file.split_at_checked(8)?;
    let (sum, rest) = rest.split_at_checked(4)?;
    let count = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    if sum != masked(length) {
        return None;
    }
    let (bytes, rest) = rest.split_at_checked(count)?;
    let (sum, rest) = rest.split_at_checked(4)?;
    (sum == masked(bytes)).then_some((bytes, rest))
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first event of a file at time 0, as TensorBoard's own writer frames it: `tests/golden/events.py` prints it.
    #[test]
    fn a_frame_is_tensorboards() {
        let golden = "0f000000000000006d532b091a0d627261696e2e4576656e743a32fc985129";
        let found: String = framed(b"\x1a\x0dbrain.Event:2").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, golden);
    }

    proptest! {
        #[test]
        fn frames_read_back_and_damage_is_noticed(bytes: Vec<u8>, after: Vec<u8>, at: prop::sample::Index) {
            let frame = framed(&bytes);
            let file = [&frame[..], &after].concat();
            prop_assert_eq!(first(&file), Some((&bytes[..], &after[..])));
            prop_assert_eq!(first(&frame[..frame.len() - 1]), None);
            let mut damaged = frame.clone();
            damaged[at.index(frame.len())] ^= 1;
            prop_assert_eq!(first(&damaged), None);
        }
    }
}
