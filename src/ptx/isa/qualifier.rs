//! Modifiers that are neither types nor state spaces.

use std::fmt;

use strum::{EnumIter, EnumString, IntoStaticStr};

use super::types::StateSpace;

/// A modifier by its name. One word may mean different things behind different opcodes: `.lo` is the
/// low half of a product and an unsigned comparison.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, EnumString, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case", use_phf)]
#[expect(missing_docs, reason = "each variant is the PTX modifier of the same name")]
pub enum Qualifier {
    // Sub-spaces.
    #[strum(serialize = "shared::cta")]
    SharedCta,
    #[strum(serialize = "shared::cluster")]
    SharedCluster,
    #[strum(serialize = "param::entry")]
    ParamEntry,
    #[strum(serialize = "param::func")]
    ParamFunc,
    // Arithmetic.
    Hi,
    Lo,
    Wide,
    Sat,
    Satfinite,
    Cc,
    Ftz,
    Noftz,
    Approx,
    Full,
    Relu,
    /// `.NaN`: a NaN goes through `min` and `max`.
    #[strum(serialize = "NaN")]
    PropagateNan,
    Xorsign,
    Oob,
    // Rounding.
    Rn,
    Rna,
    Rz,
    Rm,
    Rp,
    Rs,
    Rni,
    Rzi,
    Rmi,
    Rpi,
    // Comparisons.
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Ls,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    /// `.nan`: the comparison holds if one of the two numbers is NaN.
    Nan,
    // Classes of numbers.
    Finite,
    Infinite,
    Number,
    #[strum(serialize = "notanumber")]
    NotANumber,
    Normal,
    Subnormal,
    // Operations of reductions, atomics, combining comparisons.
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Exch,
    Cas,
    Popc,
    Abs,
    // Shifts, fields, permutations, video.
    L,
    R,
    Clamp,
    Wrap,
    Shiftamt,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
    Po,
    Shr7,
    Shr15,
    // Vectors and counts.
    V2,
    V4,
    V8,
    X1,
    X2,
    X4,
    X8,
    X16,
    X32,
    X64,
    X128,
    // Conversion.
    To,
    Pack,
    Unpack,
    // Caches and the memory consistency model.
    Nc,
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
    Mmio,
    Cta,
    Gpu,
    Gl,
    Sys,
    Cluster,
    Unified,
    NonCoherent,
    #[strum(serialize = "L1")]
    L1,
    #[strum(serialize = "L2")]
    L2,
    #[strum(serialize = "L1::evict_normal")]
    L1EvictNormal,
    #[strum(serialize = "L1::evict_unchanged")]
    L1EvictUnchanged,
    #[strum(serialize = "L1::evict_first")]
    L1EvictFirst,
    #[strum(serialize = "L1::evict_last")]
    L1EvictLast,
    #[strum(serialize = "L1::no_allocate")]
    L1NoAllocate,
    #[strum(serialize = "L2::evict_normal")]
    L2EvictNormal,
    #[strum(serialize = "L2::evict_unchanged")]
    L2EvictUnchanged,
    #[strum(serialize = "L2::evict_first")]
    L2EvictFirst,
    #[strum(serialize = "L2::evict_last")]
    L2EvictLast,
    #[strum(serialize = "L2::cache_hint")]
    L2CacheHint,
    #[strum(serialize = "L2::64B")]
    L2Bytes64,
    #[strum(serialize = "L2::128B")]
    L2Bytes128,
    #[strum(serialize = "L2::256B")]
    L2Bytes256,
    Fractional,
    Range,
    // Control flow and barriers.
    Uni,
    Idx,
    Sync,
    Aligned,
    Arrive,
    ArriveDrop,
    Red,
    Warp,
    Wait,
    TestWait,
    TryWait,
    PendingCount,
    Init,
    Inval,
    ExpectTx,
    CompleteTx,
    #[strum(serialize = "noComplete")]
    NoComplete,
    Parity,
    Noinc,
    Mbarrier,
    #[strum(serialize = "mbarrier::complete_tx::bytes")]
    MbarrierCompleteTxBytes,
    #[strum(serialize = "mbarrier::arrive::one")]
    MbarrierArriveOne,
    MbarrierInit,
    Proxy,
    Alias,
    LaunchDependents,
    // Exchange between lanes.
    Up,
    Down,
    Bfly,
    All,
    Any,
    Ballot,
    // Asynchronous copies.
    Async,
    Bulk,
    BulkGroup,
    CommitGroup,
    WaitGroup,
    WaitAll,
    Read,
    Reduce,
    Prefetch,
    Tensor,
    #[strum(serialize = "multicast::cluster")]
    MulticastCluster,
    // Matrices.
    Mma,
    MmaAsync,
    Load,
    Store,
    Row,
    Col,
    Trans,
    A,
    B,
    C,
    D,
    Sp,
    B1,
    S2,
    U2,
    S4,
    U4,
    E3m2,
    E2m3,
    E2m1,
    E4m3x2,
    E5m2x2,
    E3m2x2,
    E2m3x2,
    E2m1x2,
    Ue8m0x2,
    #[strum(serialize = "kind::f8f6f4")]
    KindF8f6f4,
    // Words of instructions that no module here models.
    LdReduce,
    Alloc,
    Dealloc,
    Commit,
    Width,
    Height,
    Depth,
    Level,
    Grad,
    Replace,
}

impl Qualifier {
    /// Every comparison, in the manual's order ("Comparison and Selection Instructions").
    pub const COMPARISONS: &[Qualifier] = {
        use Qualifier::*;
        &[Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan]
    };

    /// The spelling without its dot.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The state space that the word names a part of.
    pub(super) fn space(self) -> Option<StateSpace> {
        match self {
            Qualifier::SharedCta | Qualifier::SharedCluster => Some(StateSpace::Shared),
            Qualifier::ParamEntry | Qualifier::ParamFunc => Some(StateSpace::Param),
            _ => None,
        }
    }
}

impl fmt::Display for Qualifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "internals")]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::isa::Modifier;

    crate::unit_tests!(every_name_means_its_qualifier);

    fn every_name_means_its_qualifier() {
        for qualifier in Qualifier::iter() {
            assert_eq!(Modifier::of(qualifier.name()), Modifier::Qualifier(qualifier));
        }
        assert_eq!(Modifier::of("nan"), Modifier::Qualifier(Qualifier::Nan));
        assert_eq!(Modifier::of("NaN"), Modifier::Qualifier(Qualifier::PropagateNan));
        assert_eq!(Modifier::of("expect_tx"), Modifier::Qualifier(Qualifier::ExpectTx));
    }
}
