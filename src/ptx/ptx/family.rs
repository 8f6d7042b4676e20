//! Names that end in a number (PTX ISA, "Parameterized Variable Names"): `.reg .b32 %r<100>` declares
//! `%r0` to `%r99`, and `L<4>` in a list of branch targets stands for `L0` to `L3`.
//!
//! In: a name as it is written. Out: the row that it stands for, or the rows that it may be a member
//! of. Which rows are declared is known elsewhere.

/// A row of names: a prefix with each number below a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'s> {
    /// The text before the number.
    pub prefix: &'s str,
    /// How many names there are; the numbers begin at 0.
    pub count: u32,
}

impl<'s> Row<'s> {
    /// The row that a text such as `L<4>` stands for; `None` for a single name.
    pub fn of(text: &'s str) -> Option<Row<'s>> {
        let (prefix, count) = text.strip_suffix('>')?.split_once('<')?;
        Some(Row { prefix: prefix.trim_end(), count: count.trim().parse().ok()? })
    }

    /// The row's names in ascending order.
    pub fn names(self) -> impl Iterator<Item = String> {
        let prefix = self.prefix.to_owned();
        (0..self.count).map(move |number| format!("{prefix}{number}"))
    }
}

/// The prefixes of the rows that a name may be a member of, each with the member's number. A prefix
/// may itself end in digits (`%r1<8>` declares `%r10` to `%r17`), so each way to cut the digits at the
/// end counts; the shortest prefix comes first. The number has no zeros in front.
pub fn memberships(name: &str) -> impl Iterator<Item = (&str, u32)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (stem..name.len()).filter_map(move |cut| {
        let (prefix, digits) = name.split_at(cut);
        let canonical = digits == "0" || !digits.starts_with('0');
        Some((prefix, digits.parse().ok().filter(|_| canonical)?))
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(rows_are_told_from_names, every_cut_of_the_digits_is_a_membership);

    fn rows_are_told_from_names() {
        assert_eq!(Row::of("L<4>"), Some(Row { prefix: "L", count: 4 }));
        assert_eq!(Row::of("L < 4 >"), Some(Row { prefix: "L", count: 4 }));
        assert_eq!(Row::of("L4"), None);
        assert_eq!(Row::of("L<-1>"), None);
        assert_eq!(
            Row::of("L<3>").map(|row| row.names().collect()),
            Some(vec!["L0".to_owned(), "L1".to_owned(), "L2".to_owned()])
        );
    }

    fn every_cut_of_the_digits_is_a_membership() {
        let all = |name| memberships(name).collect::<Vec<_>>();
        assert_eq!(all("%r102"), [("%r", 102), ("%r10", 2)]);
        assert_eq!(all("%r0"), [("%r", 0)]);
        assert_eq!(all("%r00"), [("%r0", 0)]);
        assert_eq!(all("%rd"), []);
        // Numbers of more than 32 bits are none.
        assert_eq!(all("%r99999999999").first(), Some(&("%r99", 999_999_999)));
    }
}
