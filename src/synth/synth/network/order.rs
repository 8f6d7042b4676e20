//! By what networks are compared.

/// Objectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Operations one after the other.
    Depth,
    /// Steps in which a lane combines: each is one shuffle.
    Shuffles,
    /// Operations of all lanes.
    Operations,
    /// Further wavefronts of shared memory.
    Conflicts,
    /// Instructions of a lane.
    Instructions,
}

impl Measure {
    /// Each of them.
    pub const ALL: [Measure; 5] = [
        Measure::Depth,
        Measure::Shuffles,
        Measure::Operations,
        Measure::Conflicts,
        Measure::Instructions,
    ];

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Depth => "depth",
            Measure::Shuffles => "shuffles",
            Measure::Operations => "operations",
            Measure::Conflicts => "conflicts",
            Measure::Instructions => "instructions",
        }
    }

    /// The measure that is written so.
    pub fn of(name: &str) -> Option<Measure> {
        Measure::ALL.into_iter().find(|measure| measure.name() == name)
    }
}
