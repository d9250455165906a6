//! A step of the generator: as many imagined features of one class as it has real ones, MMD, backward, Adam.

use clap::Args;
use prescient::class::Slot;
use prescient::ghost::generator::Gmmn;
use prescient::ghost::{FeatureBank, GeneratorKind};
use tch::{Kind, Tensor};

#[derive(Debug, Args)]
pub(super) struct GeneratorStep {
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Real features of the class
    #[arg(long, default_value_t = 1000)]
    real: i64,
    #[arg(long, default_value_t = 512)]
    width: i64,
    #[arg(long, default_value_t = 75)]
    attributes: i64,
    #[arg(long, default_value_t = 1024)]
    hidden: u32,
    /// Take every step as it comes, without a recording
    #[arg(long)]
    eager: bool,
    /// Steps a round
    #[arg(long, default_value_t = 20)]
    steps: usize,
}

impl GeneratorStep {
    /// A round trains a generator for `steps` epochs on one class: the way a run does it.
    pub(super) fn run(self) {
        let device = super::device(&self.device);
        let options = (Kind::Float, device);
        let attributes = Tensor::rand([2, self.attributes], options);
        let settings = Gmmn { epochs: self.steps, hidden: self.hidden, lr: 1e-4, ..Default::default() };
        let bank: FeatureBank = [(Slot(0), Tensor::rand([self.real, self.width], options))].into();
        let mut generator = GeneratorKind::Gmmn(settings)
            .build(&attributes, self.width as usize, 1, !self.eager)
            .expect("a GMMN is a generator");
        let mut round = || {
            generator.fit(&bank, 1, &mut |_, _| ());
            self.steps
        };
        round();
        super::serve(device, round);
    }
}
