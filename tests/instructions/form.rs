//! Instruction forms: lines of the tables, and the tiny kernel that shows what one computes.
//!
//! A line is `opcode destination = source source ...`, optionally followed by ` for X in a b c` any
//! number of times, which stands for one form with each of these words in the place of `$X`. A
//! register is named by its type; `!pred`, `-u32` and `u32.b0` are operands as PTX writes them, `#5`
//! is the constant 5, `{b32,b32}` a vector, `pred|pred` a pair of destinations, `_` a sink.

use std::fmt::Write as _;

/// An instruction form.
#[derive(Clone, Debug)]
pub struct Form {
    /// The line it came from, expanded.
    pub line: String,
    /// The opcode.
    pub opcode: String,
    /// Registers written, in order.
    pub results: Vec<Leaf>,
    /// Registers and constants read, in order.
    pub sources: Vec<Leaf>,
    destination: String,
    operands: Vec<String>,
}

/// A register or constant of a form.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its type as declared; empty for a constant.
    pub ty: String,
    /// Behind the point, for a part of a register.
    pub selector: Option<String>,
    /// Written with a minus sign.
    pub negated: bool,
    /// Written with an exclamation mark.
    pub complemented: bool,
    /// The value of a constant.
    pub constant: Option<u64>,
}

impl Leaf {
    /// Width in bits; a predicate is 1 bit wide, a constant 64.
    pub fn bits(&self) -> u32 {
        width(&self.ty)
    }
}

/// The width of a type by its name: the digits at its end, 1 for a predicate.
pub fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "" => 64,
        "u16x2" | "s16x2" | "f16x2" | "bf16x2" => 32,
        _ => {
            let digits = ty.trim_start_matches(|c: char| !c.is_ascii_digit());
            digits.parse().unwrap_or_else(|_| panic!("`{ty}` is not a type"))
        }
    }
}

/// All forms of a table.
///
/// # Panics
/// On a line that cannot be read.
pub fn forms(table: &str) -> Vec<Form> {
    let lines = table.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.flat_map(expand).map(|line| form(&line)).collect()
}

fn expand(line: &str) -> Vec<String> {
    let mut parts = line.split(" for ");
    let mut lines = vec![parts.next().unwrap_or_default().to_owned()];
    for part in parts {
        let (name, words) = part.split_once(" in ").unwrap_or_else(|| panic!("`{line}`: no `in`"));
        let variable = format!("${}", name.trim());
        lines = lines
            .iter()
            .flat_map(|l| words.split_whitespace().map(|word| l.replace(&variable, word)))
            .collect();
    }
    lines
}

fn form(line: &str) -> Form {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [opcode, destination, "=", operands @ ..] = &words[..] else {
        panic!("`{line}`: expected `opcode destination = sources`")
    };
    let mut form = Form {
        line: words.join(" "),
        opcode: (*opcode).to_owned(),
        results: Vec::new(),
        sources: Vec::new(),
        destination: String::new(),
        operands: Vec::new(),
    };
    form.destination = operand(destination, "%d", &mut form.results);
    for text in operands {
        let written = operand(text, "%s", &mut form.sources);
        form.operands.push(written);
    }
    form
}

/// An operand as PTX; its registers are appended to `leaves`.
fn operand(text: &str, prefix: &str, leaves: &mut Vec<Leaf>) -> String {
    if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        let elements: Vec<String> =
            inner.split(',').map(|element| operand(element, prefix, leaves)).collect();
        return format!("{{{}}}", elements.join(", "));
    }
    if let Some((a, b)) = text.split_once('|') {
        return format!("{}|{}", operand(a, prefix, leaves), operand(b, prefix, leaves));
    }
    if text == "_" {
        return text.to_owned();
    }
    let (sign, rest) = match text.split_at(1) {
        ("!" | "-", rest) => text.split_at(text.len() - rest.len()),
        _ => ("", text),
    };
    let mut leaf = Leaf {
        ty: String::new(),
        selector: None,
        negated: sign == "-",
        complemented: sign == "!",
        constant: None,
    };
    if let Some(constant) = rest.strip_prefix('#') {
        let value = match constant.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => constant.parse::<i64>().map(|v| v as u64),
        };
        leaf.constant = Some(value.unwrap_or_else(|_| panic!("`{text}` is not a constant")));
        leaves.push(leaf);
        return constant.to_owned();
    }
    let (ty, selector) = match rest.split_once('.') {
        Some((ty, selector)) => (ty, Some(selector.to_owned())),
        None => (rest, None),
    };
    leaf.ty = ty.to_owned();
    let suffix = selector.as_ref().map(|s| format!(".{s}")).unwrap_or_default();
    leaf.selector = selector;
    leaves.push(leaf);
    format!("{sign}{prefix}{}{suffix}", leaves.len() - 1)
}

impl Form {
    /// The opcode without modifiers.
    pub fn mnemonic(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|m| m == modifier)
    }

    /// Whether the instruction reads the carry flag: it is one more source, named `carry`.
    pub fn reads_carry(&self) -> bool {
        matches!(self.mnemonic(), "addc" | "subc" | "madc")
    }

    /// Whether it writes the carry flag: one more result.
    pub fn writes_carry(&self) -> bool {
        self.has("cc")
    }

    /// The kernel: sources are parameters `s0`, `s1`, ..., results are stored one behind the other.
    pub fn kernel(&self, name: &str) -> String {
        let mut text = format!(".visible .entry {name}(.param .u64 out, .param .u32 carry");
        for index in 0..self.sources.len() {
            _ = write!(text, ", .param .u64 s{index}");
        }
        text.push_str(")\n{\n    .reg .u64 %out;\n    .reg .u32 %k<4>;\n");
        for (prefix, leaves) in [("s", &self.sources), ("d", &self.results)] {
            for (index, leaf) in leaves.iter().enumerate().filter(|(_, l)| !l.ty.is_empty()) {
                _ = writeln!(text, "    .reg .{} %{prefix}{index};", leaf.ty);
                if leaf.ty == "pred" {
                    _ = writeln!(text, "    .reg .u32 %{prefix}p{index};");
                }
            }
        }
        text.push_str("    ld.param.u64 %out, [out];\n    ld.param.u32 %k0, [carry];\n");
        for (index, leaf) in self.sources.iter().enumerate().filter(|(_, l)| !l.ty.is_empty()) {
            if leaf.ty == "pred" {
                _ = writeln!(text, "    ld.param.u32 %sp{index}, [s{index}];");
                _ = writeln!(text, "    setp.ne.u32 %s{index}, %sp{index}, 0;");
            } else {
                _ = writeln!(text, "    ld.param.b{} %s{index}, [s{index}];", leaf.bits());
            }
        }
        if self.reads_carry() {
            // 1 + (2^32 - 1) carries.
            text.push_str("    add.cc.u32 %k1, %k0, 0xffffffff;\n");
        }
        let operands: Vec<&str> =
            std::iter::once(&self.destination).chain(&self.operands).map(String::as_str).collect();
        _ = writeln!(text, "    {} {};", self.opcode, operands.join(", "));
        for (index, leaf) in self.results.iter().enumerate() {
            let offset = 8 * index;
            if leaf.ty == "pred" {
                _ = writeln!(text, "    selp.u32 %dp{index}, 1, 0, %d{index};");
                _ = writeln!(text, "    st.global.u32 [%out+{offset}], %dp{index};");
            } else {
                _ = writeln!(text, "    st.global.b{} [%out+{offset}], %d{index};", leaf.bits());
            }
        }
        if self.writes_carry() {
            let offset = 8 * self.results.len();
            text.push_str("    addc.u32 %k3, 0, 0;\n");
            _ = writeln!(text, "    st.global.u32 [%out+{offset}], %k3;");
        }
        text.push_str("    ret;\n}\n");
        text
    }
}
