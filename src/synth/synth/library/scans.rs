//! Scans and reductions of warps and blocks, for any associative operator and any type of whole words.

use super::header::{Header, bare, bracketed};
use super::notes::{Notes, annotated};
use crate::parallel;
use crate::source::SourceFile;
use crate::synth::network::{self, Network, Solution, emit::function};
use crate::synth::scan::emit::{Networks, blocks, solved};

const TEST: &str = "tests/library.rs, warps_and_blocks_scan_and_reduce";

/// Networks of a warp beside the scan and the reduction that blocks are made of.
const NETWORKS: [(&str, &str, &str); 4] = [
    (
        "warp_scan_exclusive",
        include_str!("exclusive.sketch"),
        "The product of the values in front of each lane; lane 0 keeps its own value.",
    ),
    (
        "warp_scan_backward",
        include_str!("backward.sketch"),
        "The product of the values from each lane to the last.",
    ),
    (
        "warp_scan_segmented",
        include_str!("segmented.sketch"),
        "The product of the values from the first lane of a segment, `head`, to each lane.",
    ),
    (
        "warp_scan_segmented_backward",
        include_str!("segmented_backward.sketch"),
        "The product of the values from each lane to the last lane of its segment, `tail`.",
    ),
];

/// The header.
///
/// # Errors A network does not compute its goal, or has no code.
pub(super) fn header() -> Result<Header, String> {
    let networks = Networks::solve()?;
    let of_scan = proof(&networks.scan, "warp_scan")?;
    let of_reduce = proof(&networks.reduce, "warp_reduce")?;
    let blocks = bare(&blocks(&networks)?);
    let (mut text, mut functions) = annotated(&blocks, &|name| known(name, &of_scan, &of_reduce))?;
    text.push_str(
        "\nusing synth::block_prefix;\nusing synth::block_reduce;\nusing synth::block_scan;\nusing synth::warp_reduce;\n\
         using synth::warp_scan;\n",
    );
    let others: Result<Vec<(String, usize)>, String> =
        parallel::map(NETWORKS, network_of_a_warp).into_iter().collect();
    for (code, own) in others? {
        text.push_str(&code);
        functions += own;
    }
    let about = "Scans and reductions of a warp and of a block, for any associative operator and any type of whole words \
                 that can be copied. `op(a, b)` is the product of a and b in this order; it need not commute. Operators \
                 of loops are in operators.cuh.";
    let text = bracketed("scans.cuh", about, &["common.cuh"], &text);
    Ok(Header { file: "scans.cuh", text, functions })
}

/// The function of one network, from its name, its sketch and a description of its purpose.
fn network_of_a_warp((name, sketch, about): (&str, &str, &str)) -> Result<(String, usize), String> {
    let (network, solution) = solved(name, sketch)?;
    let code = function(&network, &solution, name, None)?;
    let formula = statements(name, sketch, &network, &solution);
    let proof = proof(&(network, solution), name)?;
    let notes =
        |_: &str| Some(Notes { formula: formula.clone(), proof: proof.clone(), test: TEST });
    let (code, functions) = annotated(&code, &notes)?;
    Ok((format!("\n// {about}\n{code}"), functions))
}

/// The statements of a network, with the found expressions in the place of holes.
fn statements(name: &str, sketch: &str, network: &Network, solution: &Solution) -> Vec<String> {
    let source = SourceFile::new(name, sketch);
    let found = network::json(&source, network, solution).holes;
    let mut text = sketch.to_owned();
    for (hole, found) in network.holes.iter().zip(found).rev() {
        text.replace_range(hole.span.start as usize..hole.span.end as usize, &found.expression);
    }
    let text = text.replace("relax repeat", "repeat");
    let from = text.lines().skip_while(|line| !line.starts_with("state "));
    let mut lines: Vec<String> =
        from.take_while(|line| !line.starts_with("goal ")).map(str::to_owned).collect();
    if solution.turned {
        lines.push("where the operands of `*` change places".to_owned());
    }
    lines
}

/// Executes a network once more, as code, and returns the statement that this proves.
fn proof((network, solution): &(Network, Solution), name: &str) -> Result<String, String> {
    network::check(network, solution, name)
        .map_err(|why| format!("{name}: the emitted code is wrong: {why}"))?;
    let proves = match network.goal.segmented {
        false => "which is a proof for every associative operator",
        true => {
            "for every associative operator, with every division of up to 8 lanes into segments and some of each greater \
             number"
        }
    };
    Ok(format!(
        "{}: each lane ends with the interval of elements that it shall have, {proves}; as PTX in the interpreter with \
         affine functions, which obey no other law",
        network::extent(network)
    ))
}

/// The notes on the functions of a warp and of a block.
fn known(name: &str, of_scan: &str, of_reduce: &str) -> Option<Notes> {
    let from = |network: &str, what: &str| format!("of the steps within a warp: {what}; {network}");
    let across = "across warps by associativity alone: products of neighbouring intervals";
    let (formula, proof) = match name {
        "warp_scan" => (
            "for s = 0 to 4: t = v of lane l - 2 ** s; v = op(t, v) where l >= 2 ** s",
            of_scan.to_owned(),
        ),
        "warp_reduce" => (
            "for s = 0 to 4: t = v of lane l + 2 ** s; v = op(v, t) where l < lanes - 2 ** s",
            of_reduce.to_owned(),
        ),
        "prefixed" => (
            "one ballot for each accumulator of an operator of conditions alone; else warp_scan",
            from(of_scan, "the operator is proved to be `&&` or `||`; else as warp_scan"),
        ),
        "reduced" => (
            "one `redux` or `vote` for each accumulator of an operator for which there is one, with the state of no \
             elements in lanes from `lanes` on; else warp_reduce",
            from(of_reduce, "the operator is proved to be the instruction's; else as warp_reduce"),
        ),
        "scanned" => (
            "warp_scan of each warp; totals[w] = warp_scan over the last values of warps 0 to w",
            from(of_scan, across),
        ),
        "block_scan" => {
            ("warp 0: scanned; warp w: op(totals[w - 1], scanned)", from(of_scan, across))
        }
        "block_prefix" => (
            "the lane in front in `scanned`, `unit` in lane 0, behind totals[w - 1]",
            from(of_scan, across),
        ),
        "block_reduce" => (
            "warp_reduce over warp_reduce of each warp, of as many lanes and warps as there are",
            from(of_reduce, across),
        ),
        _ => return None,
    };
    Some(Notes::new(formula, proof, TEST))
}
