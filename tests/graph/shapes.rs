//! Control flow that has been got wrong before, nearly as it was found: in any place of a structured
//! kernel, with other statements in between, under these conditions or others.
//!
//! All have in common: the row depends on a counter that is the same for all lanes as long as they are in the
//! same iteration, and at some place lanes wait for others that are in another iteration.

use super::contents;
use super::kernel::{
    Array, BlockId, Carried, Condition, End, Item, Limit, Load, SLOT, Start, Sync, Test, Update,
    Value,
};
use super::structured::{Builder, early};

impl Builder<'_> {
    /// Any of them.
    pub fn shape(&mut self, depth: u32) {
        let count = if self.synchronised { 17 } else { 9 };
        match self.rng.u8(..count) {
            0 | 1 => self.way_round_past_an_end(depth),
            2 | 8 => self.two_loops_of_one(depth),
            3 => self.passed_by(depth),
            4 => self.break_in_a_branch(depth),
            5 | 6 => self.loop_in_a_cycle_of_two_entries(depth),
            7 => self.dead_forward_edge(depth),
            9..=12 => self.turns(depth),
            _ => self.rendezvous(depth),
        }
    }

    /// What decides of lanes by themselves, each time another way.
    fn alternating(&mut self, counter: Carried) -> Condition {
        match self.rng.u8(..8) {
            0 => self.conditions.any(self.rng),
            1 => Condition::of(Test::Sum(counter, self.rng.u32(..4)), self.rng.bool()),
            2 => Condition::of(Test::Mixed(counter, 1 << self.rng.u32(..2)), self.rng.bool()),
            3 => Condition::of(Test::Mixed(counter, 3), self.rng.bool()),
            _ => Condition::of(Test::Mixed(counter, 1), self.rng.bool()),
        }
    }

    /// What never holds, or hardly ever.
    fn rare(&mut self) -> Condition {
        match self.rng.u8(..4) {
            0 => self.conditions.any(self.rng),
            1 => Condition::of(Test::Sum(0, self.rng.u32(..4)), false),
            _ => Condition::of(Test::Never, false),
        }
    }

    fn row(&mut self, counter: Carried) -> Item {
        let first = self.rng.u32(..3);
        let row = Some((counter, false));
        let words = vec![first, first + 1];
        Item::Load(Load { array: Array::Input, row, words, read_only: self.rng.u8(..4) > 0 })
    }

    /// Reads the counter's row in a block, with other statements before it now and then. Later additions stand behind.
    fn use_row(&mut self, at: BlockId, counter: Carried, depth: u32) {
        self.at = at;
        if self.rng.u8(..5) == 0 {
            self.list(depth + 1, false);
        }
        let load = self.row(counter);
        self.blocks[self.at].items.push(load);
        if self.rng.u8(..5) == 0 {
            self.list(depth + 1, false);
        }
    }

    /// A counter that starts at zero, here or at the entry.
    fn zero(&mut self) -> Carried {
        let counter = self.conditions.counter();
        if self.rng.bool() {
            self.blocks[self.at].items.push(Item::Step(counter, Update::Set(0)));
        }
        counter
    }

    /// A loop's header that steps its counter. Later additions stand there.
    fn header(&mut self) -> (BlockId, Carried) {
        let counter = self.zero();
        let header = self.block();
        self.goto(header);
        self.blocks[header].items.push(Item::Step(counter, Update::Add(1)));
        (header, counter)
    }

    fn while_below(counter: Carried) -> Condition {
        Condition {
            limit: Some((Limit::Counter(counter), true)),
            ..Condition::of(Test::Always, false)
        }
    }

    /// Lanes meet in front of the loads, as the way round leads past an end, or by an index.
    pub fn way_round_past_an_end(&mut self, depth: u32) {
        let (header, counter) = self.header();
        let (side, meet, after) = (self.block(), self.block(), self.block());
        let when = self.alternating(counter);
        if self.rng.u8(..5) == 0 {
            let end = End::Index { by: when.test, to: vec![header, meet], limit: None };
            self.finish(end, meet);
        } else {
            self.branch(when, meet, side, side);
            let leave = self.block();
            let rare = self.rare();
            self.blocks[leave].end = End::Leave(early(self.rng, rare));
            self.apart = true;
            match self.rng.bool() {
                true => self.branch(rare, leave, header, meet),
                false => {
                    let when = Condition { negated: !rare.negated, ..rare };
                    self.branch(when, header, leave, meet);
                }
            }
        }
        self.use_row(meet, counter, depth);
        self.branch(Self::while_below(counter), header, after, after);
    }

    /// Each iteration of the outer loop runs the inner one, and no block lies in between.
    fn two_loops_of_one(&mut self, depth: u32) {
        let (outer, inner) = (self.zero(), self.zero());
        let (head, body, latch, after) = (self.block(), self.block(), self.block(), self.block());
        let stepped_above = self.rng.bool();
        self.goto(head);
        let step = Item::Step(outer, Update::Add(1));
        self.blocks[if stepped_above { head } else { latch }].items.push(step);
        self.branch(Self::while_below(outer), body, after, body);
        self.blocks[body].items.push(Item::Step(inner, Update::Add(1)));
        self.use_row(body, outer, depth);
        let again = Condition::of(Test::Mixed(inner, 1 + 2 * self.rng.u32(..2)), self.rng.bool());
        self.branch(again, body, latch, latch);
        self.finish(End::Jump(head), after);
    }

    /// Whoever comes to the loads has passed the branch, and all ways on from there lead out.
    fn passed_by(&mut self, depth: u32) {
        let (header, counter) = self.header();
        let (choice, body, behind, after) =
            (self.block(), self.block(), self.block(), self.block());
        let rare = self.rare();
        self.branch(rare, after, choice, choice);
        let when = self.alternating(counter);
        self.branch(when, header, body, body);
        self.use_row(body, counter, depth);
        self.branch(Self::while_below(counter), header, behind, behind);
        self.blocks[behind].items.push(Item::Step(0, Update::Add(1)));
        self.goto(after);
    }

    fn break_in_a_branch(&mut self, depth: u32) {
        let (header, counter) = self.header();
        let (body, join, after) = (self.block(), self.block(), self.block());
        let when = self.alternating(counter);
        self.branch(when, join, body, body);
        self.use_row(body, counter, depth);
        let rare = self.rare();
        self.branch(rare, after, join, join);
        self.branch(Self::while_below(counter), header, after, after);
    }

    /// Lanes leave the inner loop, take the path by the other entry, and come back to it.
    fn loop_in_a_cycle_of_two_entries(&mut self, depth: u32) {
        let (rounds, counter) = (self.zero(), self.conditions.counter());
        let (first, second) = (self.block(), self.block());
        let (header, body, round, after) = (self.block(), self.block(), self.block(), self.block());
        let when = match self.rng.u8(..3) {
            0 => Condition::of(Test::Parameter(self.rng.u32(1..6)), self.rng.bool()),
            _ => Condition::of(Test::Never, false),
        };
        self.branch(when, second, first, first);
        self.blocks[first].items.push(Item::Step(rounds, Update::Add(1)));
        self.goto(second);
        self.blocks[second].items.push(Item::Step(counter, Update::Set(0)));
        self.goto(header);
        self.blocks[header].items.push(Item::Step(counter, Update::Add(1)));
        let leaves = match self.rng.bool() {
            true => Condition::of(Test::Sum(counter, self.rng.u32(..4)), false),
            false => self.alternating(counter),
        };
        let leaves =
            Condition { negated: false, limit: Some((Limit::Counter(rounds), true)), ..leaves };
        self.branch(leaves, round, body, body);
        self.use_row(body, counter, depth);
        self.branch(Self::while_below(counter), header, after, round);
        self.finish(End::Jump(first), after);
        // (Another way out of the outer cycle would be another meeting place.)
        self.limited.extend([first, round]);
    }

    /// A block that only the back edge enters, and that changes a value read behind it.
    fn dead_forward_edge(&mut self, depth: u32) {
        let (counter, row) = (self.zero(), self.conditions.carried.len());
        self.conditions.carried.push(Start::Number(self.rng.u32(..2)));
        let (dead, second, after) = (self.block(), self.block(), self.block());
        let load = match self.rng.bool() {
            true => {
                let word = self.rng.u32(..SLOT);
                let value = Value::Number(self.rng.u32(70..99));
                self.blocks[dead].items.push(Item::Store { word, value });
                Load { array: Array::Own, row: None, words: vec![word], read_only: false }
            }
            false => {
                self.blocks[dead].items.push(Item::Step(row, Update::Add(1)));
                let read_only = self.rng.bool();
                let words = vec![0, 1];
                Load { array: Array::Input, row: Some((row, false)), words, read_only }
            }
        };
        self.blocks[self.at].items.push(Item::Load(load.clone()));
        self.branch(Condition::of(Test::Always, false), second, dead, dead);
        if self.rng.u8(..4) == 0 {
            self.list(depth + 1, false);
        }
        self.goto(second);
        self.blocks[second].items.push(Item::Step(counter, Update::Add(1)));
        self.branch(Self::while_below(counter), dead, after, after);
        self.blocks[after].items.push(Item::Load(load));
    }

    /// Half of the lanes wait for all in one iteration, the others in the next. Lanes that have ended
    /// are not waited for, so those that come once more wait at the end for nobody.
    fn turns(&mut self, depth: u32) {
        let (header, counter) = self.header();
        let (skip, body, after) = (self.block(), self.block(), self.block());
        let when = Condition::of(Test::Mixed(counter, 1), self.rng.bool());
        self.branch(when, skip, body, body);
        let sync = [Sync::Warp, Sync::Warp, Sync::Vote, Sync::Shuffle, Sync::Block];
        let sync = sync[self.rng.usize(..sync.len())];
        let load = self.row(counter);
        self.blocks[body].items.extend([Item::Sync(sync), load]);
        if self.rng.u8(..4) == 0 {
            self.list(depth + 1, false);
        }
        self.goto(skip);
        self.branch(Self::while_below(counter), header, after, after);
    }

    /// Lanes of one branch wait for single lanes of the other, each for one at a time and in another
    /// order than that in which these come by. Whoever waits for all of its branch in between waits for
    /// ever.
    pub fn rendezvous(&mut self, depth: u32) {
        let bit = 1 << self.rng.u32(..5);
        let when = Condition::of(Test::Thread(bit), false);
        let (yes, no, end) = (self.block(), self.block(), self.block());
        self.branch(when, yes, no, yes);
        let mut others: Vec<u32> = (0..32).filter(|lane| lane & bit == 0).collect();
        self.rng.shuffle(&mut others);
        let host = others[0] | bit;
        let partners = &others[1..=self.rng.usize(1..4)];
        let by = contents::by(self.rng);
        let mut meetings: Vec<Sync> =
            partners.iter().map(|&lane| Sync::Pair(lane, host, by)).collect();
        self.blocks[yes].items.extend(meetings.iter().map(|&meeting| Item::Sync(meeting)));
        // The host's first one comes last.
        meetings.rotate_left(1);
        let plain = self.rng.u8(..4) > 0;
        for (number, meeting) in meetings.into_iter().enumerate() {
            let load = if plain {
                let first = 8 * number as u32 + self.rng.u32(..4);
                let words = vec![first, first + 1];
                Some(Load { array: Array::Input, row: None, words, read_only: true })
            } else {
                let any = self.rng.bool();
                any.then(|| contents::load(self.rng, &self.conditions, 0, true))
            };
            self.blocks[no].items.extend(load.map(Item::Load));
            self.blocks[no].items.push(Item::Sync(meeting));
        }
        self.finish(End::Jump(end), no);
        if self.rng.u8(..4) == 0 {
            self.list(depth + 1, false);
        }
        self.goto(end);
    }
}
