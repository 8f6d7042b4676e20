//! The words that follow an opcode.

use strum::{EnumIter, EnumString, IntoStaticStr};

use super::qualifier::Qualifier;
use super::types::{ScalarType, StateSpace};

/// The shape `mMnNkK` of a matrix product, or `mMnN` of a matrix, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, EnumString, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase", use_phf)]
#[expect(missing_docs, reason = "each variant is the PTX shape of the same name")]
pub enum Shape {
    M8n8k4,
    M8n8k16,
    M8n8k32,
    M8n8k128,
    M16n8k4,
    M16n8k8,
    M16n8k16,
    M16n8k32,
    M16n8k64,
    M16n8k128,
    M16n8k256,
    M16n16k8,
    M16n16k16,
    M32n8k16,
    M8n32k16,
    M8n8,
    M16n8,
    M8n16,
    M16n16,
}

impl Shape {
    /// The spelling.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its three extents; of a single matrix the last is 0.
    pub fn extents(self) -> [usize; 3] {
        let mut numbers = self.name().split(['m', 'n', 'k']).skip(1);
        [(); 3].map(|()| numbers.next().and_then(|digits| digits.parse().ok()).unwrap_or(0))
    }
}

/// One word behind an opcode, without its dot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Modifier {
    /// A type: `f32`.
    Type(ScalarType),
    /// A state space without sub-space: `global`.
    Space(StateSpace),
    /// The shape of a matrix.
    Shape(Shape),
    /// Any other word that the manual has.
    Qualifier(Qualifier),
    /// A word that is not known.
    Unknown,
}

impl Modifier {
    /// Decodes a word.
    pub fn of(word: &str) -> Modifier {
        if let Some(ty) = ScalarType::of(word) {
            Modifier::Type(ty)
        } else if let Ok(qualifier) = word.parse() {
            Modifier::Qualifier(qualifier)
        } else if let Some(space) = StateSpace::of(word).filter(|_| !word.contains(':')) {
            Modifier::Space(space)
        } else {
            word.parse().map_or(Modifier::Unknown, Modifier::Shape)
        }
    }

    /// The spelling without its dot; empty for a word that is not known.
    pub fn name(self) -> &'static str {
        match self {
            Modifier::Type(ty) => ty.name(),
            Modifier::Space(space) => space.name(),
            Modifier::Shape(shape) => shape.name(),
            Modifier::Qualifier(qualifier) => qualifier.name(),
            Modifier::Unknown => "",
        }
    }

    /// The type, if the word is one.
    pub fn ty(self) -> Option<ScalarType> {
        match self {
            Modifier::Type(ty) => Some(ty),
            _ => None,
        }
    }

    /// The state space, if the word is one; of a sub-space the space that it is a part of.
    pub fn space(self) -> Option<StateSpace> {
        match self {
            Modifier::Space(space) => Some(space),
            Modifier::Qualifier(qualifier) => qualifier.space(),
            _ => None,
        }
    }
}

impl From<ScalarType> for Modifier {
    fn from(ty: ScalarType) -> Modifier {
        Modifier::Type(ty)
    }
}

impl From<StateSpace> for Modifier {
    fn from(space: StateSpace) -> Modifier {
        Modifier::Space(space)
    }
}

impl From<Qualifier> for Modifier {
    fn from(qualifier: Qualifier) -> Modifier {
        Modifier::Qualifier(qualifier)
    }
}

#[cfg(feature = "internals")]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    crate::unit_tests!(every_shape_is_read_as_written, sub_spaces_are_of_their_space);

    fn every_shape_is_read_as_written() {
        for shape in Shape::iter() {
            assert_eq!(Modifier::of(shape.name()), Modifier::Shape(shape));
        }
        assert_eq!(Modifier::of("m16n8k4"), Modifier::Shape(Shape::M16n8k4));
        assert_eq!((Shape::M16n8k4.extents(), Shape::M8n8.extents()), ([16, 8, 4], [8, 8, 0]));
        assert_eq!(Modifier::of("m16n8k5"), Modifier::Unknown);
    }

    fn sub_spaces_are_of_their_space() {
        assert_eq!(Modifier::of("shared::cta").space(), Some(StateSpace::Shared));
        assert_eq!(Modifier::of("param::entry").space(), Some(StateSpace::Param));
        assert_eq!(Modifier::of("shared::nowhere"), Modifier::Unknown);
    }
}
