//! A task loop of one's own: seal a dataset, learn it task by task, and evaluate after each. A few seconds on drawn images.
//!
//! ```sh
//! cargo run --example task_loop -p prescient
//! ```

use prescient::Recipe;
use prescient::data::{Dataset, Synthetic, SyntheticSettings};
use prescient::error::Result;
use prescient::learner::{Evaluator, GhostLearner, Learner, Silent};
use prescient::protocol::Sealed;
use prescient::scenario::{Order, Scenario};
use prescient::seeds::Seeds;
use std::sync::Arc;
use tch::Device;

fn main() -> Result<()> {
    let dataset = Synthetic::new(&SyntheticSettings { train: 20, test: 5 });
    let scenario = Scenario::new(dataset.catalogue().names(), &Order::Listed, &"12+6+6".parse()?)?;

    // Settings come from a recipe, or are written down as `LearnSettings`.
    let recipe: Recipe = r#"
        scenario.split = "12+6+6"
        model.extractor = { kind = "small-cnn", features = 32, width = 8 }
        train = { epochs = 3, batch_size = 32 }
        ghosts.generator = { kind = "gaussian" }
    "#
    .parse()?;
    let recipe = recipe.effective(&dataset)?;
    let sealed = Sealed::new(Arc::new(dataset), scenario);
    let seeds = Seeds::new(1);
    let mut learner = GhostLearner::new(recipe.learn_settings(&sealed), sealed.clone(), seeds, Device::Cpu)?;
    let mut evaluator = Evaluator::new(seeds, 2, false);

    for task in sealed.scenario().iter() {
        // Training images of this task, and the memory of the past: nothing else can be read.
        let data = sealed.open(&task, learner.memory().samples());
        let predictor = learner.learn(&data, &mut Silent)?;
        let answers = evaluator.evaluate(&predictor, &data, &mut Silent)?;
        let confusion = answers.confusion(sealed.scenario().classes());
        let percent =
            |slots| confusion.accuracy(slots).map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        println!("task {}: seen {}, still to come {}", task.number(), percent(task.seen()), percent(task.future()));
    }
    Ok(())
}
