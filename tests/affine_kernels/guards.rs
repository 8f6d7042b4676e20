//! The run-time checks that a rewrite promises, as they stand in its text: evaluated for one thread,
//! they tell whether the thread would take the shuffled value.

use std::collections::HashMap;

use super::evaluate::Environment;

/// The values of a register that its no-wrap checks let pass, by the register's name: every
/// `add.s32 moved, register, back` with the `setp.ge.u32 ok, moved, count` behind it.
pub fn windows(rewritten: &str) -> HashMap<String, Vec<(u32, u32)>> {
    let mut found: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    let lines: Vec<Vec<&str>> = rewritten
        .lines()
        .map(|line| line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).collect())
        .collect();
    for pair in lines.windows(2) {
        let (["add.s32", moved, register, back], [opcode, _, compared, count, ..]) =
            (&pair[0][..], &pair[1][..])
        else {
            continue;
        };
        let checks = opcode.starts_with("setp.ge") && opcode.ends_with(".u32");
        if moved.starts_with("%ptxasw") && checks && moved == compared {
            let number = |text: &str| text.parse::<i64>().expect("a number in a check") as u32;
            let window = (number(back), number(count));
            found.entry((*register).to_owned()).or_default().push(window);
        }
    }
    found
}

/// Whether a register's value passes all its checks.
pub fn passes(windows: &[(u32, u32)], value: u32) -> bool {
    windows.iter().all(|&(back, count)| value.wrapping_add(back) >= count)
}

/// Whether the lanes of every warp are consecutive in `tid.x`.
pub fn linear(environment: &Environment) -> bool {
    let [x, y, z] = environment.block;
    x % 32 == 0 || y * z == 1
}
