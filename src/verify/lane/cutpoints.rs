//! Cutpoints: how functions that have a cycle with several entries are evaluated.
//!
//! No header dominates such a cycle, so there is no induction over its iterations. Instead every block with
//! several predecessors is a cutpoint (in Floyd's sense): evaluation starts anew there, with a symbol for each
//! register and each part of memory that may have changed since the cutpoint's immediate dominator. The two
//! programs are then compared by pairs of cutpoints: both must take each path from one cutpoint to the next under
//! the same condition, and the path must bring the same values.
//!
//! A symbol of a cutpoint is the register's value on the last arrival at its block. A value that is read
//! further on was computed behind that arrival, or above the cutpoint's immediate dominator.

use super::state::Evaluation;
use crate::cfg::{BlockId, LoopId};
use crate::program::{Slot, Window};
use crate::record::{Cutpoint, CutpointPath};
use crate::terms::{Kind, Origin};

impl Evaluation<'_, '_> {
    /// Starts the evaluation anew at a block, with symbols for all that may have changed.
    pub(super) fn cutpoint(&mut self, block: BlockId) {
        // Its number is behind those of the loops.
        let id = LoopId((self.program.flow.loops.loops.len() + self.out.cutpoints.len()) as u32);
        let mut symbols = Vec::new();
        self.terms.arena.charge(self.program.flow.blocks.len() as u64);
        let changes = self.program.between(&self.terms.arena, block);
        // Registers and memory that no instruction on these paths changes have their values from the dominator.
        match self.program.flow.dominators.immediate(block) {
            Some(above) if self.exits[above].is_some() => {
                let exit = self.exits[above].clone();
                self.state = exit.iter().flat_map(|exit| exit.state.iter().copied()).collect();
                exit.iter().for_each(|exit| self.memory = exit.memory);
            }
            _ => {
                let registers = self.program.carried.clone();
                self.state = registers.into_iter().map(|r| self.unwritten(r)).collect();
            }
        }
        for register in changes.registers {
            let Slot::LoopCarried(index) = self.program.slots[register] else { continue };
            let kind = self.phi(id, register);
            let width = self.width(register);
            let symbol = self.terms.symbol(kind, width, None);
            self.state[index as usize] = symbol;
            symbols.push((Some(register), symbol));
        }
        for &window in &changes.windows {
            let kind = Kind::Memory(window, Origin::Header(id));
            let symbol = self.terms.symbol(kind, 32, None);
            self.memory[window as usize] = symbol;
            symbols.push((None, symbol));
        }
        self.out.path[block] = Some(self.terms.arena.boolean(true));
        self.out.root[block] = block;
        let windows = changes.windows;
        self.out.cutpoints.push(Cutpoint { block, symbols, windows, paths: Vec::new() });
    }

    /// Collects the values that each edge brings to each cutpoint, once all blocks have been evaluated.
    pub(super) fn close_cutpoints(&mut self) {
        for index in 0..self.out.cutpoints.len() {
            let block = self.out.cutpoints[index].block;
            let edges = self.program.flow.block(block).predecessors.clone();
            let windows: Vec<Window> = self.out.cutpoints[index].windows.clone();
            for edge in edges {
                let Some(exit) = self.exits[edge.from].clone() else { continue };
                let condition = self.taken(&edge, None);
                let mut values = Vec::new();
                let mut changed = windows.iter();
                for (register, symbol) in &self.out.cutpoints[index].symbols {
                    values.push(match register.map(|r| self.program.slots[r]) {
                        Some(Slot::LoopCarried(slot)) => exit.state[slot as usize],
                        Some(Slot::Single) => *symbol,
                        None => {
                            changed.next().map_or(*symbol, |&window| exit.memory[window as usize])
                        }
                    });
                }
                let from = self.out.root[edge.from];
                let path = CutpointPath { from, condition, values };
                self.out.cutpoints[index].paths.push(path);
            }
        }
    }
}
