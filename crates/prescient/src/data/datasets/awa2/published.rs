//! What is published of AwA2: how many images each class has, and the test classes of two zero-shot splits.

/// The images of each class, in the order of `classes.txt`; 37,322 in all.
pub(crate) const SIZES: [(&str, usize); 50] = [
    ("antelope", 1046),
    ("grizzly+bear", 852),
    ("killer+whale", 291),
    ("beaver", 193),
    ("dalmatian", 549),
    ("persian+cat", 747),
    ("horse", 1645),
    ("german+shepherd", 1033),
    ("blue+whale", 174),
    ("siamese+cat", 500),
    ("skunk", 188),
    ("mole", 100),
    ("tiger", 877),
    ("hippopotamus", 684),
    ("leopard", 720),
    ("moose", 704),
    ("spider+monkey", 291),
    ("humpback+whale", 709),
    ("elephant", 1038),
    ("gorilla", 872),
    ("ox", 728),
    ("fox", 664),
    ("sheep", 1420),
    ("seal", 988),
    ("chimpanzee", 728),
    ("hamster", 779),
    ("squirrel", 1200),
    ("rhinoceros", 696),
    ("rabbit", 1088),
    ("bat", 383),
    ("giraffe", 1202),
    ("wolf", 589),
    ("chihuahua", 567),
    ("rat", 310),
    ("weasel", 272),
    ("otter", 758),
    ("buffalo", 895),
    ("zebra", 1170),
    ("giant+panda", 874),
    ("deer", 1344),
    ("bobcat", 630),
    ("pig", 713),
    ("lion", 1019),
    ("mouse", 185),
    ("polar+bear", 868),
    ("collie", 1028),
    ("walrus", 215),
    ("raccoon", 512),
    ("cow", 1338),
    ("dolphin", 946),
];

/// The test classes of the standard split.
pub(crate) const STANDARD: [&str; 10] = [
    "chimpanzee",
    "giant+panda",
    "leopard",
    "persian+cat",
    "pig",
    "hippopotamus",
    "humpback+whale",
    "raccoon",
    "rat",
    "seal",
];

/// The test classes of the split that Xian et al. proposed.
pub(crate) const PROPOSED: [&str; 10] =
    ["sheep", "dolphin", "bat", "seal", "blue+whale", "rat", "horse", "walrus", "giraffe", "bobcat"];

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(names: &[&str]) -> usize {
        SIZES.iter().filter(|(name, _)| names.contains(name)).map(|(_, size)| size).sum()
    }

    #[test]
    fn sums_are_as_published() {
        assert_eq!(SIZES.iter().map(|(_, size)| size).sum::<usize>(), 37_322);
        assert_eq!(sum(&STANDARD), 6_985);
        assert_eq!(sum(&PROPOSED), 7_913);
    }

    /// 0.8 of each class, rounded down: 29,841 to learn from, the other 7,481 to be asked about.
    #[test]
    fn a_split_class_by_class_has_these_sizes() {
        let train: usize = SIZES.iter().map(|(_, size)| size * 4 / 5).sum();
        assert_eq!((train, 37_322 - train), (29_841, 7_481));
    }
}
