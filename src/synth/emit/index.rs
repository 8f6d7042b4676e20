//! PTX of expressions of one lane: what it divides is never negative.

use rustc_hash::FxHashMap;
use std::fmt::Write as _;

use crate::synth::expr::{Cmp, Expr, Op};

/// Lines of a function, and the registers that they use.
#[derive(Debug, Default)]
pub struct Lines {
    /// The lines.
    pub text: String,
    /// What all registers begin with; nothing stands for a percent sign.
    stem: String,
    registers: u32,
    wide: u32,
    predicates: u32,
    known: FxHashMap<String, String>,
}

impl Lines {
    /// Lines whose registers begin with these words.
    pub fn with_stem(stem: &str) -> Lines {
        Lines { stem: stem.to_owned(), ..Lines::default() }
    }

    fn stem(&self) -> &str {
        if self.stem.is_empty() { "%" } else { &self.stem }
    }

    /// Adds a line.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    /// A register of 32 bits that nothing uses yet.
    pub fn register(&mut self) -> String {
        self.registers += 1;
        format!("{}r{}", self.stem(), self.registers - 1)
    }

    /// A register of 64 bits that nothing uses yet.
    pub fn wide(&mut self) -> String {
        self.wide += 1;
        format!("{}d{}", self.stem(), self.wide - 1)
    }

    /// A predicate that nothing uses yet.
    pub fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("{}p{}", self.stem(), self.predicates - 1)
    }

    /// The declarations of what was used.
    pub fn declarations(&self) -> String {
        let mut text = String::new();
        let stem = self.stem();
        if self.predicates > 0 {
            let _ = writeln!(text, "    .reg .pred {stem}p<{}>;", self.predicates);
        }
        let _ = writeln!(text, "    .reg .b32 {stem}r<{}>;", self.registers.max(1));
        if self.wide > 0 {
            let _ = writeln!(text, "    .reg .b64 {stem}d<{}>;", self.wide);
        }
        text
    }

    /// The result of an instruction, which is computed once.
    pub fn once(&mut self, instruction: &str, operands: &str) -> String {
        let key = format!("{instruction} {operands}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let register = self.register();
        self.line(&format!("{instruction} {register}, {operands};"));
        self.known.insert(key, register.clone());
        register
    }

    /// The value of an expression over names with their registers; a register or a number.
    ///
    /// # Errors
    /// Something in it has no code.
    pub fn value(&mut self, expr: &Expr, names: &[(&str, &str)]) -> Result<String, String> {
        let (op, a, b) = match expr {
            Expr::Number(number) => return Ok(number.to_string()),
            Expr::Name(name) => {
                let known = names.iter().find(|(own, _)| *own == &**name);
                let register = known.map(|(_, register)| (*register).to_owned());
                return register.ok_or_else(|| format!("`{name}` has no register"));
            }
            Expr::Compare(..) => {
                let holds = self.condition(expr, names)?;
                return Ok(self.once("selp.b32", &format!("1, 0, {holds}")));
            }
            Expr::Choose(condition, a, b) => {
                let (a, b) = (self.value(a, names)?, self.value(b, names)?);
                let holds = self.condition(condition, names)?;
                // (Registers are shared between equal instructions, predicates are not.)
                return Ok(self.once("selp.b32", &format!("{a}, {b}, {holds}")));
            }
            Expr::Binary(op, a, b) => (op, self.value(a, names)?, self.value(b, names)?),
        };
        let power = |number: &str| number.parse::<u32>().ok().filter(|n| n.is_power_of_two());
        Ok(match (op, power(&b)) {
            (Op::Mul, Some(n)) => self.once("shl.b32", &format!("{a}, {}", n.trailing_zeros())),
            (Op::Div, Some(n)) => self.once("shr.u32", &format!("{a}, {}", n.trailing_zeros())),
            (Op::Rem, Some(n)) => self.once("and.b32", &format!("{a}, {}", n - 1)),
            (op, _) => {
                let instruction = match op {
                    Op::Add => "add.s32",
                    Op::Sub => "sub.s32",
                    Op::Mul => "mul.lo.s32",
                    Op::Div => "div.u32",
                    Op::Rem => "rem.u32",
                    Op::Xor => "xor.b32",
                    Op::And => "and.b32",
                    Op::Shl => "shl.b32",
                    Op::Shr => "shr.s32",
                    Op::Pow | Op::Log => return Err(format!("`{expr}` has no code")),
                };
                self.once(instruction, &format!("{a}, {b}"))
            }
        })
    }

    /// A predicate for a comparison.
    ///
    /// # Errors
    /// Something in it has no code.
    pub fn condition(&mut self, expr: &Expr, names: &[(&str, &str)]) -> Result<String, String> {
        let Expr::Compare(cmp, a, b) = expr else { return Err(format!("`{expr}` has no code")) };
        let (a, b) = (self.value(a, names)?, self.value(b, names)?);
        let word = match cmp {
            Cmp::Eq => "eq",
            Cmp::Ne => "ne",
            Cmp::Lt => "lt",
            Cmp::Le => "le",
            Cmp::Gt => "gt",
            Cmp::Ge => "ge",
        };
        let predicate = self.predicate();
        self.line(&format!("setp.{word}.s32 {predicate}, {a}, {b};"));
        Ok(predicate)
    }
}
