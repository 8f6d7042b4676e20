//! Operands of video instructions: which bytes or halves of a register are meant, and whether a
//! minus sign stands in front (PTX ISA, "Video Instructions").

use super::machine::Machine;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
pub(super) use crate::isa::Selector;
use crate::ptx::Operand;

/// An operand of a video instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The whole 32-bit register or constant.
    pub whole: TermId,
    /// Which parts of it are meant; all of it where nothing is said.
    pub selector: Option<Selector>,
    /// Whether its negative is meant.
    pub negated: bool,
}

/// The selector of an operand as written, `Some(None)` without one.
pub(super) fn selector(inst: &Inst<'_, '_>, index: usize) -> Option<Option<Selector>> {
    let (Arg::Modified(_), operand) = (inst.args.get(index)?, inst.ast.operands.get(index)?) else {
        return Some(None);
    };
    match operand {
        Operand::Name(name) | Operand::Negated(name) => match name.text.rsplit_once('.') {
            Some((_, text)) => Selector::parse(text).map(Some),
            None => Some(None),
        },
        _ => None,
    }
}

impl<'s> Machine<'_, '_, 's> {
    /// Source operand `index` (0 is the first behind the destination).
    pub(super) fn video_operand(&mut self, inst: &Inst<'_, 's>, index: usize) -> Option<Part> {
        let selector = selector(inst, index + 1)?;
        let negated = matches!(inst.ast.operands.get(index + 1)?, Operand::Negated(_));
        let whole = match inst.args.get(index + 1)? {
            Arg::Modified(register) if self.register_width(*register) >= 32 => {
                let value = self.read(*register);
                self.arena.extract(value, 0, 32)
            }
            Arg::Modified(_) => return None,
            arg => self.value(arg, 32)?,
        };
        Some(Part { whole, selector, negated })
    }

    /// The selected byte, half or word, extended to 64 bits.
    pub(super) fn scalar_part(&mut self, part: Part, signed: bool) -> Option<TermId> {
        let bits = match part.selector {
            None => part.whole,
            Some(Selector { bits, count: 1, parts }) if parts[0] < 32 / bits => {
                self.arena.extract(part.whole, parts[0] * bits, bits)
            }
            Some(_) => return None,
        };
        Some(self.extend(bits, 64, signed))
    }
}
