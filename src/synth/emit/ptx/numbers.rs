//! Numbers and conditions over the lanes as instructions.

use super::writer::{Value, Writer};
use crate::synth::emit::domain::at;
use crate::synth::expr::{Cmp, Expr, Op};

impl Writer<'_> {
    /// The lane's number and the coordinates of its axes.
    pub(super) fn coordinates(&mut self) {
        let count = self.lanes.places();
        let mut lane = self.fresh(1);
        self.line(&format!("ld.param.b32 {lane}, [lane_]"));
        if count.is_power_of_two() && count < 32 {
            lane = self.once(1, "and.b32", &format!("{lane}, {}", count - 1));
        } else if count < 32 {
            // Lanes beyond the last do what it does.
            lane = self.once(1, "min.u32", &format!("{lane}, {}", count - 1));
        }
        let mut axes = self.lanes.axes.clone();
        if planted!(Bug::AxesSwapped) {
            axes.reverse();
        }
        for (number, (name, extent)) in axes.iter().enumerate() {
            let below: usize = axes[number + 1..].iter().map(|axis| axis.1).product();
            let mut value = lane.clone();
            if below > 1 {
                value = self.once(1, "div.u32", &format!("{value}, {below}"));
            }
            if number > 0 {
                value = self.once(1, "rem.u32", &format!("{value}, {extent}"));
            }
            self.known.insert(format!("coordinate {name}"), value);
        }
    }

    /// An expression over the lanes as a register or an immediate number.
    pub(super) fn number(&mut self, expr: &Expr) -> Value {
        let (op, a, b) = match expr {
            Expr::Number(number) => return number.to_string(),
            Expr::Name(name) => return self.known[&format!("coordinate {name}")].clone(),
            Expr::Compare(..) => {
                let predicate = self.predicate(expr);
                return self.once(1, "selp.b32", &format!("1, 0, {predicate}"));
            }
            Expr::Choose(c, a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                let predicate = self.predicate(c);
                return self.once(1, "selp.b32", &format!("{a}, {b}, {predicate}"));
            }
            Expr::Binary(op, a, b) => (op, self.number(a), self.number(b)),
        };
        let operation = match op {
            Op::Add => "add.s32",
            Op::Sub => "sub.s32",
            Op::Mul => "mul.lo.s32",
            Op::Div => "div.u32",
            Op::Rem => "rem.u32",
            Op::Xor => "xor.b32",
            Op::And => "and.b32",
            Op::Shl => "shl.b32",
            Op::Shr => "shr.s32",
            // Lowering has refused them; every assembler would.
            Op::Pow => "pow",
            Op::Log => "log",
        };
        self.once(1, operation, &format!("{a}, {b}"))
    }

    /// A condition over the lanes.
    pub(super) fn predicate(&mut self, expr: &Expr) -> Value {
        let truth = |expr: &Expr| match expr {
            Expr::Compare(..) => true,
            Expr::Binary(Op::And, a, b) => {
                matches!(**a, Expr::Compare(..)) && matches!(**b, Expr::Compare(..))
            }
            _ => false,
        };
        match expr {
            Expr::Compare(cmp, a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                let name = match cmp {
                    Cmp::Eq => "eq",
                    Cmp::Ne => "ne",
                    Cmp::Lt => "lt",
                    Cmp::Le => "le",
                    Cmp::Gt => "gt",
                    Cmp::Ge => "ge",
                };
                self.once(2, &format!("setp.{name}.s32"), &format!("{a}, {b}"))
            }
            Expr::Binary(Op::And, a, b) if truth(expr) => {
                let (a, b) = (self.predicate(a), self.predicate(b));
                self.once(2, "and.pred", &format!("{a}, {b}"))
            }
            _ => {
                let number = self.number(expr);
                self.once(2, "setp.ne.s32", &format!("{number}, 0"))
            }
        }
    }

    /// An expression with a loop's place put in, as machines compute it.
    pub(super) fn over_lanes(&self, expr: &Expr, place: &[(String, i64)]) -> Result<Expr, String> {
        let expr = at(expr, place);
        match self.lanes.constant(&expr) {
            Some(number) => Ok(Expr::Number(number)),
            None if planted!(Bug::NegativeDividends) => Ok(expr),
            None => self.lanes.machine(&expr),
        }
    }
}
