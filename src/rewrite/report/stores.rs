//! Counts of stores by their replacement.

/// How many stores are not performed as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stores {
    /// Those that other lanes perform.
    pub elsewhere: usize,
    /// Those that are joined to vectors.
    pub joined: usize,
    /// Those that are left out, since another one overwrites them.
    pub overwritten: usize,
}

impl Stores {
    /// The sum of both.
    pub fn and(self, other: Stores) -> Stores {
        Stores {
            elsewhere: self.elsewhere + other.elsewhere,
            joined: self.joined + other.joined,
            overwritten: self.overwritten + other.overwritten,
        }
    }

    /// A phrase for each kind that occurs.
    pub fn words(self) -> Vec<String> {
        let kinds = [
            (self.elsewhere, "performed by other lanes"),
            (self.joined, "joined to vectors"),
            (self.overwritten, "left out, as others overwrite them"),
        ];
        let some = kinds.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| {
            format!("{number} store{} {what}", if number == 1 { "" } else { "s" })
        })
        .collect()
    }
}
