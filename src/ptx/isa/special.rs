//! Special registers by their names (PTX ISA, "Special Registers").

use std::fmt;

/// A dimension of blocks and grids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Axis {
    /// `.x`, in which consecutive threads of a warp lie.
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
}

impl Axis {
    /// All three, in order.
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

    /// For indexing: 0 to 2.
    pub fn index(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        ["x", "y", "z"][self.index()]
    }
}

/// A special register; one that is a vector (`%tid`) by component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "each variant is the special register of the same name")]
pub enum Special {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    Clusterid(Axis),
    Nclusterid(Axis),
    ClusterCtaid(Axis),
    ClusterNctaid(Axis),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    /// `%pm0` to `%pm7`
    Pm(u8),
    /// `%pm0_64` to `%pm7_64`
    Pm64(u8),
    /// `%envreg0` to `%envreg31`
    Envreg(u8),
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    ReservedSmemOffsetBegin,
    ReservedSmemOffsetEnd,
    ReservedSmemOffsetCap,
    /// `%reserved_smem_offset_0` and `_1`
    ReservedSmemOffset(u8),
    CurrentGraphExec,
    /// `WARP_SZ`, a constant.
    WarpSize,
    /// A reserved name with a component or number that it does not have.
    Unknown,
}

/// The meaning of a reserved name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecialName {
    /// One register.
    Scalar(Special),
    /// The vector of three extents; its fourth component is 0.
    Vector([Special; 3]),
    /// The fourth component of such a vector, which is 0.
    Zero,
}

/// The meaning of a name, if it is reserved for a special register.
pub fn special(name: &str) -> Option<SpecialName> {
    use SpecialName::{Scalar, Vector, Zero};
    if name == "WARP_SZ" {
        return Some(Scalar(Special::WarpSize));
    }
    let name = name.strip_prefix('%')?;
    let (base, component) = match name.split_once('.') {
        Some((base, component)) => (base, Some(component)),
        None => (name, None),
    };
    if let Some(extent) = vector(base) {
        return Some(match component {
            None => Vector(Axis::ALL.map(extent)),
            // Components may also be called by the names of colours (PTX ISA, "Vectors").
            Some("x" | "r") => Scalar(extent(Axis::X)),
            Some("y" | "g") => Scalar(extent(Axis::Y)),
            Some("z" | "b") => Scalar(extent(Axis::Z)),
            Some("w" | "a") => Zero,
            Some(_) => Scalar(Special::Unknown),
        });
    }
    let scalar = scalar(base)?;
    Some(Scalar(if component.is_some() { Special::Unknown } else { scalar }))
}

fn vector(base: &str) -> Option<fn(Axis) -> Special> {
    Some(match base {
        "tid" => Special::Tid,
        "ntid" => Special::Ntid,
        "ctaid" => Special::Ctaid,
        "nctaid" => Special::Nctaid,
        "clusterid" => Special::Clusterid,
        "nclusterid" => Special::Nclusterid,
        "cluster_ctaid" => Special::ClusterCtaid,
        "cluster_nctaid" => Special::ClusterNctaid,
        _ => return None,
    })
}

fn scalar(base: &str) -> Option<Special> {
    Some(match base {
        "cluster_ctarank" => Special::ClusterCtarank,
        "cluster_nctarank" => Special::ClusterNctarank,
        "is_explicit_cluster" => Special::IsExplicitCluster,
        "laneid" => Special::Laneid,
        "warpid" => Special::Warpid,
        "nwarpid" => Special::Nwarpid,
        "smid" => Special::Smid,
        "nsmid" => Special::Nsmid,
        "gridid" => Special::Gridid,
        "lanemask_eq" => Special::LanemaskEq,
        "lanemask_le" => Special::LanemaskLe,
        "lanemask_lt" => Special::LanemaskLt,
        "lanemask_ge" => Special::LanemaskGe,
        "lanemask_gt" => Special::LanemaskGt,
        "clock" => Special::Clock,
        "clock_hi" => Special::ClockHi,
        "clock64" => Special::Clock64,
        "globaltimer" => Special::Globaltimer,
        "globaltimer_lo" => Special::GlobaltimerLo,
        "globaltimer_hi" => Special::GlobaltimerHi,
        "total_smem_size" => Special::TotalSmemSize,
        "aggr_smem_size" => Special::AggrSmemSize,
        "dynamic_smem_size" => Special::DynamicSmemSize,
        "reserved_smem_offset_begin" => Special::ReservedSmemOffsetBegin,
        "reserved_smem_offset_end" => Special::ReservedSmemOffsetEnd,
        "reserved_smem_offset_cap" => Special::ReservedSmemOffsetCap,
        "current_graph_exec" => Special::CurrentGraphExec,
        _ => return numbered(base),
    })
}

/// Families of registers that differ by a number.
fn numbered(base: &str) -> Option<Special> {
    let pick = |digits: &str, count: u8, of: fn(u8) -> Special| {
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok().filter(|number| *number < count);
        Some(number.map_or(Special::Unknown, of))
    };
    if let Some(digits) = base.strip_prefix("pm") {
        return match digits.strip_suffix("_64") {
            Some(digits) => pick(digits, 8, Special::Pm64),
            None => pick(digits, 8, Special::Pm),
        };
    }
    if let Some(digits) = base.strip_prefix("envreg") {
        return pick(digits, 32, Special::Envreg);
    }
    pick(base.strip_prefix("reserved_smem_offset_")?, 2, Special::ReservedSmemOffset)
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |f: &mut fmt::Formatter<'_>, base: &str, axis: Axis| {
            write!(f, "%{base}.{}", axis.name())
        };
        f.write_str(match *self {
            Special::Tid(axis) => return with(f, "tid", axis),
            Special::Ntid(axis) => return with(f, "ntid", axis),
            Special::Ctaid(axis) => return with(f, "ctaid", axis),
            Special::Nctaid(axis) => return with(f, "nctaid", axis),
            Special::Clusterid(axis) => return with(f, "clusterid", axis),
            Special::Nclusterid(axis) => return with(f, "nclusterid", axis),
            Special::ClusterCtaid(axis) => return with(f, "cluster_ctaid", axis),
            Special::ClusterNctaid(axis) => return with(f, "cluster_nctaid", axis),
            Special::Pm(number) => return write!(f, "%pm{number}"),
            Special::Pm64(number) => return write!(f, "%pm{number}_64"),
            Special::Envreg(number) => return write!(f, "%envreg{number}"),
            Special::ReservedSmemOffset(number) => {
                return write!(f, "%reserved_smem_offset_{number}");
            }
            Special::ClusterCtarank => "%cluster_ctarank",
            Special::ClusterNctarank => "%cluster_nctarank",
            Special::IsExplicitCluster => "%is_explicit_cluster",
            Special::Laneid => "%laneid",
            Special::Warpid => "%warpid",
            Special::Nwarpid => "%nwarpid",
            Special::Smid => "%smid",
            Special::Nsmid => "%nsmid",
            Special::Gridid => "%gridid",
            Special::LanemaskEq => "%lanemask_eq",
            Special::LanemaskLe => "%lanemask_le",
            Special::LanemaskLt => "%lanemask_lt",
            Special::LanemaskGe => "%lanemask_ge",
            Special::LanemaskGt => "%lanemask_gt",
            Special::Clock => "%clock",
            Special::ClockHi => "%clock_hi",
            Special::Clock64 => "%clock64",
            Special::Globaltimer => "%globaltimer",
            Special::GlobaltimerLo => "%globaltimer_lo",
            Special::GlobaltimerHi => "%globaltimer_hi",
            Special::TotalSmemSize => "%total_smem_size",
            Special::AggrSmemSize => "%aggr_smem_size",
            Special::DynamicSmemSize => "%dynamic_smem_size",
            Special::ReservedSmemOffsetBegin => "%reserved_smem_offset_begin",
            Special::ReservedSmemOffsetEnd => "%reserved_smem_offset_end",
            Special::ReservedSmemOffsetCap => "%reserved_smem_offset_cap",
            Special::CurrentGraphExec => "%current_graph_exec",
            Special::WarpSize => "WARP_SZ",
            Special::Unknown => "%unknown",
        })
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        names_and_registers_belong_together,
        reserved_names_are_no_names_of_registers
    );

    fn names_and_registers_belong_together() {
        for name in ["%tid.x", "%cluster_nctaid.z", "%laneid", "%pm7", "%pm0_64", "%envreg31"] {
            let Some(SpecialName::Scalar(register)) = special(name) else { panic!("{name}") };
            assert_eq!(register.to_string(), name);
        }
        assert_eq!(special("%tid.g"), special("%tid.y"));
        assert_eq!(special("%ntid.w"), Some(SpecialName::Zero));
        assert!(matches!(special("%ctaid"), Some(SpecialName::Vector(_))));
    }

    fn reserved_names_are_no_names_of_registers() {
        for name in ["%laneid.x", "%tid.q", "%pm8", "%envreg32", "%envreg"] {
            assert_eq!(special(name), Some(SpecialName::Scalar(Special::Unknown)), "{name}");
        }
        for name in ["%r1", "%p1", "%pmx", "tid.x", "%envregs", "%rd0"] {
            assert_eq!(special(name), None, "{name}");
        }
    }
}
