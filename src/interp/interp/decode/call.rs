//! `call` (PTX ISA, "Control Flow Instructions: call").

use super::decoder::Decoder;
use super::inst::Inst;
use super::scope::Symbol;
use crate::interp::fault::Fault;
use crate::interp::program::{Call, Callee, Formal, Op};
use crate::interp::registers::File;
use crate::isa::Qualifier;
use crate::ptx::{Operand, Value};

/// `call{.uni} (results), callee, (arguments), prototype`.
pub(crate) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Uni);
    inst.finish()?;
    let mut operands = inst.operands();
    let mut results = Vec::new();
    if let [Operand::List(items, _), rest @ ..] = operands {
        results = formals(cx, inst, items)?;
        operands = rest;
    }
    let [Operand::Name(name), rest @ ..] = operands else {
        return Err(inst.unsupported("this operand is neither a function nor a register"));
    };
    let args = match rest {
        [Operand::List(items, _), ..] => formals(cx, inst, items)?,
        _ => Vec::new(),
    };
    let callee = match cx.lookup(*name)? {
        Symbol::Function(id) => Callee::Direct(id),
        Symbol::Register(register) if register.file == File::W64 => Callee::Indirect(register.slot),
        _ => return Err(inst.unsupported(format!("`{}` cannot be called", name.text))),
    };
    cx.emit(Op::Call(Box::new(Call { callee, args, results })));
    Ok(())
}

fn formals<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    items: &'m [Operand<'s>],
) -> Result<Vec<Formal>, Fault> {
    let mut formals = Vec::new();
    for item in items {
        let formal = match item {
            Operand::Name(name) => {
                formals.extend(cx.formal(*name)?);
                continue;
            }
            // The caller does not want the result.
            Operand::Sink(_) => Formal::Register(File::W64, cx.scratch(File::W64)),
            Operand::Immediate(immediate) => {
                // A number has no width of its own; a narrow parameter takes the low bits.
                let bits = match immediate.value {
                    Value::Signed(v) => v as u64,
                    Value::Unsigned(v) | Value::F64(v) => v,
                    Value::F32(v) => u64::from(v),
                };
                Formal::Register(File::W64, cx.immediate(File::W64, bits))
            }
            _ => return Err(inst.unsupported("this operand cannot be passed to a function")),
        };
        formals.push(formal);
    }
    Ok(formals)
}
