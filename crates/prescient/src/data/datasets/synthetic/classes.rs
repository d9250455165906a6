//! The classes and their attributes, as a table.

use crate::catalogue::Catalogue;

/// Declares the values of one attribute, and the word for each.
macro_rules! attribute {
    ($name:ident { $($value:ident = $word:literal),+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($value),+ }

        impl $name {
            pub(crate) const ALL: &[Self] = &[$(Self::$value),+];

            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }
        }
    };
}

attribute!(Count { One = "one", Two = "two", Three = "three" });
attribute!(Size { Small = "small", Large = "large" });
attribute!(Colour { Red = "red", Green = "green", Blue = "blue", Yellow = "yellow" });
attribute!(Texture { Solid = "solid", Striped = "striped", Dotted = "dotted" });
attribute!(Shape { Circle = "circle", Square = "square", Triangle = "triangle", Cross = "cross" });
attribute!(Background { Dark = "dark background", Light = "light background", Gradient = "gradient background" });

use Background::{Dark, Gradient, Light};
use Colour::{Blue, Green, Red, Yellow};
use Count::{One, Three, Two};
use Shape::{Circle, Cross, Square, Triangle};
use Size::{Large, Small};
use Texture::{Dotted, Solid, Striped};

/// What every image of a class has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) count: Count,
    pub(crate) size: Size,
    pub(crate) colour: Colour,
    pub(crate) texture: Texture,
    pub(crate) shape: Shape,
    pub(crate) background: Background,
}

/// Found by a search for balance: every value is as frequent as the others among all 24 classes and among the first 12,
/// and any two classes differ in two attributes or more.
pub(crate) const CLASSES: [Class; 24] = [
    class(One, Large, Green, Striped, Circle, Dark),
    class(Three, Large, Green, Striped, Circle, Light),
    class(Two, Small, Red, Striped, Cross, Dark),
    class(Three, Large, Red, Solid, Square, Gradient),
    class(One, Small, Yellow, Solid, Square, Light),
    class(One, Large, Blue, Solid, Cross, Dark),
    class(One, Small, Red, Dotted, Triangle, Gradient),
    class(Two, Large, Blue, Dotted, Square, Light),
    class(Two, Small, Green, Solid, Triangle, Light),
    class(Three, Small, Blue, Striped, Cross, Gradient),
    class(Two, Large, Yellow, Dotted, Triangle, Gradient),
    class(Three, Small, Yellow, Dotted, Circle, Dark),
    class(Three, Small, Green, Dotted, Square, Gradient),
    class(Three, Large, Red, Solid, Triangle, Dark),
    class(Two, Small, Yellow, Solid, Circle, Light),
    class(Three, Small, Red, Striped, Circle, Light),
    class(Three, Small, Yellow, Solid, Square, Dark),
    class(One, Large, Yellow, Dotted, Cross, Light),
    class(Two, Large, Blue, Dotted, Circle, Gradient),
    class(One, Large, Blue, Striped, Triangle, Dark),
    class(Two, Large, Green, Dotted, Triangle, Dark),
    class(One, Large, Red, Solid, Cross, Gradient),
    class(One, Small, Blue, Striped, Square, Light),
    class(Two, Small, Green, Striped, Cross, Gradient),
];

const fn class(
    count: Count,
    size: Size,
    colour: Colour,
    texture: Texture,
    shape: Shape,
    background: Background,
) -> Class {
    Class { count, size, colour, texture, shape, background }
}

impl Class {
    /// The word for each of its values.
    fn words(&self) -> [&'static str; 6] {
        [
            self.count.word(),
            self.size.word(),
            self.colour.word(),
            self.texture.word(),
            self.shape.word(),
            self.background.word(),
        ]
    }

    /// As people say it. The background is left out: no two classes differ in nothing else.
    fn name(&self) -> String {
        let [count, size, colour, texture, shape, _] = self.words();
        let ending = match (self.count, self.shape) {
            (One, _) => "",
            (_, Cross) => "es",
            _ => "s",
        };
        format!("{count} {size} {colour} {texture} {shape}{ending}")
    }
}

/// Every value of every attribute.
fn words() -> Vec<&'static str> {
    let counts = Count::ALL.iter().map(|value| value.word());
    let sizes = Size::ALL.iter().map(|value| value.word());
    let colours = Colour::ALL.iter().map(|value| value.word());
    let textures = Texture::ALL.iter().map(|value| value.word());
    let shapes = Shape::ALL.iter().map(|value| value.word());
    let backgrounds = Background::ALL.iter().map(|value| value.word());
    counts.chain(sizes).chain(colours).chain(textures).chain(shapes).chain(backgrounds).collect()
}

/// The classes, with a flag for each value: 1 where a class has it, else 0.
pub(crate) fn catalogue() -> Catalogue {
    let words = words();
    let flags = |class: &Class| words.iter().map(|word| f32::from(u8::from(class.words().contains(word)))).collect();
    Catalogue::new(
        CLASSES.iter().map(Class::name).collect(),
        words.iter().map(|&word| word.to_owned()).collect(),
        CLASSES.iter().map(flags).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::ClassId;

    /// How many of the first `classes` have the value called `word`.
    fn frequency(word: &str, classes: usize) -> usize {
        CLASSES[..classes].iter().filter(|class| class.words().contains(&word)).count()
    }

    /// In how many attributes two classes differ.
    fn difference(a: &Class, b: &Class) -> usize {
        a.words().iter().zip(b.words()).filter(|(a, b)| **a != *b).count()
    }

    fn pairs() -> impl Iterator<Item = (&'static Class, &'static Class)> {
        CLASSES.iter().enumerate().flat_map(|(i, a)| CLASSES[i + 1..].iter().map(move |b| (a, b)))
    }

    #[test]
    fn names_are_as_people_say_them() {
        assert_eq!(CLASSES[0].name(), "one large green striped circle");
        assert_eq!(CLASSES[2].name(), "two small red striped crosses");
        assert_eq!(CLASSES[10].name(), "two large yellow dotted triangles");
    }

    #[test]
    fn every_name_is_another_and_fits_a_csv() {
        let catalogue = catalogue();
        for (index, name) in catalogue.names().iter().enumerate() {
            assert_eq!(catalogue.find(name), Some(ClassId(index as u32)), "{name}");
            assert!(!name.contains([',', '"', '/']), "{name}");
        }
    }

    #[test]
    fn a_class_has_six_of_nineteen_attributes() {
        let catalogue = catalogue();
        assert_eq!(catalogue.attribute_names().len(), 19);
        for index in 0..24 {
            let flags = catalogue.attributes(ClassId(index));
            assert_eq!(flags.iter().filter(|&&flag| flag == 1.0).count(), 6);
            assert_eq!(flags.iter().filter(|&&flag| flag == 0.0).count(), 13);
        }
    }

    #[test]
    fn every_attribute_is_known_from_three_of_the_first_twelve() {
        for word in words() {
            assert!(frequency(word, 12) >= 3, "`{word}`: {}", frequency(word, 12));
        }
    }

    /// Each value of an attribute has as many classes as the others: of twelve, four are striped and four dotted.
    #[test]
    fn attributes_are_balanced() {
        for classes in [12, 24] {
            let frequencies: Vec<usize> = words().iter().map(|word| frequency(word, classes)).collect();
            for group in [0..3, 3..5, 5..9, 9..12, 12..16, 16..19] {
                let each = classes / group.len();
                assert!(frequencies[group].iter().all(|&frequency| frequency == each), "{frequencies:?}");
            }
        }
    }

    #[test]
    fn any_two_classes_differ_in_two_attributes_or_more() {
        for (a, b) in pairs() {
            assert!(difference(a, b) >= 2, "`{}` and `{}`", a.name(), b.name());
        }
    }

    #[test]
    fn some_classes_are_easily_confused() {
        assert!(pairs().filter(|(a, b)| difference(a, b) == 2).count() >= 12);
    }
}
