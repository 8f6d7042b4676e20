//! Bounds on size: terms, the solver, the validator. Whatever is too large is left unchanged, and reported.

use std::fmt::Write;

use ptxasw::expr::{
    Arena, BinaryOp, Comparison, Evaluator, Exhausted, Facts, FunctionId, MAX_FACTORS,
    MAX_SUMMANDS, Node, Substitution, SymbolId, TermId, within,
};
use ptxasw::pipeline::{self, Options};
use ptxasw::solver::{Answer, Judgement, Names, Solver};
use ptxasw::source::SourceFile;
use ptxasw::verify::{self, Verdict};

/// As long as chains are that must not overflow any stack.
const LONG: u64 = 100_000;

struct Numbers;

impl Names for Numbers {
    fn symbol(&self, symbol: SymbolId) -> String {
        format!("s{}", symbol.0)
    }

    fn function(&self, _: FunctionId) -> &str {
        "f"
    }
}

fn symbol(arena: &mut Arena, number: u32) -> TermId {
    arena.symbol(SymbolId(number), 32)
}

fn value(arena: &Arena, term: TermId) -> u64 {
    Evaluator::new(arena, |symbol, _| u64::from(symbol.0) * 77 + 3).value(term)
}

#[test]
fn squares_are_exponents() {
    let mut arena = Arena::new();
    let mut term = symbol(&mut arena, 5);
    let mut expected = value(&arena, term) as u32;
    for _ in 0..200 {
        term = arena.mul(term, term);
        expected = expected.wrapping_mul(expected);
        assert_eq!(value(&arena, term), u64::from(expected));
    }
    // One term each, and an exponent that does not fit into 64 bits is an operation like any other.
    assert!(arena.len() < 500, "{} terms", arena.len());
    assert!(matches!(arena.node(term), Node::Binary(BinaryOp::Multiply, ..) | Node::Product(_)));
}

#[test]
fn sums_and_products_are_bounded() {
    let mut arena = Arena::new();
    let build = |arena: &mut Arena| {
        let (mut sum, mut product) = (symbol(arena, 0), symbol(arena, 0));
        let (mut total, mut all) = (value(arena, sum) as u32, value(arena, sum) as u32);
        for number in 1..2000 {
            let next = symbol(arena, number);
            let own = value(arena, next) as u32;
            sum = arena.add(sum, next);
            product = arena.mul(product, next);
            (total, all) = (total.wrapping_add(own), all.wrapping_mul(own));
        }
        assert_eq!(value(arena, sum), u64::from(total));
        assert_eq!(value(arena, product), u64::from(all));
        (sum, product)
    };
    let first = build(&mut arena);
    let terms = arena.len();
    // The same operations on the same operands are the same terms.
    assert_eq!(build(&mut arena), first);
    assert_eq!(arena.len(), terms);
    for term in arena.terms() {
        match arena.node(term) {
            Node::Sum { addends, .. } => assert!(addends.len() <= MAX_SUMMANDS),
            Node::Product(factors) => assert!(factors.len() <= MAX_FACTORS),
            _ => {}
        }
    }
    // The stored operands rise with the number of operations, not with its square.
    let kept: usize = arena.terms().map(|term| arena.operands(term).len()).sum();
    assert!(kept < 200 * 2000, "{kept} operands");
    // The constant of a large sum is still in sight.
    let more = arena.add_constant(first.0, 12);
    assert_eq!(arena.constant_difference(more, first.0), Some(12));
}

/// `x = x * n + t`, which multiplied out has as many summands and factors as steps were taken.
#[test]
fn polynomials_cost_what_they_are_long() {
    let mut arena = Arena::new();
    let (mut x, n, t) = (symbol(&mut arena, 0), symbol(&mut arena, 1), symbol(&mut arena, 2));
    for _ in 0..LONG {
        let product = arena.mul(x, n);
        x = arena.add(product, t);
    }
    assert!(arena.spent() < 400 * LONG, "{} steps", arena.spent());
    assert!(arena.tree_size(x) > 100_000);
}

#[test]
fn deep_terms_overflow_no_stack() {
    let mut arena = Arena::new();
    let mut x = symbol(&mut arena, 0);
    let mut all = arena.boolean(true);
    for number in 1..LONG {
        let constant = arena.constant(number, 32);
        let turned = arena.xor(x, constant);
        x = arena.add(x, turned);
        let bound = arena.constant(number * 7, 32);
        let less = arena.compare(Comparison::SignedLess, x, bound);
        all = if number % 3 == 0 { arena.or(all, less) } else { arena.and(all, less) };
        let chosen = arena.if_then_else(less, constant, x);
        x = if number % 5 == 0 { chosen } else { x };
    }
    let mut plain = 3u32;
    let mut holds = true;
    for number in 1..LONG as u32 {
        plain = plain.wrapping_add(plain ^ number);
        let less = (plain as i32) < (number.wrapping_mul(7) as i32);
        holds = if number % 3 == 0 { holds || less } else { holds && less };
        plain = if number % 5 == 0 && less { number } else { plain };
    }
    assert_eq!(value(&arena, x), u64::from(plain));
    assert_eq!(value(&arena, all), u64::from(holds));
    let moved =
        Substitution::new().apply(&mut arena, x, &mut |arena, _, term| arena.add_constant(term, 1));
    assert_ne!(moved, x);
    let low = arena.extract(x, 0, 16);
    let wide = arena.sign_extend(x, 64);
    assert_eq!(value(&arena, low), u64::from(plain & 0xffff));
    assert_eq!(value(&arena, wide), i64::from(plain as i32) as u64);
    let mut facts = Facts::default();
    facts.add(&arena, all);
    let not = arena.not(all);
    assert!(!facts.contain(&arena, not));
    // Refuted by evaluation, and too large for the solver.
    let mut solver = Solver::new(1000, None);
    let zero = arena.constant(0, 32);
    assert_eq!(solver.prove_equal(&arena, &Numbers, (x, zero), &[]), Answer::Refuted);
    assert_eq!(solver.judge(&arena, &Numbers, (x, zero), &[], &[]), Judgement::Unknown);
    assert_eq!(solver.queries(), 0);
}

#[test]
fn a_limit_ends_the_work() {
    let mut arena = Arena::with_limit(10_000);
    let end = within(|| {
        let mut x = symbol(&mut arena, 0);
        for number in 1.. {
            let next = symbol(&mut arena, number);
            x = arena.mul(x, next);
        }
        x
    });
    assert_eq!(end, Err(Exhausted));
    assert!(arena.len() < 10_000);
}

/// A claim that takes z3 long, that a number has no divisors, and the assumptions on them.
fn hard(arena: &mut Arena, number: u32) -> ((TermId, TermId), [TermId; 2]) {
    let one = arena.constant(1, 32);
    let mut factor = |number| {
        let factor = arena.symbol(SymbolId(number), 32);
        let above = arena.compare(Comparison::UnsignedLess, one, factor);
        (arena.zero_extend(factor, 64), above)
    };
    let ((a, first), (b, second)) = (factor(number), factor(number + 1));
    let product = arena.mul(a, b);
    // The largest prime below 2^61 and numbers near it.
    let prime = arena.constant((1 << 61) - 1 + 2 * u64::from(number), 64);
    let equal = arena.equal(product, prime);
    ((equal, arena.boolean(false)), [first, second])
}

#[test]
fn solver_work_is_bounded_for_a_function() {
    let mut arena = Arena::new();
    let claims: Vec<_> = (0..20).map(|number| hard(&mut arena, 2 * number)).collect();
    let mut solver = Solver::new(20_000, None).with_budget(50_000);
    let answers: Vec<Answer> = claims
        .iter()
        .map(|(claim, known)| solver.prove_equal(&arena, &Numbers, *claim, known))
        .collect();
    assert_eq!(answers.last(), Some(&Answer::OverBudget), "{answers:?}");
    assert!(solver.unasked() > 0 && solver.queries() < 20);
    // Also where each claim may take as much as the one before.
    let mut solver = Solver::new(20_000, None).with_budget(50_000);
    for (claim, known) in &claims {
        let judged = solver.judge(&arena, &Numbers, *claim, known, &[]);
        assert_eq!(judged, Judgement::Unknown);
    }
    assert!(solver.unasked() > 0 && solver.queries() < 20);
    assert_eq!(solver.units_left(), 0);
}

/// Stores whose equality nothing but the solver could show, and does not.
fn hard_stores(count: usize, swapped: bool) -> SourceFile {
    let mut text = String::from(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 a, .param .u64 n)\n{\n.reg .b64 %rd<99>;\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [n]; cvta.to.global.u64 %rd1, %rd1;\n",
    );
    for number in 0..count {
        // (x ^ y) * (x | y) two ways, which a bit-blaster does not see.
        let (first, second) = if swapped { ("%rd4", "%rd5") } else { ("%rd5", "%rd4") };
        let _ = writeln!(
            text,
            "ld.global.u64 %rd3, [%rd1+{0}]; xor.b64 %rd4, %rd2, %rd3; and.b64 %rd5, %rd3, %rd2; \
             add.s64 %rd5, %rd5, %rd4; or.b64 %rd6, %rd2, %rd3; \
             mul.hi.u64 %rd7, {first}, %rd6; mul.hi.u64 %rd8, {second}, %rd6; \
             add.s64 %rd7, %rd7, %rd8; rem.u64 %rd7, %rd7, {first}; st.global.u64 [%rd1+{0}], %rd7;",
            8 * number
        );
    }
    text += "ret;\n}\n";
    SourceFile::new("stores", text)
}

#[test]
fn verification_has_a_budget() {
    let (one, other) = (hard_stores(24, false), hard_stores(24, true));
    let options = verify::Options {
        solver_limit: 10_000,
        solver_budget: 30_000,
        ..verify::Options::default()
    };
    let judged = verify::verify(&one, &other, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(judged.verdict, Verdict::Unknown);
    let problems = &judged.functions[0].problems;
    assert!(problems.iter().any(|one| one.reason.contains("budget")), "{problems:#?}");
    let few = verify::Options { steps: 2_000, ..verify::Options::default() };
    let judged = verify::verify(&one, &other, &few).unwrap_or_else(|e| panic!("{e}"));
    assert!(judged.functions[0].problems[0].reason.starts_with("budget"));
}

/// More loads than are replaced in one function: the others are kept, for that reason.
#[test]
fn what_is_put_into_a_function_is_bounded() {
    let mut body = String::new();
    for number in 0..400 {
        let _ = writeln!(body, "ld.global.f32 %f1, [%rd3+{}];", 4 * number);
    }
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\nld.param.u64 %rd1, [a]; \
         cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; \
         add.s64 %rd3, %rd1, %rd2;\n{body}ret;\n}}\n"
    );
    let source = SourceFile::new("loads", text);
    let report = pipeline::rewrite(&source, &Options::paper()).unwrap_or_else(|e| panic!("{e}"));
    let kernel = &report.report.kernels[0];
    assert_eq!(kernel.shuffles, Options::paper().select.most);
    let left = kernel.loads.last().and_then(|load| load.reason.clone()).unwrap_or_default();
    assert!(left.starts_with("budget: 256 loads"), "{left}");
}

/// Products that differ only with all their gates: the query leaves them out, and costs less than these gates alone
/// would.
#[test]
fn products_of_many_gates_are_not_looked_into() {
    let mut arena = Arena::new();
    let by = symbol(&mut arena, 9);
    let by = arena.zero_extend(by, 64);
    let (mut whole, mut parts) = (arena.constant(0, 64), arena.constant(0, 64));
    for number in 0..2 {
        // x^2, and the same of the two parts that a mask makes of x.
        let x = arena.symbol(SymbolId(number), 64);
        let bits = 0x4164_5269_4c6e_9805 << number;
        let (mask, others) = (arena.constant(bits, 64), arena.constant(!bits, 64));
        let (low, high) = (arena.and(x, mask), arena.and(x, others));
        let [square, first, second, mixed] =
            [(x, x), (low, low), (high, high), (low, high)].map(|(a, b)| arena.mul(a, b));
        let twice = arena.scale(mixed, 2);
        let sum = arena.add(first, second);
        let sum = arena.add(sum, twice);
        let (square, sum) = (arena.mul(square, by), arena.mul(sum, by));
        whole = arena.add(whole, square);
        parts = arena.add(parts, sum);
    }
    let mut solver = Solver::new(200_000, None).with_budget(1_000_000);
    let answer = solver.prove_equal(&arena, &Numbers, (whole, parts), &[]);
    assert_ne!(answer, Answer::Proved);
    assert_eq!(solver.queries(), 1);
    let spent = 1_000_000 - solver.units_left();
    assert!(spent <= 40_000, "{answer:?} after {spent} units");
}
