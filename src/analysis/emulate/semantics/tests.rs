//! Families on numbers: the terms that they make of constants, evaluated.

use super::*;
use crate::emulate::symbols::Symbols;
use crate::expr::{Arena, Evaluator};
use crate::isa::Selector;
use crate::ptx::Value;

crate::unit_tests!(
    numbers_go_in_and_come_out,
    the_flag_goes_from_an_addition_to_the_next,
    destinations_say_how_many_results_there_are,
    parts_of_registers_are_taken_and_written,
    a_narrow_register_is_no_operand
);

/// An arena with the tables that the evaluation of an instruction needs.
#[derive(Default)]
struct Bench {
    arena: Arena,
    symbols: Symbols,
}

impl Bench {
    /// The results of an instruction as numbers, and the carry flag behind it.
    fn run(
        &mut self,
        text: &str,
        destination: Destination,
        sources: &[Operand<'_>],
        carry: Option<bool>,
    ) -> Option<(Vec<u64>, Option<u64>)> {
        let form = Form::of(text);
        let carry = carry.map(|carry| self.arena.boolean(carry));
        let mut values = Values {
            arena: &mut self.arena,
            symbols: &mut self.symbols,
            name: text,
            destination,
            sources,
            carry,
        };
        let results = evaluate(&mut values, &form)?;
        let carry = values.carry;
        let mut evaluator = Evaluator::new(&self.arena, |_, _| panic!("there are no symbols"));
        let numbers = results.iter().map(|(term, _)| evaluator.value(*term)).collect();
        Some((numbers, carry.map(|carry| evaluator.value(carry))))
    }

    fn register(&mut self, value: u64, width: u8) -> Operand<'static> {
        Operand::Register(self.arena.constant(value, width))
    }
}

/// The only result of an instruction on constants.
fn of(text: &str, sources: &[u64]) -> Option<u64> {
    let sources: Vec<_> =
        sources.iter().map(|&value| Operand::Constant(Value::Unsigned(value))).collect();
    let (results, _) = Bench::default().run(text, Destination::Register, &sources, None)?;
    results.first().copied()
}

fn numbers_go_in_and_come_out() {
    for (text, sources, result) in [
        ("add.u32", &[0xffff_ffff, 2][..], 1),
        ("sub.sat.s32", &[0x8000_0000, 1], 0x8000_0000),
        ("mul.wide.s32", &[0xffff_ffff, 4], 0xffff_ffff_ffff_fffc),
        ("mad.hi.u32", &[0x8000_0000, 6, 10], 13),
        ("dp4a.u32.u32", &[0x0102_0304, 0x0101_0101, 5], 15),
        ("shf.l.wrap.b32", &[0x8000_0000, 1, 33], 3),
        ("shl.b32", &[1, 32], 0),
        ("lop3.b32", &[0xf0, 0xcc, 0xaa, 0x96], 0xf0 ^ 0xcc ^ 0xaa),
        ("bfe.s32", &[0xf00, 8, 4], 0xffff_ffff),
        ("bfi.b32", &[0xff, 0, 4, 4], 0xf0),
        ("bfind.u32", &[0x10], 4),
        ("fns.b32", &[0b1010, 0, 2], 3),
        ("prmt.b32", &[0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311),
        ("set.lt.u32.s32", &[0xffff_ffff, 0], 0xffff_ffff),
        ("selp.b32", &[1, 2, 0], 2),
        ("slct.u32.s32", &[1, 2, 0xffff_ffff], 2),
        ("cvt.sat.u8.s32", &[0xffff_ff00], 0),
        ("min.s16x2", &[0x0001_ffff, 0xffff_0001], 0xffff_ffff),
        ("vabsdiff.u32.u32.u32", &[3, 5], 2),
    ] {
        assert_eq!(of(text, sources), Some(result), "{text} {sources:x?}");
    }
}

fn the_flag_goes_from_an_addition_to_the_next() {
    let mut bench = Bench::default();
    let sources = [bench.register(0xffff_ffff, 32), bench.register(0, 32)];
    let mut run = |text, carry| bench.run(text, Destination::Register, &sources, carry);
    assert_eq!(run("addc.cc.u32", Some(true)), Some((vec![0], Some(1))));
    assert_eq!(run("addc.cc.u32", Some(false)), Some((vec![0xffff_ffff], Some(0))));
    // The inverse of the borrow.
    assert_eq!(run("subc.u32", Some(false)), Some((vec![0xffff_fffe], Some(0))));
    assert_eq!(run("addc.u32", None), None);
}

fn destinations_say_how_many_results_there_are() {
    let mut bench = Bench::default();
    let whole = [bench.register(0x0002_0001, 32)];
    let parts = bench.run("mov.b32", Destination::Vector(2), &whole, None);
    assert_eq!(parts, Some((vec![1, 2], None)));
    let pair = [Operand::Vector(vec![bench.register(1, 16), bench.register(2, 16)])];
    let packed = bench.run("mov.b32", Destination::Register, &pair, None);
    assert_eq!(packed, Some((vec![0x0002_0001], None)));
    let compared = [bench.register(1, 32), bench.register(2, 32)];
    let both = bench.run("setp.lt.u32", Destination::Pair, &compared, None);
    assert_eq!(both, Some((vec![1, 0], None)));
    // An addition has one result, and no part of a register.
    for destination in [Destination::Pair, Destination::Part(None), Destination::Other] {
        assert_eq!(bench.run("add.u32", destination, &compared, None), None);
    }
}

fn parts_of_registers_are_taken_and_written() {
    let mut bench = Bench::default();
    let whole = bench.arena.constant(0x0403_0201, 32);
    let part =
        |text| Operand::Part(Part { whole, selector: Selector::parse(text), negated: false });
    let sources = [part("b1"), part("b3"), Operand::Register(whole)];
    let into = Destination::Part(Selector::parse("b2"));
    let sum = bench.run("vadd.u32.u32.u32", into, &sources, None);
    assert_eq!(sum, Some((vec![0x0406_0201], None)));
}

fn a_narrow_register_is_no_operand() {
    let mut bench = Bench::default();
    let sources = [bench.register(1, 16), bench.register(1, 32)];
    assert_eq!(bench.run("add.u32", Destination::Register, &sources, None), None);
}
