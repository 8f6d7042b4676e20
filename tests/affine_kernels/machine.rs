//! Executes the few integer instructions that `emit` writes, for one thread, straight from the text. It gives the value
//! of a register where a check reads it, and shows that `evaluate` and `emit` agree about addresses.

use std::collections::HashMap;

use super::evaluate::Environment;

/// Where an operand's value comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Register(usize),
    Number(u64),
    Special(&'static str),
    Parameter(&'static str),
}

const NAMES: [&str; 16] = [
    "%ctaid.x",
    "%ctaid.y",
    "%ntid.x",
    "%ntid.y",
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%nctaid.x",
    "[a0]",
    "[a1]",
    "[out]",
    "[n]",
    "[w]",
    "[s]",
    "[steps]",
    "",
];

#[derive(Clone, Debug)]
struct Op {
    opcode: String,
    destination: usize,
    sources: Vec<Source>,
}

/// A kernel's instructions.
pub struct Machine {
    registers: HashMap<String, usize>,
    head: Vec<Op>,
    /// From the loop's label (if any) to its first store, loads included.
    body: Vec<Op>,
    /// From there to the branch back.
    tail: Vec<Op>,
}

/// The registers of a thread behind its loads, and the addresses of these.
pub struct State {
    registers: Vec<u64>,
    pub addresses: Vec<u64>,
}

impl Machine {
    pub fn new(ptx: &str) -> Machine {
        let mut machine = Machine {
            registers: HashMap::new(),
            head: Vec::new(),
            body: Vec::new(),
            tail: Vec::new(),
        };
        let mut stored = false;
        for line in ptx.lines().skip_while(|line| *line != "{") {
            let line = line.trim();
            if line == "LOOP:" {
                machine.head = std::mem::take(&mut machine.body);
            }
            stored |= line.starts_with("st.");
            let skipped = ["{", "}", ".", "@", "setp", "or.pred", "st.", "ret"];
            if line.is_empty() || line.ends_with(':') || skipped.iter().any(|s| line.starts_with(s))
            {
                continue;
            }
            let op = machine.op(line);
            if stored { machine.tail.push(op) } else { machine.body.push(op) }
        }
        machine
    }

    fn register(&mut self, name: &str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(next)
    }

    fn source(&mut self, text: &str) -> Source {
        if let Some(name) = NAMES.iter().find(|name| **name == text) {
            return if text.starts_with('%') {
                Source::Special(name)
            } else {
                Source::Parameter(name)
            };
        }
        match text.parse::<i64>() {
            Ok(number) => Source::Number(number as u64),
            Err(_) => Source::Register(self.register(text)),
        }
    }

    fn op(&mut self, line: &str) -> Op {
        let (opcode, operands) = line.trim_end_matches(';').split_once(' ').expect("operands");
        if opcode.starts_with("ld.") && !opcode.starts_with("ld.param") {
            let (_, address) = operands.split_once('[').expect("an address");
            let address = address.trim_end_matches(']');
            let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
            let sources = vec![self.source(base), self.source(offset)];
            return Op { opcode: "ld".to_owned(), destination: 0, sources };
        }
        let mut operands = operands.split(", ");
        let destination = self.register(operands.next().expect("a destination"));
        let sources = operands.map(|text| self.source(text)).collect();
        Op { opcode: opcode.to_owned(), destination, sources }
    }

    /// Runs a thread up to its loads in the environment's iteration.
    pub fn run(&self, environment: &Environment, thread: [u32; 3]) -> State {
        let mut state = State { registers: vec![0; self.registers.len()], addresses: Vec::new() };
        state.execute(&self.head, environment, thread);
        for _ in 0..environment.iteration {
            state.execute(&self.body, environment, thread);
            state.execute(&self.tail, environment, thread);
        }
        state.addresses.clear();
        state.execute(&self.body, environment, thread);
        state
    }

    /// What a register holds in a state.
    pub fn value(&self, state: &State, register: &str) -> Option<u64> {
        self.registers.get(register).map(|&index| state.registers[index])
    }
}

impl State {
    fn execute(&mut self, ops: &[Op], environment: &Environment, thread: [u32; 3]) {
        for op in ops {
            let value = |index: usize| match op.sources[index] {
                Source::Register(register) => self.registers[register],
                Source::Number(number) => number,
                Source::Special(name) => u64::from(special(name, environment, thread)),
                Source::Parameter(name) => parameter(name, environment),
            };
            if op.opcode == "ld" {
                self.addresses.push(value(0).wrapping_add(value(1)));
                continue;
            }
            let low = |index: usize| u64::from(value(index) as u32);
            let signed = |index: usize| i64::from(value(index) as i32) as u64;
            let result = match op.opcode.as_str() {
                "mov.u32" | "ld.param.u32" | "cvt.u64.u32" => low(0),
                "ld.param.u64" | "cvta.to.global.u64" => value(0),
                "cvt.s64.s32" => signed(0),
                "add.s32" => low(0).wrapping_add(low(1)) & 0xffff_ffff,
                "sub.s32" => low(0).wrapping_sub(low(1)) & 0xffff_ffff,
                "or.b32" => low(0) | low(1),
                "neg.s32" => low(0).wrapping_neg() & 0xffff_ffff,
                "shl.b32" => low(0) << low(1) & 0xffff_ffff,
                "mul.lo.s32" => low(0).wrapping_mul(low(1)) & 0xffff_ffff,
                "mad.lo.s32" | "mad.lo.u32" => {
                    low(0).wrapping_mul(low(1)).wrapping_add(low(2)) & 0xffff_ffff
                }
                "mul.wide.s32" => signed(0).wrapping_mul(signed(1)),
                "mul.wide.u32" => low(0) * low(1),
                "mad.wide.s32" => signed(0).wrapping_mul(signed(1)).wrapping_add(value(2)),
                "mad.wide.u32" => (low(0) * low(1)).wrapping_add(value(2)),
                "add.s64" => value(0).wrapping_add(value(1)),
                "sub.s64" => value(0).wrapping_sub(value(1)),
                "or.b64" => value(0) | value(1),
                "neg.s64" => value(0).wrapping_neg(),
                "shl.b64" => value(0) << value(1),
                "mul.lo.s64" => value(0).wrapping_mul(value(1)),
                "mad.lo.s64" => value(0).wrapping_mul(value(1)).wrapping_add(value(2)),
                other => panic!("`{other}` is not known here"),
            };
            self.registers[op.destination] = result;
        }
    }
}

fn special(name: &str, environment: &Environment, thread: [u32; 3]) -> u32 {
    match name {
        "%ctaid.x" => environment.ctaid[0],
        "%ctaid.y" => environment.ctaid[1],
        "%ntid.x" => environment.block[0],
        "%ntid.y" => environment.block[1],
        "%tid.x" => thread[0],
        "%tid.y" => thread[1],
        "%tid.z" => thread[2],
        _ => environment.grid_x,
    }
}

fn parameter(name: &str, environment: &Environment) -> u64 {
    match name {
        "[a0]" => environment.arrays[0],
        "[a1]" => environment.arrays[1],
        "[n]" => u64::from(environment.n),
        "[w]" => u64::from(environment.w),
        "[s]" => u64::from(environment.s),
        _ => 0,
    }
}
