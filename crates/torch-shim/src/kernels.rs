//! Kernels of our own for what libtorch does in several passes over memory (`cuda`).
//!
//! They are compiled on the GPU's machine by NVRTC, which comes with libtorch's CUDA half, so that this crate needs no
//! CUDA to build. Where they cannot be had, [`kernels_ready`] says so and everybody goes on with libtorch's.

use std::ffi::{CString, c_int};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tch::{Device, Kind, Tensor};
use torch_sys::C_tensor;

use crate::ShimError;
use crate::error::check;
use crate::optimizer::{count, pointers};
use crate::{about_gpu, ffi, is_channels_last};

const SOURCE: &str = concat!(
    include_str!("../cuda/numbers.cu"),
    include_str!("../cuda/kernels.cu"),
    include_str!("../cuda/stem_sizes.cu"),
    include_str!("../cuda/stem.cu"),
    include_str!("../cuda/look.cu"),
    include_str!("../cuda/small.cu")
);

static ALLOWED: AtomicBool = AtomicBool::new(true);

/// Whether kernels of our own may be used at all (process-wide); they are unless this says otherwise.
pub fn allow_kernels(on: bool) {
    ALLOWED.store(on, Ordering::Relaxed);
}

/// Whether our kernels serve on `device`: allowed, and compiled, which the first call does. `told` hears once, of the first failure, why not.
pub fn kernels_ready(device: Device, told: impl FnOnce(&ShimError)) -> bool {
    generation(device, told).is_some()
}

/// The first number of the compute capability of a `device` on which our kernels serve; as [`kernels_ready`].
pub(crate) fn generation(device: Device, told: impl FnOnce(&ShimError)) -> Option<u32> {
    /// What became of each device.
    static KNOWN: Mutex<Vec<(usize, Option<u32>)>> = Mutex::new(Vec::new());
    let Device::Cuda(index) = device else {
        return None;
    };
    if !ALLOWED.load(Ordering::Relaxed) {
        return None;
    }
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, generation)) = known.iter().find(|(known, _)| *known == index) {
        return *generation;
    }
    let source = CString::new(SOURCE).expect("the source has no NUL");
    // SAFETY: `source` outlives the call.
    let compiled = check(unsafe { ffi::shim_kernels_compile(index as c_int, source.as_ptr()) });
    let generation = compiled.map_err(|error| told(&error)).ok();
    let generation = generation.map(|()| about_gpu(device).map_or(0, |gpu| gpu.generation));
    known.push((index, generation));
    generation
}

/// As many images a launch takes: one for each block down.
const MOST_IMAGES: i64 = 65_535;

/// Whether `maps` are such as our kernels take: some images, bf16 on a GPU, channels last, channels 8 times a divisor of 256.
pub fn kernels_fit(maps: &Tensor) -> bool {
    bias_fits(maps) && 256 % (maps.size()[1] / 8) == 0
}

/// Whether `maps` are such as [`add_bias`] takes where nothing is pooled: the same, with any multiple of 8 channels.
pub fn bias_fits(maps: &Tensor) -> bool {
    maps.device().is_cuda()
        && maps.dim() == 4
        && (1..=MOST_IMAGES).contains(&maps.size()[0])
        && maps.numel() > 0
        && maps.kind() == Kind::BFloat16
        && maps.size()[1] % 8 == 0
        && is_channels_last(maps)
}

/// BatchNorm in training.
#[derive(Debug)]
pub struct Norm<'a> {
    /// `γ`, `[channels]`.
    pub gamma: &'a Tensor,
    /// `β`, `[channels]`.
    pub beta: &'a Tensor,
    /// Moved towards the batch's mean.
    pub running_mean: &'a Tensor,
    /// Moved towards the batch's variance.
    pub running_var: &'a Tensor,
    /// How far they are moved.
    pub momentum: f64,
    /// `ε`.
    pub epsilon: f64,
}

impl Norm<'_> {
    pub(crate) fn check(&self, channels: i64, x: &Tensor) {
        for tensor in [self.gamma, self.beta, self.running_mean, self.running_var] {
            of_channels(tensor, channels, x);
        }
    }
}

/// What follows a normalization.
#[derive(Clone, Copy, Debug, Default)]
pub struct After<'a> {
    /// Added: the way around a block.
    pub around: Option<&'a Tensor>,
    /// Then ReLU.
    pub relu: bool,
    /// Then ReLU6 in its place; only after a bias.
    pub relu6: bool,
    /// Then the largest of windows of 3×3 with stride 2; only after ReLU, and with nothing added.
    pub pool: bool,
}

impl After<'_> {
    fn around(&self) -> *const C_tensor {
        self.around.map_or(std::ptr::null(), Tensor::as_ptr)
    }

    fn check(&self, x: &Tensor) {
        assert!(bias_fits(x), "maps that our kernels take: {x:?}");
        assert!(!self.pool || (self.relu && self.around.is_none()), "pooled only after ReLU, with nothing added");
        if let Some(around) = self.around {
            let fits = bias_fits(around) && around.size() == x.size() && around.device() == x.device();
            assert!(fits, "the way around is like the maps: {around:?}");
        }
    }
}

/// A plain number for each of so many channels, where `x` is.
pub(crate) fn of_channels(tensor: &Tensor, channels: i64, x: &Tensor) {
    let plain = tensor.kind() == Kind::Float && tensor.is_contiguous() && tensor.device() == x.device();
    assert!(plain && tensor.size() == [channels], "a number for each channel: {tensor:?}");
}

/// `x` normalized over the batch, and what follows; autograd knows the way back.
///
/// # Panics
/// If `x` does not [fit](kernels_fit), or the kernels are not [ready](kernels_ready).
pub fn norm(x: &Tensor, norm: &Norm<'_>, after: After<'_>) -> Tensor {
    after.check(x);
    assert!(kernels_fit(x) && !after.relu6, "maps that our kernels take, and ReLU: {x:?}");
    norm.check(x.size()[1], x);
    let (relu, pool) = (c_int::from(after.relu), c_int::from(after.pool));
    made(|result| {
        // SAFETY: all are live tensors, only borrowed; sizes and kinds of maps were checked, and null stands for none.
        unsafe {
            ffi::shim_norm(
                x.as_ptr(),
                norm.gamma.as_ptr(),
                norm.beta.as_ptr(),
                norm.running_mean.as_ptr(),
                norm.running_var.as_ptr(),
                after.around(),
                relu,
                pool,
                norm.momentum,
                norm.epsilon,
                result,
            )
        }
    })
}

/// `x` and the f32 `bias` of each channel, and what follows; autograd knows nothing of it.
///
/// # Panics
/// If `x` does not [fit](bias_fits) (where pooled: [as elsewhere](kernels_fit)), or the kernels are not [ready](kernels_ready).
pub fn add_bias(x: &Tensor, bias: &Tensor, after: After<'_>) -> Tensor {
    after.check(x);
    assert!(!after.pool || kernels_fit(x), "maps that our kernels pool: {x:?}");
    // It is read four numbers at a time.
    assert!((bias.data_ptr() as usize).is_multiple_of(16), "a bias that begins where 16 bytes do: {bias:?}");
    of_channels(bias, x.size()[1], x);
    let (relu, pool) = (c_int::from(after.relu || after.relu6), c_int::from(after.pool));
    let most = if after.relu6 { 6.0 } else { f64::INFINITY };
    // SAFETY: as in `norm`.
    made(|result| unsafe { ffi::shim_add_bias(x.as_ptr(), bias.as_ptr(), after.around(), relu, pool, most, result) })
}

/// POD's distances, `[stages, images]`: how far each image's profile in `maps` points from that in `old`, both one tensor
/// `[images, channels, height, width]` a stage. A profile is the squares summed along each row, then along each column.
/// Autograd knows the way back to `maps`.
///
/// # Panics
/// If there is no stage, sizes differ, or as [`norm`].
pub fn pod(old: &[Tensor], maps: &[Tensor]) -> Tensor {
    assert!(!maps.is_empty() && old.len() == maps.len(), "as many stages of either");
    for (old, new) in old.iter().zip(maps) {
        assert!(kernels_fit(new) && kernels_fit(old), "maps that our kernels take: {new:?}, {old:?}");
        let same = old.size() == new.size() && new.size()[0] == maps[0].size()[0];
        assert!(same && old.device() == new.device(), "maps of the same images: {new:?}");
    }
    let (new, old) = (pointers(maps), pointers(old));
    // SAFETY: live tensors, only borrowed, as many of each as is said, whose sizes, kinds and layout were checked.
    made(|result| unsafe { ffi::shim_pod(new.as_ptr(), old.as_ptr(), count(&new), result) })
}

/// Images of bytes, of any size, as they are looked at: `[batch, channels, size, size]`, channels last, in `kind`, which is
/// bf16 or f32.
///
/// `pixels`, `[pixels of all images, channels]`, has one image after the other, row by row. `places`, `[batch, 3]`, says which to
/// look at: the first pixel of each, its width and its height. `how`, `[batch, 7]`, says by which window (left, top, width, height),
/// how far moved to the right and down, and whether mirrored; `slope` and `shift`, one for each channel, turn a byte into what
/// the network takes.
///
/// On a CPU a loop runs the kernel's own source, so that it can be tested without a GPU. It is not meant to be fast.
///
/// # Panics
/// If sizes, kinds or devices do not fit, a place lies outside of `pixels` (where they lie on a CPU), or a GPU's kernels are
/// not [ready](kernels_ready).
pub fn look(
    pixels: &Tensor,
    places: &Tensor,
    how: &Tensor,
    (slope, shift): (&Tensor, &Tensor),
    size: u32,
    kind: Kind,
) -> Tensor {
    let (all, channels) = pixels.size2().expect("pixels with their channels");
    let batch = places.size()[0];
    assert!(batch > 0 && all > 0 && size > 0 && matches!(channels, 1 | 3), "some images: {pixels:?}");
    let tensors = [
        (pixels, Kind::Uint8, all * channels),
        (places, Kind::Int64, batch * 3),
        (how, Kind::Float, batch * 7),
        (slope, Kind::Float, channels),
        (shift, Kind::Float, channels),
    ];
    for (tensor, kind, count) in tensors {
        let plain = tensor.kind() == kind && tensor.is_contiguous() && tensor.device() == pixels.device();
        assert!(plain && tensor.numel() as i64 == count, "plain numbers on one device: {tensor:?}");
    }
    assert!(matches!(kind, Kind::BFloat16 | Kind::Float), "bf16 or f32, not {kind:?}");
    if pixels.device() == Device::Cpu {
        let places = Vec::<i64>::try_from(places.flatten(0, -1)).expect("whole numbers");
        let inside = |place: &[i64; 3]| {
            let [first, width, height] = *place;
            first >= 0 && width > 0 && height > 0 && first + width * height <= all
        };
        assert!(places.as_chunks::<3>().0.iter().all(inside), "images lie within {all} pixels: {places:?}");
    }
    let bf16 = c_int::from(kind == Kind::BFloat16);
    made(|result| {
        // SAFETY: live tensors, only borrowed, whose sizes, kinds and devices were checked. Places lie within the pixels: checked
        // on a CPU; on a GPU, where looking at them would wait for it, who keeps the pixels knows their places.
        unsafe {
            ffi::shim_look(
                pixels.as_ptr(),
                places.as_ptr(),
                how.as_ptr(),
                slope.as_ptr(),
                shift.as_ptr(),
                size as c_int,
                bf16,
                result,
            )
        }
    })
}

/// MMD's weights, in place of products `[rows, columns]` of samples whose squared lengths are `of_rows` and `of_columns`:
///
/// ```text
/// w = factor · Σ_r r · exp(−r · ‖a − b‖²),      ‖a − b‖² = a² + b² − 2·product
/// ```
///
/// with `factors.0` left of column `split` and `factors.1` from there on. Answers with the sums of each row, `[3, rows]`:
/// of `w`, and of `Σ_r exp(−r · ‖a − b‖²)` left and right of `split`.
///
/// # Panics
/// If a tensor is not contiguous f32 on the GPU, sizes do not fit, or the kernels are not [ready](kernels_ready).
pub fn mmd_weigh(
    products: &Tensor,
    of_rows: &Tensor,
    of_columns: &Tensor,
    rates: &Tensor,
    split: i64,
    factors: (f64, f64),
) -> Tensor {
    let (rows, columns) = products.size2().expect("a matrix of products");
    for (tensor, count) in [(products, rows * columns), (of_rows, rows), (of_columns, columns)] {
        let plain = tensor.kind() == Kind::Float && tensor.is_contiguous() && tensor.device() == products.device();
        assert!(plain && tensor.numel() as i64 == count, "plain numbers on the GPU: {tensor:?}");
    }
    let plain = rates.kind() == Kind::Float && rates.is_contiguous() && rates.device() == products.device();
    assert!(products.device().is_cuda() && plain && rates.numel() > 0, "rates on the GPU: {rates:?}");
    assert!(rows > 0 && (0..=columns).contains(&split), "a column of {columns}: {split}");
    made(|sums| {
        // SAFETY: live tensors, only borrowed, whose sizes, kinds and places were checked.
        unsafe {
            ffi::shim_mmd_weigh(
                products.as_ptr(),
                of_rows.as_ptr(),
                of_columns.as_ptr(),
                rates.as_ptr(),
                split as c_int,
                factors.0,
                factors.1,
                sums,
            )
        }
    })
}

/// The tensor that `call` makes.
pub(crate) fn made(call: impl FnOnce(*mut *mut C_tensor) -> c_int) -> Tensor {
    let mut result = std::ptr::null_mut();
    if let Err(error) = check(call(&mut result)) {
        panic!("a kernel of ours failed: {error}");
    }
    // SAFETY: on success `result` is a fresh `at::Tensor` from `new`, and nobody else owns it.
    unsafe { Tensor::from_ptr(result) }
}
