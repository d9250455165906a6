//! Answers of the closed form: from features to the best classes. Means are random, for speed does not depend on them.

use clap::Args;
use prescient::predictor::{Gaussian, Head};
use tch::{Kind, Tensor};

#[derive(Debug, Args)]
pub(super) struct Answer {
    #[arg(long, default_value_t = 10_000)]
    classes: i64,
    /// Numbers of a feature
    #[arg(long, default_value_t = 1_280)]
    width: i64,
    /// Images a round
    #[arg(long, default_value_t = 1_000)]
    images: i64,
    #[arg(long, default_value = "cpu")]
    device: String,
}

impl Answer {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let options = (Kind::Float, device);
        let means = Tensor::randn([self.classes, self.width], options);
        let (centre, whiten) = (Tensor::zeros([self.width], options), Tensor::eye(self.width, options));
        let head = Head::Gaussian(Gaussian::new(centre, whiten, means, &Tensor::zeros([self.classes], options)));
        let features = Tensor::randn([self.images, self.width], options);
        super::serve(device, || {
            let (_, best) = head.scores(&features).topk(5, 1, true, true);
            best.size()[0] as usize
        });
    }
}
