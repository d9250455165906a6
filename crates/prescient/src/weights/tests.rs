//! Files of weights, good and bad.

use super::pickle::Fault;
use super::read::{Stored, parsed};
use std::collections::BTreeMap;

/// `torch.save({"a": tensor([[1., 2.], [3., 4.]]).T, "n": tensor(7)}, _use_new_zipfile_serialization=False)`
const OLD: &[u8] = include_bytes!("../../tests/golden/weights-old.pth");
/// The same as a zip, and inside `{"state_dict": …, "epoch": 3}`.
const ZIPPED: &[u8] = include_bytes!("../../tests/golden/weights.pth");

fn expected() -> BTreeMap<String, Stored> {
    let transposed = Stored { shape: vec![2, 2], values: vec![1.0, 3.0, 2.0, 4.0] };
    BTreeMap::from([("a".to_owned(), transposed)])
}

#[test]
fn both_formats_of_torch_are_read_with_their_strides() {
    assert_eq!(parsed(OLD), Ok(expected()));
    #[cfg(feature = "archives")]
    assert_eq!(parsed(ZIPPED), Ok(expected()));
}

#[test]
fn a_file_that_is_cut_short_is_refused_wherever_it_ends() {
    for whole in [OLD, ZIPPED] {
        for length in (0..whole.len()).step_by(7) {
            assert!(parsed(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
    }
}

/// Any byte may be wrong: that is an error or other numbers, but never a panic.
#[test]
fn a_damaged_file_is_no_panic() {
    for whole in [OLD, ZIPPED] {
        for place in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.to_vec();
                bytes[place] ^= flip;
                let _ = parsed(&bytes);
            }
        }
    }
}

/// `os.system("echo …")`, as `pickle` writes it.
#[test]
fn a_file_that_asks_for_code_is_refused_and_says_for_which() {
    for program in
        [b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.".as_slice(), b"\x80\x04\x8c\x02os\x8c\x06system\x93."]
    {
        assert_eq!(parsed(program), Err(Fault::Code("os.system".to_owned())));
    }
}

#[test]
fn a_size_beyond_the_file_takes_no_memory() {
    // A text of 2^63 bytes, a list of 2^31.
    for program in [b"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.".as_slice(), b"\x80\x02X\xff\xff\xff\x7f."] {
        assert!(matches!(parsed(program), Err(Fault::Malformed(reason)) if reason.contains("ends in the middle")));
    }
    // A shape of 2^30 × 4 where four numbers are.
    let place = OLD
        .windows(8)
        .position(|bytes| bytes == b"K\x02K\x02\x86q\x0bK")
        .or_else(|| OLD.windows(5).position(|bytes| bytes == b"K\x02K\x02\x86"));
    let place = place.expect("the shape");
    let mut bytes = OLD[..place].to_vec();
    bytes.extend(b"J\x00\x00\x00\x40K\x04\x86");
    bytes.extend(&OLD[place + 5..]);
    assert!(matches!(parsed(&bytes), Err(Fault::Malformed(reason)) if reason.contains("beyond its numbers")));
}

#[test]
fn deep_nesting_is_no_overflow() {
    let mut program = b"\x80\x02N".to_vec();
    program.extend(std::iter::repeat_n(0x85, 2_000_000));
    program.push(b'.');
    assert!(parsed(&program).is_err());
}
