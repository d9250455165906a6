//! Section 2 of the paper: classes dealt out in tasks, each with a past, a present and a future. No tensors here.

mod order;
mod split;

pub use order::{Order, zero_shot_order};
pub use split::Split;

use crate::class::{ClassId, Slot, Slots};
use crate::error::ScenarioError;

/// Which classes arrive with which task, `C^1, …, C^T`.
///
/// ```
/// use prescient::scenario::{Order, Scenario};
///
/// let names = ["ant", "bee", "cat", "dog"].map(String::from);
/// let scenario = Scenario::new(&names, &Order::Listed, &"2+1+1".parse()?)?;
/// let task = scenario.task(2);
/// assert_eq!((task.past().len(), task.present().len(), task.future().len()), (2, 1, 1));
/// assert_eq!(names[scenario.class(task.present().iter().next().unwrap()).index()], "cat");
/// # Ok::<(), prescient::error::ScenarioError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Those that no task brings come last.
    order: Vec<ClassId>,
    /// `starts[t]..starts[t + 1]` are the slots of task `t + 1`.
    starts: Vec<usize>,
}

impl Scenario {
    /// The classes called `names`, put in order and dealt out.
    pub fn new(names: &[String], order: &Order, split: &Split) -> Result<Self, ScenarioError> {
        Self::in_order(order.arrange(names)?, split)
    }

    /// Classes that are in order already, dealt out.
    pub fn in_order(order: Vec<ClassId>, split: &Split) -> Result<Self, ScenarioError> {
        if split.classes() != order.len() {
            return Err(ScenarioError::SplitSum {
                split: split.to_string(),
                sum: split.classes(),
                classes: order.len(),
                described: 0,
            });
        }
        let mut starts = vec![0];
        for size in split.sizes() {
            starts.push(starts[starts.len() - 1] + size);
        }
        Ok(Self { order, starts })
    }

    /// The same with classes beyond, which no task brings: they are described and have no images. They belong to the future of
    /// every task.
    ///
    /// ```
    /// use prescient::scenario::{Order, Scenario};
    ///
    /// let names = ["ant", "bee", "cat"].map(String::from);
    /// let scenario = Scenario::new(&names[..2], &Order::Listed, &"1+1".parse()?)?;
    /// let scenario = scenario.beyond([prescient::class::ClassId(2)]);
    /// assert_eq!((scenario.arriving(), scenario.classes()), (2, 3));
    /// assert_eq!(scenario.task(2).future().len(), 1);
    /// # Ok::<(), prescient::error::ScenarioError>(())
    /// ```
    pub fn beyond(mut self, described: impl IntoIterator<Item = ClassId>) -> Self {
        self.order.extend(described);
        self
    }

    /// The number of tasks, `T`.
    pub fn tasks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of classes that some task brings: those with images.
    pub fn arriving(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// The number of all classes, those that no task brings too.
    pub fn classes(&self) -> usize {
        self.order.len()
    }

    /// Every class, in order of arrival, then those that never arrive: the class of slot `i` is at `i`.
    pub fn order(&self) -> &[ClassId] {
        &self.order
    }

    /// The class in `slot`.
    pub fn class(&self, slot: Slot) -> ClassId {
        self.order[slot.index()]
    }

    /// The slot of every class, by [`ClassId`].
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = vec![Slot(0); self.order.len()];
        for (slot, class) in self.order.iter().enumerate() {
            slots[class.index()] = Slot(slot as u32);
        }
        slots
    }

    /// Task `number`, counted from 1 as in the paper.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn task(&self, number: usize) -> Task<'_> {
        assert!((1..=self.tasks()).contains(&number), "task {number} of {}", self.tasks());
        Task { scenario: self, number }
    }

    /// Every task in turn.
    pub fn iter(&self) -> impl Iterator<Item = Task<'_>> {
        (1..=self.tasks()).map(|number| self.task(number))
    }
}

/// One task, `t`, and how it looks at the classes.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    scenario: &'a Scenario,
    number: usize,
}

impl<'a> Task<'a> {
    /// `t`, from 1.
    pub fn number(self) -> usize {
        self.number
    }

    /// The scenario it is a part of.
    pub fn scenario(self) -> &'a Scenario {
        self.scenario
    }

    /// Whether nothing came before.
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// Whether nothing comes after.
    pub fn is_last(self) -> bool {
        self.number == self.scenario.tasks()
    }

    /// `C^{1:t−1}`.
    pub fn past(self) -> Slots {
        Slots::new(0, self.start())
    }

    /// `C^t`.
    pub fn present(self) -> Slots {
        Slots::new(self.start(), self.end())
    }

    /// `C^{1:t}`.
    pub fn seen(self) -> Slots {
        Slots::new(0, self.end())
    }

    /// `C^{t+1:T}`, and the classes that no task brings.
    pub fn future(self) -> Slots {
        Slots::new(self.end(), self.scenario.classes())
    }

    fn start(self) -> usize {
        self.scenario.starts[self.number - 1]
    }

    fn end(self) -> usize {
        self.scenario.starts[self.number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("class {i}")).collect()
    }

    fn scenario(split: &str) -> Scenario {
        let split: Split = split.parse().expect(split);
        Scenario::new(&names(split.classes()), &Order::Shuffled { seed: 7 }, &split).expect("a scenario")
    }

    #[test]
    fn a_split_must_add_up() {
        let split: Split = "6+2+2".parse().expect("a split");
        let error = Scenario::new(&names(12), &Order::Listed, &split).expect_err("two classes too few");
        assert_eq!(error.to_string(), "the split `6+2+2` deals out 10 classes, but the dataset has 12");
    }

    #[test]
    fn slots_undo_the_order() {
        let scenario = scenario("4+2x3");
        for (slot, class) in scenario.order().iter().enumerate() {
            assert_eq!(scenario.slots()[class.index()].index(), slot);
        }
    }

    proptest! {
        #[test]
        fn every_class_is_past_present_or_future_once(
            sizes in prop::collection::vec(1usize..9, 1..7),
            described in 0usize..5,
        ) {
            let text: Vec<String> = sizes.iter().map(usize::to_string).collect();
            let scenario = scenario(&text.join("+"));
            let arriving = scenario.classes();
            let scenario = scenario.beyond((arriving..arriving + described).map(|class| ClassId(class as u32)));
            prop_assert_eq!((scenario.arriving(), scenario.classes()), (arriving, arriving + described));
            for task in scenario.iter() {
                let mut times = vec![0; scenario.classes()];
                for part in [task.past(), task.present(), task.future()] {
                    part.iter().for_each(|slot| times[slot.index()] += 1);
                }
                prop_assert!(times.iter().all(|&n| n == 1));
                prop_assert_eq!(task.present().len(), sizes[task.number() - 1]);
                prop_assert_eq!(task.seen().len(), task.past().len() + task.present().len());
                prop_assert_eq!(task.future().is_empty(), task.is_last() && described == 0);
                prop_assert_eq!(task.past().is_empty(), task.is_first());
            }
        }

        #[test]
        fn every_class_arrives_once(seed: u64, count in 1usize..60) {
            let mut order = Order::Shuffled { seed }.arrange(&names(count)).expect("shuffled");
            order.sort();
            prop_assert_eq!(order, Order::Listed.arrange(&names(count)).expect("listed"));
        }
    }
}
