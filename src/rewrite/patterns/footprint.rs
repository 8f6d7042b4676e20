//! What a group takes of a kernel, and when two groups exclude each other: no other place decides that.
//!
//! In: the footprint of a group that is about to be chosen, and those of the groups that are chosen already. A pattern says
//! what its code adds and which [`Room`] it needs, and names no other pattern.

use crate::cfg::{BlockId, InstId, InstRange};

/// Which accesses a group is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accesses {
    /// Global loads; each has a finding of its own.
    #[default]
    Loads,
    /// Global stores.
    Stores,
    /// Accesses to arrays in shared memory.
    Shared,
    /// Shuffles, and what combines the values that they bring.
    Exchanges,
}

/// The code that the blocks of a group get besides the replacements of its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Added {
    /// None: the members stand there, and no other group may add branches.
    #[default]
    Nothing,
    /// Statements, such as copies at the end of an iteration.
    Code,
    /// A rewritten and an untouched version of some statements. A check that one version makes is not known behind both.
    Versions,
}

/// The code of other groups that the blocks of a room may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Neighbours {
    /// Any.
    #[default]
    Any,
    /// None.
    Nothing,
    /// All but versions.
    NoVersions,
    /// Versions, or none.
    NoCode,
}

/// Where no other group may ask which lanes are together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// They may do so everywhere.
    #[default]
    Anywhere,
    /// Not once for one of the room's blocks.
    NotInBlocks,
    /// Nowhere in the function.
    Nowhere,
}

/// What a group needs around it.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Blocks that only such neighbours may share.
    pub blocks: Vec<BlockId>,
    /// Those neighbours.
    pub neighbours: Neighbours,
    /// Whether all blocks of the function belong to the room.
    pub everywhere: bool,
    /// Instructions among which no other group has a member.
    pub insts: Vec<InstRange>,
    /// Where no other group may ask which lanes are together.
    pub lanes: Lanes,
    /// The pattern, if its own groups may be anywhere.
    pub kin: Option<&'static str>,
    /// The pattern, if members of its own groups may stand among the instructions.
    pub beside_own: Option<&'static str>,
}

/// What a group takes of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// The kind of its members.
    pub accesses: Accesses,
    /// The instructions of the accesses, in program order.
    pub members: Vec<InstId>,
    /// The blocks that it uses besides the places of its members.
    pub blocks: Vec<BlockId>,
    /// The code that they get.
    pub added: Added,
    /// The code that gets two versions, where stores stand in it. No other group moves a store of it, or one to it.
    pub versions: Option<InstRange>,
    /// Whether its code asks which lanes are together, so that no branch may be added in front of it.
    pub asks_lanes: bool,
    /// The blocks for which it asks that once.
    pub checks: Vec<BlockId>,
    /// The room that it needs.
    pub room: Room,
}

impl Footprint {
    /// That of some accesses in whose place their replacements stand.
    pub fn of(accesses: Accesses, members: Vec<InstId>) -> Footprint {
        Footprint { accesses, members, asks_lanes: true, ..Footprint::default() }
    }

    /// The same, for code in which each lane cares for itself.
    pub fn lane_by_lane(self) -> Footprint {
        Footprint { asks_lanes: false, ..self }
    }

    /// The same with code that is added to blocks.
    pub fn adding(self, added: Added, blocks: Vec<BlockId>) -> Footprint {
        Footprint { added, blocks, ..self }
    }

    /// The same in a room of its own.
    pub fn within(self, room: Room) -> Footprint {
        Footprint { room, ..self }
    }

    /// That of a group that is not chosen: it takes nothing.
    pub fn left(self) -> Footprint {
        Footprint::of(self.accesses, self.members)
    }

    /// Whether a group cannot be chosen beside one that is.
    pub fn conflicts(&self, chosen: &Footprint) -> bool {
        let room = &self.room;
        if room.kin.is_some() && room.kin == chosen.room.kin {
            return false;
        }
        let is_in_room = |block| room.everywhere || room.blocks.contains(block);
        let is_disturbed = match room.neighbours {
            Neighbours::Any => false,
            Neighbours::Nothing => true,
            Neighbours::NoVersions => chosen.added == Added::Versions,
            Neighbours::NoCode => chosen.added == Added::Code,
        };
        let asks_lanes = match room.lanes {
            Lanes::Anywhere => false,
            Lanes::NotInBlocks => chosen.checks.iter().any(is_in_room),
            Lanes::Nowhere => chosen.asks_lanes,
        };
        let is_own = room.beside_own.is_some() && room.beside_own == chosen.room.beside_own;
        let is_among = |inst: &InstId| room.insts.iter().any(|code| code.contains(inst));
        asks_lanes
            || is_disturbed && chosen.blocks.iter().any(is_in_room)
            || !is_own && chosen.members.iter().any(is_among)
            || self.accesses == Accesses::Stores && self.moves_what_stays(chosen)
    }

    /// Whether it moves a store that another group replaces, or that stands in versions of code.
    fn moves_what_stays(&self, chosen: &Footprint) -> bool {
        let are_both_stores = chosen.accesses == Accesses::Stores;
        let is_parted = |at| chosen.versions.as_ref().is_some_and(|code| code.contains(at));
        let mut members = self.members.iter();
        members.any(|at| is_parted(at) || are_both_stores && chosen.members.contains(at))
    }

    /// Whether the groups of two searches share an access, or those of two strategies a block.
    pub fn competes(&self, other: &Footprint, are_of_one_strategy: bool) -> bool {
        let is_shared = |block| other.blocks.contains(block);
        !are_of_one_strategy && self.blocks.iter().any(is_shared)
            || self.members.iter().any(|inst| other.members.contains(inst))
    }
}
