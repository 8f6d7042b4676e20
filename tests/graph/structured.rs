//! Structured control flow, spelled as a graph at once: conditionals, loops that test at their top
//! or at their bottom, `break`, `continue`, early exits, switches.

use fastrand::Rng;

use super::conditions::Conditions;
use super::kernel::{
    Array, Block, BlockId, Carried, Condition, End, Item, Leave, Limit, Load, Sync, Test, Update,
};

/// Statements inside each other, and loops.
const MAX_DEPTH: u32 = 4;
const MAX_LOOPS: usize = 3;

/// A graph in the making.
pub struct Builder<'r> {
    pub rng: &'r mut Rng,
    pub blocks: Vec<Block>,
    pub conditions: Conditions,
    /// Whether switches and latches use `brx.idx`.
    pub indexed: bool,
    /// Whether lanes wait for each other.
    pub synchronised: bool,
    /// Statements that may still be made.
    budget: i32,
    /// The block that statements are added to.
    pub at: BlockId,
    loops: Vec<Around>,
    /// Lanes may have left a loop or ended before others.
    pub apart: bool,
    /// Blocks that only those come to whom a limit lets.
    pub limited: Vec<BlockId>,
}

/// What was built.
pub struct Built {
    pub blocks: Vec<Block>,
    pub conditions: Conditions,
    pub limited: Vec<BlockId>,
}

/// A loop around.
#[derive(Clone, Copy)]
struct Around {
    /// Where `continue` and `break` go.
    latch: BlockId,
    end: BlockId,
    /// What its header steps.
    counter: Carried,
}

impl<'r> Builder<'r> {
    pub fn new(rng: &'r mut Rng, indexed: bool, synchronised: bool) -> Builder<'r> {
        let budget = rng.i32(6..16);
        let conditions = Conditions::new(rng);
        let blocks = vec![Block::new(End::Leave(Leave::Trap))];
        Builder {
            rng,
            blocks,
            conditions,
            indexed,
            synchronised,
            budget,
            at: 0,
            loops: Vec::new(),
            apart: false,
            limited: Vec::new(),
        }
    }

    /// All blocks; the last one ends the thread. `shapes`: what has been got wrong before is among
    /// them, in some place.
    pub fn build(mut self, shapes: bool) -> Built {
        if shapes {
            self.budget = self.rng.i32(-1..5);
            match self.rng.u8(..6) {
                0 => self.around_a_shape(),
                1 => self.statement(1, true),
                _ => {}
            }
            self.shape(2);
        }
        while self.budget > 0 {
            self.statement(0, true);
        }
        self.built()
    }

    /// Only a loop in which some lanes leave the function in the middle.
    pub fn build_early_end(mut self) -> Built {
        self.budget = 0;
        self.way_round_past_an_end(MAX_DEPTH);
        self.built()
    }

    fn built(mut self) -> Built {
        let last = self.block();
        self.goto(last);
        self.blocks[last].end = End::Leave(Leave::Last);
        Built { blocks: self.blocks, conditions: self.conditions, limited: self.limited }
    }

    pub fn block(&mut self) -> BlockId {
        self.blocks.push(Block::new(End::Leave(Leave::Trap)));
        self.blocks.len() - 1
    }

    /// Ends the present block; statements that follow are added to `to`.
    pub fn goto(&mut self, to: BlockId) {
        self.finish(End::Jump(to), to);
    }

    pub fn finish(&mut self, end: End, next: BlockId) {
        self.blocks[self.at].end = end;
        self.at = next;
    }

    pub fn branch(&mut self, when: Condition, yes: BlockId, no: BlockId, next: BlockId) {
        self.finish(End::Branch { when, yes, no }, next);
    }

    pub fn list(&mut self, depth: u32, uniform: bool) {
        for _ in 0..self.rng.u32(1..=3) {
            self.statement(depth, uniform);
        }
    }

    /// `uniform`: all threads of the block come by.
    pub fn statement(&mut self, depth: u32, uniform: bool) {
        self.budget -= 1;
        let nested = depth < MAX_DEPTH && self.budget > 0;
        match self.rng.u8(..20) {
            0..=4 if nested => self.conditional(depth, uniform),
            5..=10 if nested && self.loops.len() < MAX_LOOPS => self.looping(depth, uniform),
            11 | 12 if nested => self.switch(depth),
            13..=15 if !self.loops.is_empty() => self.jump_out(),
            16 => self.early_exit(),
            18 | 19 if nested && self.synchronised => match self.loops.last() {
                Some(&around) if self.rng.bool() => self.in_turns(around.counter),
                _ => self.rendezvous(depth),
            },
            17 if uniform && !self.apart && self.rng.u8(..3) == 0 => {
                self.blocks[self.at].items.push(Item::Sync(Sync::Block));
            }
            _ => {
                let next = self.block();
                self.goto(next);
            }
        }
    }

    /// In a conditional or a loop that all lanes take alike.
    fn around_a_shape(&mut self) {
        let end = self.block();
        let when = Condition::of(Test::Parameter(self.rng.u32(1..6)), self.rng.bool());
        if self.rng.bool() {
            let yes = self.block();
            self.branch(when, yes, end, yes);
            self.shape(2);
            self.goto(end);
        } else {
            let (counter, header) = (self.conditions.counter(), self.block());
            self.goto(header);
            self.blocks[header].items.push(Item::Step(counter, Update::Add(1)));
            self.shape(2);
            let limit = Some((Limit::Counter(counter), true));
            let back = Condition { limit, ..Condition::of(Test::Always, false) };
            self.branch(back, header, end, end);
        }
    }

    fn conditional(&mut self, depth: u32, uniform: bool) {
        let when = self.conditions.any(self.rng);
        let uniform = uniform && self.conditions.is_uniform(when.test);
        let (yes, end) = (self.block(), self.block());
        if self.rng.bool() {
            let no = self.block();
            self.branch(when, yes, no, yes);
            self.list(depth + 1, uniform);
            self.finish(End::Jump(end), no);
        } else {
            self.branch(when, yes, end, yes);
        }
        self.list(depth + 1, uniform);
        self.goto(end);
    }

    /// A loop with a counter that its header steps.
    fn looping(&mut self, depth: u32, uniform: bool) {
        let counter = self.conditions.counter();
        let (header, body, latch, end) = (self.block(), self.block(), self.block(), self.block());
        if self.rng.bool() {
            self.blocks[self.at].items.push(Item::Step(counter, Update::Set(0)));
        }
        self.goto(header);
        self.blocks[header].items.push(Item::Step(counter, Update::Add(1)));
        let same = self.rng.u8(..3) > 0;
        let top = self.rng.u8(..3) == 0;
        // Everyone takes the way back while the counter allows it, or some leave before.
        let test = match same {
            true => Condition::of(Test::Always, false),
            false => self.conditions.any(self.rng),
        };
        let back = Condition { limit: Some((Limit::Counter(counter), true)), ..test };
        if top {
            self.branch(back, body, end, body);
        } else {
            self.goto(body);
        }
        // `continue` by an edge of its own, past the test at the bottom, or by way of a common latch.
        let again = if self.rng.bool() { header } else { latch };
        self.loops.push(Around { latch: again, end, counter });
        self.list(depth + 1, uniform && same);
        self.loops.pop();
        self.goto(latch);
        match top {
            true => self.finish(End::Jump(header), end),
            false if self.indexed && self.rng.bool() => {
                let limit = Some((Limit::Counter(counter), 0));
                let by = test.test;
                self.finish(End::Index { by, to: vec![end, header], limit }, end);
            }
            false => self.branch(back, header, end, end),
        }
    }

    fn switch(&mut self, depth: u32) {
        let by = self.conditions.any(self.rng).test;
        let end = self.block();
        let mut to: Vec<BlockId> = (0..4).map(|_| self.block()).collect();
        match self.loops.last() {
            // One of the cases is the `continue`, or leaves the loop.
            Some(&around) if self.rng.bool() => {
                to[3] = if self.rng.bool() { around.latch } else { around.end };
            }
            _ => to[3] = to[1],
        }
        if self.indexed || self.rng.u8(..4) == 0 {
            self.finish(End::Index { by, to: to.clone(), limit: None }, to[0]);
        } else {
            // A chain of comparisons.
            for &case in &to[..2] {
                let next = self.block();
                let when = self.conditions.any(self.rng);
                self.branch(when, case, next, next);
            }
            let when = self.conditions.any(self.rng);
            self.branch(when, to[2], to[3], to[0]);
        }
        for index in 0..3 {
            self.at = to[index];
            self.list(depth + 1, false);
            // Now and then a case falls into the next.
            let falls = index < 2 && self.rng.u8(..4) == 0;
            self.goto(if falls { to[index + 1] } else { end });
        }
        self.at = end;
    }

    /// `break` or `continue`, under a condition.
    fn jump_out(&mut self) {
        let inner = self.loops.len() - 1;
        let level = if self.rng.u8(..4) == 0 { self.rng.usize(..=inner) } else { inner };
        let around = self.loops[level];
        self.apart = true;
        let to = if self.rng.u8(..3) == 0 { around.end } else { around.latch };
        let (when, next) = (self.conditions.any(self.rng), self.block());
        self.branch(when, to, next, next);
    }

    /// Lanes wait for all others in every second iteration, each half in others.
    fn in_turns(&mut self, counter: Carried) {
        let when = Condition::of(Test::Mixed(counter, 1), self.rng.bool());
        let (yes, end) = (self.block(), self.block());
        self.branch(when, yes, end, yes);
        let row = Some((counter, false));
        let words = vec![0, 1];
        let load = Load { array: Array::Input, row, words, read_only: self.rng.bool() };
        self.blocks[yes].items.extend([Item::Sync(Sync::Warp), Item::Load(load)]);
        self.goto(end);
    }

    fn early_exit(&mut self) {
        let leave = self.block();
        self.apart = true;
        let rare = self.rng.u8(..3) == 0;
        let when =
            if rare { Condition::of(Test::Never, false) } else { self.conditions.any(self.rng) };
        self.blocks[leave].end = End::Leave(early(self.rng, when));
        let next = self.block();
        // A way that can only end, or one that the others go on from.
        match self.loops.last() {
            Some(&around) if self.rng.bool() => {
                let between = self.block();
                let go = self.conditions.any(self.rng);
                self.branch(go, next, between, between);
                self.branch(when, leave, around.latch, next);
            }
            _ => self.branch(when, leave, next, next),
        }
    }
}

/// An end in the middle; a trap only where nobody comes.
pub fn early(rng: &mut Rng, when: Condition) -> Leave {
    let store = rng.bool();
    match rng.u8(..5) {
        0 if when.test == Test::Never => Leave::Trap,
        0..=2 => Leave::Exit { store },
        _ => Leave::Return { store },
    }
}

/// The register that a loop's header steps, where the block steps one first.
pub fn stepped(block: &Block) -> Option<Carried> {
    block.items.iter().find_map(|item| match item {
        Item::Step(register, Update::Add(_)) => Some(*register),
        _ => None,
    })
}
