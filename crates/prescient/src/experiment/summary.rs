//! What a run is about to do, in one line.

use crate::experiment::Experiment;
use crate::ghost::GeneratorKind;
use crate::learner::LearnerKind;

impl Experiment {
    /// Whether it imagines classes by what is known of them.
    pub fn uses_class_information(&self) -> bool {
        self.recipe.learner.is_closed_form() || self.recipe.ghosts.generator.needs_attributes()
    }

    /// What the run is about to do, in one line: classes, images and their size, ghosts, device, how processes with GPUs add up, what
    /// is known of classes.
    pub fn summary(&self) -> String {
        let scenario = self.sealed.scenario();
        let [train, test] = self.sealed.counts();
        let tasks: Vec<String> = self.start.tasks.iter().map(usize::to_string).collect();
        let size = match (self.recipe.model.extractor.takes_rows(), self.recipe.images.size) {
            (false, Some(size)) => format!(" as {size}×{size} pixels"),
            _ => String::new(),
        };
        let ghosts = match (&self.recipe.learner, &self.recipe.ghosts.generator) {
            (LearnerKind::ClosedForm(_), _) => "in closed form",
            (_, GeneratorKind::None) => "ghosts off",
            (_, GeneratorKind::Gmmn(_)) => "ghosts on (gmmn)",
            (_, GeneratorKind::Gaussian(_)) => "ghosts on (gaussian)",
            (_, GeneratorKind::Real) => "ghosts on (real: an oracle)",
        };
        let columns = match self.uses_class_information() {
            true => self.sealed.catalogue().columns_text(),
            false => String::new(),
        };
        let exchange = self.processes.exchange().map_or_else(String::new, |told| format!("; {told}"));
        let columns = if columns.is_empty() { columns } else { format!("; class information: {columns}") };
        let count = |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
        format!(
            "{} in {} ({}), {train} images to learn from and {test} to test on{size}, {ghosts}, on the {}{exchange}{columns}",
            count(scenario.arriving(), "class", "classes"),
            count(tasks.len(), "task", "tasks"),
            tasks.join("+"),
            if self.device.is_cuda() { "GPU" } else { "CPU" },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_in_one_line() {
        let says = |split: &str, more: &str| {
            let text = format!(
                "data = {{ kind = 'synthetic', train = 3, test = 2 }}\nscenario.split = '{split}'\n\
                 model.extractor = {{ kind = 'small-cnn', width = 4 }}\n{more}"
            );
            let recipe = text.parse().expect(&text);
            Experiment::new(recipe, tch::Device::Cpu).expect("drawings").summary()
        };
        assert_eq!(
            says("12+6+6", ""),
            "24 classes in 3 tasks (12+6+6), 72 images to learn from and 48 to test on as 32×32 pixels, ghosts off, on the CPU"
        );
        assert!(says("24", "").starts_with("24 classes in 1 task (24), "));
        let ghosts = says("12+6+6", "ghosts.generator.kind = 'gaussian'");
        assert!(ghosts.contains("ghosts on (gaussian), on the CPU; class information: "), "{ghosts}");
    }
}
