//! Parts of a register as video instructions name them: `%r1.b0`, `%r1.h10` (PTX ISA, "Video
//! Instructions").

/// The bytes (8 bits) or halves (16 bits) that a selector such as `.b0`, `.h10` or `.b7654` names. For
/// the SIMD instructions numbers run on from the first source to the second, so bytes go up to 7 and
/// halves to 3; which of them an instruction allows is for the judges to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selector {
    /// Bits of one part.
    pub bits: u8,
    /// How many parts are named, at most 4.
    pub count: u8,
    /// The numbers of the parts, the lowest one first; the text has them in the opposite order. Only the first `count`
    /// are valid.
    pub parts: [u8; 4],
}

impl Selector {
    /// Reads `b0`, `h10`, ...; `None` for anything else.
    pub fn parse(text: &str) -> Option<Selector> {
        let (kind, digits) = text.as_bytes().split_first()?;
        let (bits, limit, most) = match kind {
            b'b' => (8, b'7', 4),
            b'h' => (16, b'3', 2),
            _ => return None,
        };
        if digits.is_empty() || digits.len() > most {
            return None;
        }
        let mut parts = [0; 4];
        for (part, digit) in parts.iter_mut().zip(digits.iter().rev()) {
            *part = (b'0'..=limit).contains(digit).then(|| digit - b'0')?;
        }
        Some(Selector { bits, count: digits.len() as u8, parts })
    }

    /// The numbers of the parts, the lowest place first.
    pub fn numbers(&self) -> &[u8] {
        &self.parts[..usize::from(self.count)]
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(bytes_and_halves_are_read_from_the_right);

    fn bytes_and_halves_are_read_from_the_right() {
        let parse = |text| Selector::parse(text).map(|s| (s.bits, s.numbers().to_vec()));
        assert_eq!(parse("b0"), Some((8, vec![0])));
        assert_eq!(parse("b7654"), Some((8, vec![4, 5, 6, 7])));
        assert_eq!(parse("h32"), Some((16, vec![2, 3])));
        for wrong in ["", "b", "h", "b8", "h4", "h210", "b01234", "x", "b-1", "bä"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
