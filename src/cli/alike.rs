//! Which blocks of two launches are executed for all of them.

use super::witness::Side;
use crate::interp::{Apart, Blocks, Cover, Domain, Symbolic};
use crate::parallel;

/// Fewer blocks than these are all executed, and so are more than [`MOST`], which nobody would list.
const MANY: u64 = 16;
/// The most blocks of both launches.
const MOST: u64 = 1 << 24;

/// The blocks that are executed.
#[derive(Debug)]
pub(super) struct Plan {
    /// Those of each launch.
    pub blocks: [Blocks; 2],
    /// Whether they stand for all others.
    pub alike: bool,
    /// Why a few do not stand for the others, if that was asked.
    pub apart: Option<String>,
}

impl Plan {
    /// All blocks of both launches are executed.
    pub(super) fn whole(apart: Option<String>) -> Plan {
        Plan { blocks: [Blocks::All, Blocks::All], alike: false, apart }
    }

    /// The blocks that the user names, or so few of them that they stand for all others.
    pub(super) fn new(sides: &[Side<'_>; 2], domain: Domain, blocks: &Blocks) -> Plan {
        if let Blocks::Some(_) = blocks {
            return Plan { blocks: [blocks.clone(), blocks.clone()], alike: false, apart: None };
        }
        let grids = [0, 1].map(|side| sides[side].launch.grid.map(u64::from));
        let blocks = grids.iter().map(|grid| grid.iter().product::<u64>()).sum::<u64>();
        if !(MANY..=MOST).contains(&blocks) {
            return Plan::whole(None);
        }
        let classes = parallel::map(sides, |side| {
            Symbolic::new(domain, 0).classes(&side.module, &side.launch)
        });
        let cover = match &classes[..] {
            [Ok(Ok(one)), Ok(Ok(other))] => Cover::new([one, other], grids[0] == grids[1]),
            [Ok(Err(apart)), _] | [_, Ok(Err(apart))] => Err(apart.clone()),
            // What stops one block stops all of them, and is reported then.
            _ => return Plan::whole(None),
        };
        match cover {
            Ok(Cover { blocks }) => {
                Plan { blocks: blocks.map(Blocks::Some), alike: true, apart: None }
            }
            Err(apart) => Plan::whole(Some(words(apart))),
        }
    }
}

/// Why blocks are not alike, in words.
fn words(apart: Apart) -> String {
    match apart {
        Apart::Shared(name) => format!("two blocks access the same bytes of `{name}`"),
        Apart::Few(Some(why)) => why,
        Apart::Few(None) => "most blocks take different ways".to_owned(),
    }
}
