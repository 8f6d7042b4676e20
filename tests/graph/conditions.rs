//! Conditions of branches, and the registers they look at.

use fastrand::Rng;

use super::kernel::{Carried, Condition, Start, Test};

/// Registers that anything may change.
pub const FREE: usize = 2;

/// Draws conditions for one kernel.
pub struct Conditions {
    /// How each carried register starts; the first [`FREE`] are no counters.
    pub carried: Vec<Start>,
    /// Of 16 conditions as many are the same for all lanes of a warp.
    uniform: u8,
    /// Of 16 conditions as many are known already.
    known: u8,
}

impl Conditions {
    pub fn new(rng: &mut Rng) -> Conditions {
        let start = |rng: &mut Rng| match rng.u8(..6) {
            0..=2 => Start::Number(rng.u32(..3)),
            3 => Start::Parameter,
            4 => Start::Thread,
            _ => Start::Loaded,
        };
        let carried = (0..FREE).map(|_| start(rng)).collect();
        let choices = [0, 2, 4, 8, 15];
        Conditions { carried, uniform: choices[rng.usize(..5)], known: rng.u8(..4) }
    }

    /// A counter of its own, zero at first.
    pub fn counter(&mut self) -> Carried {
        self.carried.push(Start::Number(0));
        self.carried.len() - 1
    }

    /// Any carried register, the counters made last above all.
    pub fn register(&self, rng: &mut Rng) -> Carried {
        match rng.u8(..4) {
            0 => rng.usize(..self.carried.len()),
            _ => self.carried.len() - 1 - rng.usize(..self.carried.len().min(2)),
        }
    }

    pub fn any(&self, rng: &mut Rng) -> Condition {
        let register = self.register(rng);
        let test = match rng.u8(..16) {
            draw if draw < self.known => match rng.bool() {
                true => Test::Always,
                false => Test::Never,
            },
            draw if draw < self.known + self.uniform => match rng.u8(..4) {
                0 => Test::Parameter(rng.u32(1..6)),
                1 => Test::Grid,
                _ => Test::Bits(register, 1 << rng.u32(..2)),
            },
            _ => match rng.u8(..12) {
                0..=3 => Test::Mixed(register, 1 << rng.u32(..2)),
                4 | 5 => Test::Sum(register, rng.u32(..4)),
                6 => Test::Thread(1 << rng.u32(..5)),
                7 => Test::Below(rng.u32(1..32)),
                8 => Test::Loaded(rng.u32(..4)),
                9 => Test::Result(rng.u32(..4)),
                _ => Test::Mixed(register, 3),
            },
        };
        Condition::of(test, rng.bool())
    }

    /// Whether all threads of a block agree, as long as they have come the same way so far.
    pub fn is_uniform(&self, test: Test) -> bool {
        match test {
            Test::Always | Test::Never | Test::Parameter(_) | Test::Grid => true,
            // (A free register may have been mixed with the thread's index.)
            _ => false,
        }
    }
}
