//! Which blocks of two launches are executed for all of them.

use super::over::Field;
use super::witness::Side;
use crate::interp::{Apart, Blocks, Cover, Symbolic};

/// The blocks that are executed.
#[derive(Debug)]
pub(super) struct Plan {
    /// Those of each launch.
    pub blocks: [Blocks; 2],
    /// Whether those of the first launch stand for all others.
    pub alike: bool,
    /// Why some blocks do not stand for the others, if that was asked.
    pub apart: Option<String>,
}

impl Plan {
    /// All blocks of both launches are executed.
    pub(super) fn whole(apart: Option<String>) -> Plan {
        Plan { blocks: [Blocks::All, Blocks::All], alike: false, apart }
    }

    /// The blocks that the user names, or so few of them that they stand for all others: both kernels are executed with
    /// symbols, block by block, until no other block would take another way.
    pub(super) fn new(sides: &[Side<'_>; 2], field: Field, blocks: &Blocks) -> Plan {
        if let Blocks::Some(_) = blocks {
            return Plan { blocks: [blocks.clone(), blocks.clone()], alike: false, apart: None };
        }
        let Some(mut cover) = Cover::new([0, 1].map(|side| sides[side].launch.grid)) else {
            return Plan::whole(None);
        };
        let mut symbolic = Symbolic::new(field.into(), 0);
        let mut executed = [Vec::new(), Vec::new()];
        while let Some((group, own)) = cover.next() {
            let own = own.map(Blocks::Some);
            let mut observe = |side: usize| {
                let Side { module, launch, .. } = &sides[side];
                symbolic.run_observed(module, launch, &own[side]).ok()
            };
            // What stops one block stops all of them, and is reported then.
            let Some(traces) = observe(0).and_then(|one| Some([one.1, observe(1)?.1])) else {
                return Plan::whole(None);
            };
            if let Err(apart) = cover.cover(group, &traces) {
                return Plan::whole(Some(words(apart)));
            }
            for (all, own) in executed.iter_mut().zip(own) {
                if let Blocks::Some(own) = own {
                    all.extend(own);
                }
            }
        }
        match cover.check() {
            Ok(()) => Plan { blocks: executed.map(Blocks::Some), alike: true, apart: None },
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
