//! Any network that was exported as TorchScript: images in, `[batch, width]` numbers out. It stays as it is.

use crate::data::{Normalization, resolve};
use crate::error::WeightsError;
use crate::extractor::pretrained::{IMAGENET, PretrainedInput};
use crate::extractor::{Extractor, Representation};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tch::{CModule, Device, IValue, Kind, Tensor, no_grad};

/// An exported network's settings. The size of images is the recipe's `images.size`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorchScript {
    /// The file that `torch.jit.save` wrote.
    pub path: PathBuf,
    /// Which mean and deviation of the pixels it was trained with.
    #[serde(default)]
    pub normalization: NormalizationName,
}

/// Mean and deviation of red, green and blue, by the name of those who use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormalizationName {
    /// torchvision's and most of timm's.
    #[default]
    Imagenet,
    /// CLIP's and open_clip's.
    Clip,
    /// 0.5 and 0.5: pixels from −1 to 1.
    Half,
    /// 0 and 1: pixels from 0 to 1, for a network that does the rest itself.
    None,
}

impl NormalizationName {
    /// The numbers.
    pub(crate) fn values(self) -> Normalization {
        match self {
            Self::Imagenet => IMAGENET.normalization,
            Self::Clip => Normalization {
                mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
                std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
            },
            Self::Half => Normalization { mean: [0.5; 3], std: [0.5; 3] },
            Self::None => Normalization { mean: [0.0; 3], std: [1.0; 3] },
        }
    }
}

impl TorchScript {
    /// What images go through before it.
    pub(crate) fn input(&self) -> PretrainedInput {
        PretrainedInput { normalization: self.normalization.values(), ..IMAGENET }
    }

    /// Where the file lies.
    pub(crate) fn file(&self) -> PathBuf {
        resolve(&self.path)
    }
}

/// The network, once its file has been read.
#[derive(Clone)]
pub(crate) struct Net {
    module: Option<Arc<CModule>>,
    width: usize,
}

impl Net {
    /// One without its file yet.
    pub(crate) fn empty() -> Self {
        Self { module: None, width: 0 }
    }

    /// Reads the file, and looks at images of zeros: a batch of one and a batch of two must give a row of numbers each.
    pub(crate) fn open(settings: &TorchScript, channels: i64, size: i64, device: Device) -> Result<Self, WeightsError> {
        let path = settings.file();
        // libtorch would say the same in a page of C++.
        crate::disk::open(&path).map_err(WeightsError::io(&path))?;
        let first_line = |error: tch::TchError| error.to_string().lines().next().unwrap_or_default().to_owned();
        let malformed = |error| WeightsError::Malformed { path: path.clone(), reason: first_line(error) };
        let mut module = CModule::load_on_device(&path, device).map_err(malformed)?;
        module.f_set_eval().map_err(malformed)?;
        let other = |found: String| WeightsError::Output { path: path.clone(), found };
        let mut width = 0;
        for batch in [1, 2] {
            let images = Tensor::zeros([batch, channels, size, size], (Kind::Float, device));
            let answer = no_grad(|| module.forward_is(&[IValue::Tensor(images)]));
            let answer = answer.map_err(|error| {
                other(format!("a failure for {batch} images of {channels} × {size} × {size}: {}", first_line(error)))
            })?;
            let IValue::Tensor(rows) = answer else { return Err(other("something that is no tensor".to_owned())) };
            match rows.size().as_slice() {
                [count, found] if *count == batch && *found > 0 && rows.kind() == Kind::Float => {
                    width = *found as usize
                }
                shape => return Err(other(format!("{shape:?} {:?} for a batch of {batch}", rows.kind()))),
            }
        }
        Ok(Self { module: Some(Arc::new(module)), width })
    }
}

impl Extractor for Net {
    fn width(&self) -> usize {
        self.width
    }

    fn extract(&self, images: &Tensor, _train: bool) -> Representation {
        let module = self.module.as_ref().expect("a network whose file was read");
        let images = images.to_kind(Kind::Float);
        let features = no_grad(|| module.forward_ts(&[images])).expect("a network that took images of zeros");
        Representation { features: features.to_kind(Kind::Float), stages: Vec::new() }
    }

    fn shared(&self) -> Option<Box<dyn Extractor>> {
        Some(Box::new(self.clone()))
    }
}
