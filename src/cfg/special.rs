//! Special registers by their names (PTX ISA, "Special Registers"): which names are reserved, and which
//! of the registers are vectors.

use super::resolve::Arg;
use crate::ptx::Value;

/// A special register by its name. Those with three extents are vectors of four, the fourth 0, and
/// their components may also be called by the names of colours (PTX ISA, "Vectors").
pub(super) fn special(name: &str) -> Arg<'_> {
    const EXTENTS: &[[&str; 3]] = &[
        ["%tid.x", "%tid.y", "%tid.z"],
        ["%ntid.x", "%ntid.y", "%ntid.z"],
        ["%ctaid.x", "%ctaid.y", "%ctaid.z"],
        ["%nctaid.x", "%nctaid.y", "%nctaid.z"],
        ["%clusterid.x", "%clusterid.y", "%clusterid.z"],
        ["%nclusterid.x", "%nclusterid.y", "%nclusterid.z"],
        ["%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z"],
        ["%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z"],
    ];
    let (base, component) = name.split_once('.').unwrap_or((name, ""));
    let Some(extents) = EXTENTS.iter().find(|extents| extents[0].strip_suffix(".x") == Some(base))
    else {
        return Arg::Special(name);
    };
    let part = |index: usize| match extents.get(index) {
        Some(part) => Arg::Special(part),
        None => Arg::Constant(Value::Unsigned(0)),
    };
    match component {
        "" => Arg::Vector((0..4).map(part).collect()),
        "x" | "r" => part(0),
        "y" | "g" => part(1),
        "z" | "b" => part(2),
        "w" | "a" => part(3),
        _ => Arg::Special(name),
    }
}

/// Special registers (PTX ISA, "Special Registers") have reserved names.
pub(super) fn is_special(name: &str) -> bool {
    const SPECIAL: &[&str] = &[
        "tid",
        "ntid",
        "laneid",
        "warpid",
        "nwarpid",
        "ctaid",
        "nctaid",
        "smid",
        "nsmid",
        "gridid",
        "is_explicit_cluster",
        "clusterid",
        "nclusterid",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "lanemask_eq",
        "lanemask_le",
        "lanemask_lt",
        "lanemask_ge",
        "lanemask_gt",
        "clock",
        "clock_hi",
        "clock64",
        "globaltimer",
        "globaltimer_lo",
        "globaltimer_hi",
        "total_smem_size",
        "aggr_smem_size",
        "dynamic_smem_size",
        "reserved_smem_offset_begin",
        "reserved_smem_offset_end",
        "reserved_smem_offset_cap",
        "current_graph_exec",
    ];
    let Some(name) = name.strip_prefix('%') else { return name == "WARP_SZ" };
    let base = name.split('.').next().unwrap_or(name);
    let stem = base.trim_end_matches(|c: char| c.is_ascii_digit());
    SPECIAL.contains(&base)
        || matches!(stem, "pm" | "envreg" | "reserved_smem_offset_" | "pm_")
        || base.starts_with("pm") && base.ends_with("_64")
}
