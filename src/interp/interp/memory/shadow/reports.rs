//! Which races of a launch are reported.

/// Which races are reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// None.
    Nothing,
    /// All.
    All,
    /// Those about the byte at this offset of shared memory.
    Shared(u64),
}

impl Reports {
    /// Whether a race about some bytes of a region, or of shared memory, is reported.
    pub(super) fn wants(self, region: Option<usize>, (offset, bytes): (u64, u32)) -> bool {
        match self {
            Reports::Nothing => false,
            Reports::All => true,
            Reports::Shared(byte) => {
                region.is_none() && (offset..offset + u64::from(bytes)).contains(&byte)
            }
        }
    }
}
