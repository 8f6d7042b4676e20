//! Which blocks of two launches are executed for all of them.

use super::witness::Side;
use crate::interp::{Apart, Blocks, Cover, Domain, MOST_BLOCKS, Symbolic};
use crate::parallel;

/// Fewer blocks than these are all executed.
const MANY: u64 = 16;

/// The blocks that are executed.
#[derive(Debug)]
pub(super) struct Plan {
    /// Those of each launch.
    pub blocks: [Blocks; 2],
    /// Whether they stand for all others.
    pub alike: bool,
    /// Why a few do not stand for the others, if that was asked.
    pub apart: Option<String>,
    /// Two blocks that access the same bytes, perhaps in a race.
    pub conflict: Option<Blocks>,
}

impl Plan {
    /// All blocks of both launches are executed.
    pub(super) fn whole(apart: Option<Apart>) -> Plan {
        let conflict = match &apart {
            Some(Apart::Shared(_, Some(two))) => Some(Blocks::Some(two.to_vec())),
            _ => None,
        };
        let blocks = [Blocks::All, Blocks::All];
        Plan { blocks, alike: false, apart: apart.map(words), conflict }
    }

    /// The blocks that the user names, or so few of them that they stand for all others.
    pub(super) fn new(sides: &[Side<'_>; 2], domain: Domain, blocks: Option<&Blocks>) -> Plan {
        if let Some(blocks) = blocks {
            return Plan { blocks: [blocks.clone(), blocks.clone()], ..Plan::whole(None) };
        }
        let grids = [0, 1].map(|side| sides[side].launch.grid.map(u64::from));
        let blocks = grids.iter().map(|grid| grid.iter().product::<u64>()).sum::<u64>();
        if !(MANY..=MOST_BLOCKS).contains(&blocks) {
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
                Plan { blocks: blocks.map(Blocks::Some), alike: true, ..Plan::whole(None) }
            }
            Err(apart) => Plan::whole(Some(apart)),
        }
    }
}

/// Why blocks are not alike, in words.
fn words(apart: Apart) -> String {
    match apart {
        Apart::Shared(name, _) => format!("two blocks access the same bytes of `{name}`"),
        Apart::Few(Some(why)) => why,
        Apart::Few(None) => "most blocks take different ways".to_owned(),
    }
}
