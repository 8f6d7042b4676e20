//! The launch of a random kernel: its parameters, and buffers with room for every index.

use serde_json::{Map, Value, json};

use super::kernel::Kernel;
use super::writer::Writer;

/// A parameter.
pub struct Parameter {
    pub name: &'static str,
    /// How the register is known that holds the pointer as a global address.
    pub global: &'static str,
    pub bits: u32,
}

const fn pointer(name: &'static str, global: &'static str) -> Parameter {
    Parameter { name, global, bits: 64 }
}

const fn number(name: &'static str) -> Parameter {
    Parameter { name, global: "", bits: 32 }
}

/// All parameters, in order; a kernel has those that it uses.
pub const PARAMETERS: [Parameter; 15] = [
    pointer("a", "global a"),
    pointer("b", "global b"),
    pointer("own", "global own"),
    pointer("pub", "global pub"),
    pointer("out", "global out"),
    pointer("far0", "global far0"),
    pointer("far1", "global far1"),
    pointer("col", "global col"),
    pointer("tight", "global tight"),
    pointer("fields", "global fields"),
    number("n"),
    number("w"),
    number("wrap_u"),
    number("wrap_s"),
    number("which"),
];

/// The launch file of a kernel that was written.
///
/// The interpreter lays buffers out 2^36 bytes apart in the order of their names. With units of 16
/// bytes an unsigned index that wraps around, and with units of 32 bytes a signed one, moves by
/// that much: from `far1` to `far0`, or from `far2` to `far0`.
pub fn launch(kernel: &Kernel, writer: &Writer<'_>) -> String {
    let mut buffers = Map::new();
    let mut arguments = Vec::new();
    let uses = |name: &str| writer.parameters.contains(name);
    for parameter in PARAMETERS.iter().filter(|p| uses(p.name)) {
        let name = parameter.name;
        arguments.push(match name {
            "n" => json!({"type": "u32", "value": kernel.n}),
            "w" => json!({"type": "u32", "value": kernel.width()}),
            "wrap_u" => json!({"type": "u32", "value": 0u32.wrapping_sub(kernel.far)}),
            "wrap_s" => json!({"type": "u32", "value": (1u32 << 31) - kernel.far}),
            "which" => json!({"type": "u32", "value": kernel.seed & 1}),
            "tight" => json!({"buffer": name, "offset": before_tight(kernel, writer)}),
            // Each thread's part begins at the pointer.
            "col" => json!({"buffer": name, "offset": 0}),
            _ => {
                let half = half(writer, name);
                json!({"buffer": name, "offset": half})
            }
        });
    }
    for (index, name) in BUFFERS.into_iter().enumerate() {
        let far = name.starts_with("far") && (uses("far0") || uses("far1"));
        if uses(name) || far {
            let sides = if name == "col" { 1 } else { 2 };
            let words = sides * half(writer, name) / 4;
            let random = json!({"type": "u32", "len": words, "fill": "random", "seed": kernel.seed + index as u64});
            let zero = json!({"type": "u32", "len": words, "fill": 0});
            buffers.insert(name.to_owned(), if name == "out" { zero } else { random });
        }
    }
    if uses("tight") {
        let bytes = before_tight(kernel, writer) + writer.tight.1;
        buffers.insert(
            "tight".to_owned(),
            json!({"type": "u8", "len": bytes, "fill": "random", "seed": kernel.seed + 11}),
        );
    }
    let file = json!({
        "kernel": format!("random_{}", kernel.seed),
        "grid": kernel.grid,
        "block": kernel.block,
        "limit": LIMIT,
        "buffers": Value::Object(buffers),
        "args": arguments,
    });
    format!("{file:#}\n")
}

/// The buffers whose pointers point to their middle or beginning.
const BUFFERS: [&str; 10] =
    ["a", "b", "far0", "far1", "far2", "own", "out", "pub", "col", "fields"];

/// Bytes in front of the pointer to the tight input.
fn before_tight(kernel: &Kernel, writer: &Writer<'_>) -> i64 {
    let before = u64::try_from(-writer.tight.0).unwrap_or_default().next_multiple_of(16);
    before as i64 + i64::from(kernel.shift)
}

/// Instructions of a launch after which it is given up: far more than any kernel has.
const LIMIT: u64 = 4_000_000;

/// Bytes on each side of a buffer's pointer, a multiple of 32.
fn half(writer: &Writer<'_>, name: &str) -> u64 {
    let name = if name.starts_with("far") { "far0" } else { name };
    (writer.extents.get(name).copied().unwrap_or_default() + 64).next_multiple_of(32)
}
