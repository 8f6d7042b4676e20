//! Machine code as `nvdisasm -c -gp` prints it: instructions, the line of PTX that each comes from,
//! and where control goes.

use std::collections::BTreeMap;

/// One machine instruction.
#[derive(Debug)]
pub struct Instruction {
    /// The line of the PTX text, from 1; 0 where none is told.
    pub line: usize,
    /// `P0`, `!UP1`.
    pub guard: Option<String>,
    /// With its modifiers.
    pub opcode: String,
    pub operands: String,
    /// Indices of the instructions that may follow, the taken branch first.
    pub next: Vec<usize>,
}

impl Instruction {
    /// The opcode without modifiers.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// The convergence barrier that it names first.
    pub fn barrier(&self) -> Option<&str> {
        let name = self.operands.split(',').next()?.trim();
        name.strip_prefix('B').is_some_and(|n| n.parse::<u32>().is_ok()).then_some(name)
    }

    /// Whether lanes may part here.
    pub fn parts_lanes(&self) -> bool {
        let uniform = |name: &str| name.trim_start_matches('!').starts_with("UP");
        match self.base() {
            "BRX" => self.next.len() > 1,
            // `.U`: the assembler knows that all go one way; `.DIV` and `.CONV` ask whether they do.
            "BRA" => {
                self.next.len() > 1
                    && !["U", "DIV", "CONV"].iter().any(|m| self.opcode.split('.').any(|o| o == *m))
                    && !self.guard.as_deref().is_some_and(uniform)
                    && !self.operands.starts_with('U')
            }
            _ => false,
        }
    }
}

/// One function.
#[derive(Debug, Default)]
pub struct Listing {
    pub instructions: Vec<Instruction>,
    /// Labels and the instructions that they stand before.
    pub labels: BTreeMap<String, usize>,
}

impl Listing {
    /// Reads the listing of a file with one kernel.
    ///
    /// # Errors
    /// A line that is not understood.
    pub fn read(text: &str) -> Result<Listing, String> {
        let mut listing = Listing::default();
        let (mut line, mut inside) = (0, false);
        for row in text.lines() {
            if let Some((_, rest)) =
                row.split_once("//## File").and_then(|(_, r)| r.split_once("line "))
            {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                line = digits.parse().map_err(|_| format!("no line in `{row}`"))?;
            } else if row.starts_with(".text.") {
                inside = true;
            } else if inside && let Some(label) = row.strip_suffix(':') {
                let index = listing.instructions.len();
                listing.labels.insert(label.trim().to_owned(), index);
            } else if inside && row.trim_start().starts_with("/*") {
                listing.instructions.push(instruction(row, line)?);
            }
        }
        let nexts: Result<Vec<_>, _> =
            (0..listing.instructions.len()).map(|index| listing.next(index)).collect();
        for (instruction, next) in listing.instructions.iter_mut().zip(nexts?) {
            instruction.next = next;
        }
        Ok(listing)
    }

    /// The instruction that an operand such as "`(.L_x_3)" names.
    pub fn target(&self, operands: &str) -> Option<usize> {
        let (_, label) = operands.rsplit_once("`(")?;
        self.labels.get(label.trim_end_matches(')')).copied()
    }

    fn next(&self, index: usize) -> Result<Vec<usize>, String> {
        let instruction = &self.instructions[index];
        let operands = &instruction.operands;
        let behind = Some(index + 1).filter(|&next| next < self.instructions.len());
        let goes_on = instruction.guard.as_deref().is_some_and(|guard| guard != "PT");
        let lost = || format!("where does `{} {operands}` go?", instruction.opcode);
        let mut next = Vec::new();
        match instruction.base() {
            "BRA" => {
                next.push(self.target(operands).ok_or_else(lost)?);
                // A predicate may also stand in front of the label.
                if goes_on || !operands.starts_with('`') {
                    next.extend(behind);
                }
            }
            "BRX" | "BRXU" => {
                let (_, list) = operands.split_once("BRANCH_TARGETS ").ok_or_else(lost)?;
                for label in list.split(['"', ',']).map(str::trim).filter(|l| l.starts_with(".L")) {
                    next.push(*self.labels.get(label).ok_or_else(lost)?);
                }
                next.sort_unstable();
                next.dedup();
            }
            "EXIT" | "RET" | "KILL" => {
                if goes_on {
                    next.extend(behind);
                }
            }
            "JMP" | "JMX" | "BRK" | "CONT" => return Err(lost()),
            _ => next.extend(behind),
        }
        Ok(next)
    }
}

/// `/*0090*/  @!P0 BRA `(.L_x_2) ;`
fn instruction(row: &str, line: usize) -> Result<Instruction, String> {
    let (_, text) = row.split_once("*/").ok_or_else(|| format!("no instruction: `{row}`"))?;
    let text = text.trim();
    let text = text.split(" &").next().unwrap_or(text).trim_end_matches(';').trim();
    let (guard, text) = match text.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((guard, rest)) => (Some(guard.to_owned()), rest.trim_start()),
        None => (None, text),
    };
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    let operands = operands.trim().trim_end_matches(';').trim().to_owned();
    Ok(Instruction {
        line,
        guard,
        opcode: opcode.trim_end_matches(';').to_owned(),
        operands,
        next: Vec::new(),
    })
}
