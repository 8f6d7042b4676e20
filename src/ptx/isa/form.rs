//! An opcode with its modifiers, decoded.

use smallvec::SmallVec;

use super::modifier::Modifier;
use super::opcode::Opcode;
use super::qualifier::Qualifier;
use super::types::{ScalarType, StateSpace};
use super::words::Words;

/// The words of an instruction's opcode, decoded: `ld.global.nc.v2.f32`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// The first word.
    pub opcode: Opcode,
    modifiers: SmallVec<[Modifier; 8]>,
}

impl Form {
    /// Decodes the text of an opcode with its modifiers. Never fails: a word that is not known is
    /// [`Opcode::Unknown`] or [`Modifier::Unknown`].
    pub fn of(text: &str) -> Form {
        let mut words = Words::of(text);
        let opcode = words.next().map_or(Opcode::Unknown, Opcode::of);
        Form { opcode, modifiers: words.map(Modifier::of).collect() }
    }

    /// The modifiers in the order of the text.
    pub fn modifiers(&self) -> &[Modifier] {
        &self.modifiers
    }

    /// Whether a qualifier is among the modifiers.
    pub fn has(&self, qualifier: Qualifier) -> bool {
        self.modifiers.contains(&Modifier::Qualifier(qualifier))
    }

    /// Whether one of some qualifiers is among the modifiers.
    pub fn has_any(&self, qualifiers: &[Qualifier]) -> bool {
        self.first_of(qualifiers).is_some()
    }

    /// The first modifier that is one of some qualifiers.
    pub fn first_of(&self, qualifiers: &[Qualifier]) -> Option<Qualifier> {
        self.qualifiers().find(|qualifier| qualifiers.contains(qualifier))
    }

    /// The modifiers that are neither types nor spaces nor shapes, in order.
    pub fn qualifiers(&self) -> impl Iterator<Item = Qualifier> {
        self.modifiers.iter().filter_map(|modifier| match modifier {
            Modifier::Qualifier(qualifier) => Some(*qualifier),
            _ => None,
        })
    }

    /// The types among the modifiers, in order.
    pub fn types(&self) -> SmallVec<[ScalarType; 3]> {
        self.modifiers.iter().filter_map(|modifier| modifier.ty()).collect()
    }

    /// The first type.
    pub fn first_type(&self) -> Option<ScalarType> {
        self.modifiers.iter().find_map(|modifier| modifier.ty())
    }

    /// The last type.
    pub fn last_type(&self) -> Option<ScalarType> {
        self.modifiers.iter().rev().find_map(|modifier| modifier.ty())
    }

    /// The state space among the modifiers; generic if none is named.
    pub fn space(&self) -> StateSpace {
        self.modifiers.iter().find_map(|modifier| modifier.space()).unwrap_or(StateSpace::Generic)
    }

    /// How many elements a vector access moves, by `.v2`, `.v4`, `.v8`; `None` for a scalar access.
    pub fn elements(&self) -> Option<u8> {
        self.qualifiers().find_map(|qualifier| match qualifier {
            Qualifier::V2 => Some(2),
            Qualifier::V4 => Some(4),
            Qualifier::V8 => Some(8),
            _ => None,
        })
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        blanks_and_comments_between_words_say_nothing,
        a_word_that_is_not_known_stays_in_its_place
    );

    fn blanks_and_comments_between_words_say_nothing() {
        let plain = Form::of("ld.global.nc.v2.f32");
        assert_eq!(plain, Form::of("ld . global/* far */.nc\n.v2 // wide\n.f32"));
        assert_eq!((plain.opcode, plain.space()), (Opcode::Ld, StateSpace::Global));
        assert_eq!((plain.elements(), plain.last_type()), (Some(2), Some(ScalarType::F32)));
        assert!(plain.has(Qualifier::Nc) && !plain.has(Qualifier::Volatile));
    }

    fn a_word_that_is_not_known_stays_in_its_place() {
        let form = Form::of("add.from_next_year.s32");
        assert_eq!(form.modifiers()[0], Modifier::Unknown);
        assert_eq!(form.modifiers().len(), 2);
        assert_eq!(Form::of("").opcode, Opcode::Unknown);
    }
}
