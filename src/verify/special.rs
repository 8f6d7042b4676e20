//! What the judge believes of special registers (PTX ISA, "Special Registers"): which hold one value
//! as long as the thread runs, and which of these are the same for all lanes of a warp.
//!
//! In: a name as it stands in the text, component included. Out: what it is. A name that stands in
//! no row here is *unsteady*: it may have another value at each reading and in each lane.

/// A special register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    /// `WARP_SZ`, a constant.
    WarpSize,
    /// `%tid` in a dimension, 0 to 2.
    Thread(u8),
    /// `%ntid` in a dimension.
    Extent(u8),
    /// `%ctaid` in a dimension.
    Block(u8),
    /// `%nctaid` in a dimension.
    Blocks(u8),
    /// `%laneid`
    Lane,
    /// `%lanemask_eq` and the like: some function of the lane.
    LaneMask,
    /// One value for the warp that does not change, this many bits wide.
    Uniform(u8),
    /// May change between two readings and differ between lanes; this many bits wide.
    Unsteady(u8),
}

/// Registers of 32 bits that never change and are the same for a whole block.
const UNIFORM: &[&str] = &[
    "%nwarpid",
    "%nsmid",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
];

/// The same with the components `.x`, `.y`, `.z`.
const UNIFORM_VECTORS: &[&str] =
    &["%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// Looks a name up.
pub(super) fn special(name: &str) -> Special {
    let (base, component) = name.rsplit_once('.').unwrap_or((name, ""));
    let axis = ["x", "y", "z"].iter().position(|axis| *axis == component).map(|axis| axis as u8);
    match (base, axis) {
        ("%tid", Some(axis)) => return Special::Thread(axis),
        ("%ntid", Some(axis)) => return Special::Extent(axis),
        ("%ctaid", Some(axis)) => return Special::Block(axis),
        ("%nctaid", Some(axis)) => return Special::Blocks(axis),
        (_, Some(_)) if UNIFORM_VECTORS.contains(&base) => return Special::Uniform(32),
        _ => {}
    }
    match name {
        "WARP_SZ" => Special::WarpSize,
        "%laneid" => Special::Lane,
        "%lanemask_eq" | "%lanemask_lt" | "%lanemask_le" | "%lanemask_gt" | "%lanemask_ge" => {
            Special::LaneMask
        }
        "%gridid" | "%current_graph_exec" => Special::Uniform(64),
        _ if UNIFORM.contains(&name) => Special::Uniform(32),
        // Where a warp runs may change while it runs, and what the driver left in `%envreg` is its
        // own affair.
        "%clock" | "%clock_hi" | "%globaltimer_lo" | "%globaltimer_hi" | "%smid" | "%warpid" => {
            Special::Unsteady(32)
        }
        _ => Special::Unsteady(64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_unsteady() {
        let odd = ["%clock", "%clock64", "%globaltimer", "%pm0", "%pm7_64", "%envreg31", "%tid"];
        let more = ["%tid.w", "%laneid.x", "%smid", "%warpid", "%clock.b0", "%from_next_year"];
        for name in odd.iter().chain(&more) {
            assert!(matches!(special(name), Special::Unsteady(_)), "{name}");
        }
        assert_eq!(special("%tid.z"), Special::Thread(2));
        assert_eq!(special("%cluster_ctaid.y"), Special::Uniform(32));
    }
}
