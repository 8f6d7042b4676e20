//! The rounding and saturation of `cvt` by its modifiers (PTX ISA, "Data Movement and Conversion
//! Instructions: cvt").

use crate::float::Round;
use crate::interp::decode::Inst;
use crate::isa::Qualifier;

/// The modifiers of one `cvt`.
#[derive(Clone, Copy)]
pub(super) struct Modifiers {
    /// Rounding of a floating-point result.
    pub round: Option<Round>,
    /// Rounding to an integer.
    pub integral: Option<Round>,
    /// `.ftz`
    pub ftz: bool,
    /// `.sat`
    pub saturate: bool,
    /// `.satfinite`
    pub finite: bool,
    /// `.relu`
    pub relu: bool,
}

impl Modifiers {
    /// Takes the modifiers from an instruction.
    pub(super) fn take(inst: &mut Inst<'_, '_>) -> Modifiers {
        let integral = inst.take_qualifier(|m| {
            Some(match m {
                Qualifier::Rni => Round::Even,
                Qualifier::Rzi => Round::Zero,
                Qualifier::Rmi => Round::Down,
                Qualifier::Rpi => Round::Up,
                _ => return None,
            })
        });
        Modifiers {
            round: inst.take_round(),
            integral,
            ftz: inst.take(Qualifier::Ftz),
            saturate: inst.take(Qualifier::Sat),
            finite: inst.take(Qualifier::Satfinite),
            relu: inst.take(Qualifier::Relu),
        }
    }
}
