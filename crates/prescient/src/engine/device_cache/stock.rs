//! Bytes that are laid out on a device, part by part, while it is not known how many they will be.

use tch::{Device, Kind, Tensor};

/// Bytes on a device. So much is set aside as all images will take if they go on as they began.
pub(super) struct Stock {
    device: Device,
    bytes: Tensor,
    filled: usize,
}

impl Stock {
    pub(super) fn new(device: Device) -> Self {
        Self { device, bytes: Tensor::empty([0], (Kind::Uint8, device)), filled: 0 }
    }

    /// Lays out `more`; with it, `images` of `all` images are there. False, and nothing is laid out, where all would not leave
    /// room to train.
    pub(super) fn add(&mut self, more: &[u8], images: usize, all: usize) -> bool {
        let (from, end) = (self.filled, self.filled + more.len());
        let room = self.bytes.numel();
        if end > room {
            let wanted = expected(end, images, all);
            // What is free, and what will be once the old bytes are moved.
            let free = torch_shim::about_gpu(self.device).map(|gpu| gpu.free_bytes + room as u64);
            if !leaves_room(wanted as u64, free) {
                return false;
            }
            let larger = Tensor::empty([wanted as i64], (Kind::Uint8, self.device));
            larger.narrow(0, 0, from as i64).copy_(&self.bytes.narrow(0, 0, from as i64));
            self.bytes = larger;
        }
        self.bytes.narrow(0, from as i64, more.len() as i64).copy_(&torch_shim::upload(more, self.device));
        self.filled = end;
        true
    }

    /// All that was laid out.
    pub(super) fn bytes(&self) -> Tensor {
        self.bytes.narrow(0, 0, self.filled as i64)
    }
}

/// How many bytes `all` images will take, where `images` of them take `bytes`: exactly as many where all have one size, with
/// an eighth to spare where they do not.
fn expected(bytes: usize, images: usize, all: usize) -> usize {
    match bytes.is_multiple_of(images) {
        _ if images == all => bytes,
        true => bytes / images * all,
        false => bytes.div_ceil(images).saturating_mul(all) / 8 * 9,
    }
}

/// Whether so many bytes leave half of what is free, which training needs; a CPU does not tell.
fn leaves_room(bytes: u64, free: Option<u64>) -> bool {
    free.is_none_or(|free| bytes <= free / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images of 4 GiB beside 8 GiB that are free, and beside a little less.
    #[test]
    fn images_leave_half_of_a_gpu_to_training() {
        assert!(leaves_room(4 << 30, Some(8 << 30)) && leaves_room(4 << 30, None));
        assert!(!leaves_room(4 << 30, Some((8 << 30) - 2)));
    }

    /// 10 of 100 images with 30 bytes: 300. With 31 bytes, some 4 each: 400, and an eighth more.
    #[test]
    fn room_is_made_for_images_like_those_that_came() {
        assert_eq!(expected(30, 10, 100), 300);
        assert_eq!(expected(31, 10, 100), 450);
        assert_eq!(expected(31, 10, 10), 31);
    }

    /// Each part is larger than the one before, so room is made four times; what lay there stays.
    #[test]
    fn bytes_stay_when_room_is_made() {
        let mut stock = Stock::new(Device::Cpu);
        let parts: Vec<Vec<u8>> = (0..4u8).map(|part| vec![part; 1 + 10 * usize::from(part)]).collect();
        for (place, part) in parts.iter().enumerate() {
            assert!(stock.add(part, place + 1, 4));
        }
        assert_eq!(Vec::<u8>::try_from(stock.bytes()).expect("bytes"), parts.concat());
    }
}
