//! The generator's loss between real and imagined features, and its slope in the imagined ones.

use clap::Args;
use prescient::loss::Mmd;
use tch::{Kind, Tensor};

#[derive(Debug, Args)]
pub(super) struct MmdStep {
    #[arg(long, default_value = "cpu")]
    device: String,
    #[arg(long, default_value_t = 500)]
    rows: i64,
    #[arg(long, default_value_t = 512)]
    width: i64,
    #[arg(long, default_value_t = 5)]
    bandwidths: usize,
    /// Evaluations a round
    #[arg(long, default_value_t = 10)]
    steps: usize,
}

impl MmdStep {
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let options = (Kind::Float, device);
        let (real, fake) =
            (Tensor::rand([self.rows, self.width], options), Tensor::rand([self.rows, self.width], options));
        let bandwidths = Mmd::default().bandwidths.into_iter().take(self.bandwidths).collect();
        let mmd = Mmd { bandwidths, root: false };
        let target = mmd.target(&real);
        let round = || {
            for _ in 0..self.steps {
                drop(mmd.value_and_grad(&target, &fake));
            }
            self.steps
        };
        round();
        super::serve(device, round);
    }
}
