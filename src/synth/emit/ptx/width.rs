//! The width of elements.

/// 32 or 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl Width {
    /// In bits.
    pub fn bits(self) -> usize {
        match self {
            Width::B32 => 32,
            Width::B64 => 64,
        }
    }

    /// In bytes.
    pub fn bytes(self) -> usize {
        self.bits() / 8
    }
}
