//! The request of a hole to its family, and the form of members.

/// The request of a hole to its family.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The extents of the coordinates; 1 for one that is not there.
    pub extents: [usize; 2],
    /// Values are below this number.
    pub values: usize,
    /// 1: without groups and constants; 2: without groups; 3: everything.
    pub space: u8,
    /// The names of the coordinates.
    pub names: &'a [String],
}

/// What members are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The values that each point may have.
    pub masks: &'a [u64],
    /// Whether values differ between all places of the first coordinate, for each place of the second.
    pub first_differ: bool,
    /// The same with the coordinates exchanged.
    pub second_differ: bool,
}

/// The unknowns of a member of `xform`, each named as in its formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// GS
    pub gs: u8,
    /// DF
    pub df: u8,
    /// CF
    pub cf: u8,
    /// WRAP
    pub wrap: bool,
    /// CR
    pub cr: u8,
    /// DR; 0: the quotient does not take part.
    pub dr: u8,
    /// C
    pub c: u8,
}

/// The number of a listed member, of a condition or of a fitted expression in its family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberId(u32);

table_ids!(MemberId);

/// How a member was made; [`Family::expression`](super::Family::expression) makes a text of it.
#[derive(Clone, Debug)]
pub enum Recipe {
    /// Parameters of an `xform`.
    XForm(Parameters),
    /// The number of the kind, and its parameters.
    Formula(u8, [i32; 5]),
    /// A listed member, a condition or a fitted expression.
    Member(MemberId),
    /// The conditions of a `part`, one after the other.
    Part(Vec<MemberId>),
    /// No formula.
    Table,
}

/// Sees members; false ends the enumeration.
pub type Visit<'v> = dyn FnMut(&[u8], Recipe) -> bool + 'v;
