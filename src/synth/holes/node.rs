//! The values of registers while a kernel with holes is executed for one warp: hash-consed nodes, equal if and only if
//! their numbers are.
//!
//! Numbers and addresses are known in every lane. A loaded value is a leaf. A value that depends on a hole is a
//! [`Node::Choice`]: one node for each value that the hole may have at a point. [`Nodes::apply`] folds numbers,
//! distributes over choices, and otherwise keeps an operation in normal form: sums, products and bitwise operations of
//! integers without order, everything else as it was written.

use rustc_hash::FxHashMap;

use super::bag::{Bag, is_pure};
use crate::emulate::on_numbers;
use crate::isa::{Form, Opcode, Qualifier, ScalarType};

/// A value cut to the width of a type.
pub(super) fn cut(value: u64, ty: ScalarType) -> u64 {
    match ty.bits() {
        64.. => value,
        bits => value & ((1 << bits) - 1),
    }
}

/// The number of a node.
pub(super) type Id = u32;

/// The number of a buffer that a pointer points into.
pub(super) type Buffer = u32;

/// The number of a point of a hole.
pub(super) type Point = u32;

/// Nodes that one kernel may take.
const MOST: usize = 1 << 22;

/// The value of a register.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Node {
    /// Nobody has written it.
    Undefined,
    /// A number, at most 64 bits.
    Number(u64),
    /// A place in a buffer.
    Pointer(Buffer, i64),
    /// The initial value in a buffer: offset and bytes.
    Load(Buffer, i64, u8),
    /// An operation without order.
    Bag(Bag, Box<[Id]>),
    /// Any other operation, by the number of its text.
    Tree(u32, Box<[Id]>),
    /// One node for each value at a point of a hole.
    Choice(Point, Box<[Id]>),
}

/// Why something has no node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unsupported {
    /// The instruction is not understood.
    Instruction,
    /// There would be too many nodes.
    TooManyNodes,
}

/// All nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// Whether a node is made of numbers, addresses and choices of them.
    fixed: Vec<bool>,
    numbers: FxHashMap<Node, Id>,
    texts: Vec<String>,
    text_numbers: FxHashMap<String, u32>,
    /// The names of buffers.
    pub buffers: Vec<String>,
    buffer_numbers: FxHashMap<String, Buffer>,
}

impl Default for Nodes {
    fn default() -> Nodes {
        let mut nodes = Nodes {
            nodes: Vec::new(),
            fixed: Vec::new(),
            numbers: FxHashMap::default(),
            texts: Vec::new(),
            text_numbers: FxHashMap::default(),
            buffers: Vec::new(),
            buffer_numbers: FxHashMap::default(),
        };
        nodes.intern(Node::Undefined);
        nodes
    }
}

/// The node of what nobody has written.
pub(super) const UNDEFINED: Id = 0;

impl Nodes {
    /// How many nodes there are.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are more nodes than there may be.
    pub(super) fn too_many(&self) -> bool {
        self.nodes.len() > MOST
    }

    /// A node by its number.
    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    /// The text of an operation.
    pub(super) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// Whether a node is made of numbers, addresses and choices of them.
    pub(super) fn is_fixed(&self, id: Id) -> bool {
        self.fixed[id as usize]
    }

    /// The number that a node is.
    pub(super) fn value(&self, id: Id) -> Option<u64> {
        match self.node(id) {
            Node::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn intern(&mut self, node: Node) -> Id {
        if let Some(&id) = self.numbers.get(&node) {
            return id;
        }
        let id = self.nodes.len() as Id;
        let fixed = match &node {
            Node::Number(_) | Node::Pointer(..) => true,
            Node::Choice(_, options) => options.iter().all(|&option| self.is_fixed(option)),
            _ => false,
        };
        self.nodes.push(node.clone());
        self.fixed.push(fixed);
        self.numbers.insert(node, id);
        id
    }

    /// A number.
    pub(super) fn number(&mut self, value: u64) -> Id {
        self.intern(Node::Number(value))
    }

    /// A buffer by its name.
    pub(super) fn buffer(&mut self, name: &str) -> Buffer {
        if let Some(&number) = self.buffer_numbers.get(name) {
            return number;
        }
        let number = self.buffers.len() as Buffer;
        self.buffers.push(name.to_owned());
        self.buffer_numbers.insert(name.to_owned(), number);
        number
    }

    /// A place in a buffer.
    pub(super) fn pointer(&mut self, buffer: Buffer, offset: i64) -> Id {
        self.intern(Node::Pointer(buffer, offset))
    }

    /// A place in a buffer for people.
    pub(super) fn place(&self, buffer: Buffer, offset: i64, bytes: u8) -> String {
        format!("{}[{}]", self.buffers[buffer as usize], offset / i64::from(bytes.max(1)))
    }

    /// The initial value in a buffer.
    pub(super) fn load(&mut self, buffer: Buffer, offset: i64, bytes: u8) -> Id {
        self.intern(Node::Load(buffer, offset, bytes))
    }

    /// An operation that is kept as it is written.
    pub(super) fn tree(&mut self, text: &str, args: &[Id]) -> Id {
        let number = match self.text_numbers.get(text) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(text.to_owned());
                self.text_numbers.insert(text.to_owned(), number);
                number
            }
        };
        self.intern(Node::Tree(number, args.into()))
    }

    /// A choice; one whose options are all the same is none.
    pub(super) fn choice(&mut self, point: Point, options: &[Id]) -> Id {
        match options {
            [first, rest @ ..] if rest.iter().all(|option| option == first) => *first,
            _ => self.intern(Node::Choice(point, options.into())),
        }
    }

    /// A node under the assumption that a point has a value.
    pub(super) fn under(&mut self, id: Id, point: Point, value: usize) -> Id {
        let Node::Choice(own, options) = self.node(id) else { return id };
        if *own == point {
            return options.get(value).copied().unwrap_or(UNDEFINED);
        }
        let (own, options) = (*own, options.clone());
        let options: Vec<Id> =
            options.iter().map(|&option| self.under(option, point, value)).collect();
        self.choice(own, &options)
    }

    /// The first argument that is a choice for which `wanted` holds: its point and the number of its options.
    fn first_choice(&self, args: &[Id], wanted: impl Fn(Id) -> bool) -> Option<(Point, usize)> {
        args.iter().find_map(|&arg| match self.node(arg) {
            Node::Choice(point, options) if wanted(arg) => Some((*point, options.len())),
            _ => None,
        })
    }

    /// The result of an instruction without effects on its operands.
    ///
    /// # Errors
    /// The instruction is not understood, or there are too many nodes.
    pub(super) fn apply(
        &mut self,
        form: &Form,
        text: &str,
        args: &[Id],
    ) -> Result<Id, Unsupported> {
        if self.too_many() {
            return Err(Unsupported::TooManyNodes);
        }
        if matches!(form.opcode, Opcode::Mov | Opcode::Cvta) {
            return args.first().copied().ok_or(Unsupported::Instruction);
        }
        if !is_pure(form.opcode) {
            return Err(Unsupported::Instruction);
        }
        if let (Opcode::Selp, &[a, b, p]) = (form.opcode, args) {
            match self.value(p) {
                Some(truth) => return Ok(if truth & 1 == 1 { a } else { b }),
                None if a == b => return Ok(a),
                None => {}
            }
        }
        // A choice of numbers is a number under each of its values; so is any other choice among numbers.
        let others_known = |choice: Id| {
            args.iter().all(|&arg| arg == choice || matches!(self.node(arg), Node::Number(_)))
        };
        let choice = self
            .first_choice(args, |arg| self.is_fixed(arg))
            .or_else(|| self.first_choice(args, others_known));
        if let Some((point, count)) = choice {
            let mut options = Vec::with_capacity(count);
            for value in 0..count {
                let own: Vec<Id> = args.iter().map(|&arg| self.under(arg, point, value)).collect();
                options.push(self.apply(form, text, &own)?);
            }
            return Ok(self.choice(point, &options));
        }
        if args.contains(&UNDEFINED) {
            return Ok(UNDEFINED);
        }
        let values: Option<Vec<u64>> = args.iter().map(|&arg| self.value(arg)).collect();
        if let Some(values) = values
            && let Some(result) = on_numbers(form, &values)
        {
            return Ok(self.number(result));
        }
        if let Some(moved) = self.moved(form, args) {
            return Ok(moved);
        }
        self.operation(form, text, args)
    }

    /// An address plus a number.
    fn moved(&mut self, form: &Form, args: &[Id]) -> Option<Id> {
        let sum = |nodes: &mut Nodes, a: Id, b: Id, sign: i64| {
            let (&Node::Pointer(buffer, offset), Some(by)) = (nodes.node(a), nodes.value(b)) else {
                return None;
            };
            let by = match form.last_type()?.bits() {
                32 => i64::from(by as i32),
                _ => by as i64,
            };
            Some(nodes.pointer(buffer, offset.wrapping_add(sign * by)))
        };
        match (form.opcode, args) {
            (Opcode::Add, &[a, b]) => sum(self, a, b, 1).or_else(|| sum(self, b, a, 1)),
            (Opcode::Sub, &[a, b]) => sum(self, a, b, -1),
            (Opcode::Mad, &[a, b, c]) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                let name = if form.has(Qualifier::Wide) { "mul.wide" } else { "mul.lo" };
                let product = Form::of(&format!("{name}{}", form.last_type()?));
                let by = on_numbers(&product, &[a, b])?;
                match *self.node(c) {
                    Node::Pointer(buffer, offset) => {
                        Some(self.pointer(buffer, offset.wrapping_add(by as i64)))
                    }
                    _ => None,
                }
            }
            (Opcode::Cvt, &[a]) if form.types().iter().all(|ty| ty.bits() == 64) => Some(a),
            _ => None,
        }
    }

    /// An operation on loaded values.
    fn operation(&mut self, form: &Form, text: &str, args: &[Id]) -> Result<Id, Unsupported> {
        let ty = form.last_type().ok_or(Unsupported::Instruction)?;
        let plain = form.modifiers().len() == 1;
        let bits = ty.bits() as u8;
        let bag = match form.opcode {
            _ if ty.is_float() || ty == ScalarType::U16x2 || ty == ScalarType::S16x2 => None,
            Opcode::Add if plain => Some(Bag::Add(bits)),
            Opcode::Mul if form.has(Qualifier::Lo) => Some(Bag::Mul(bits)),
            Opcode::Xor => Some(Bag::Xor),
            Opcode::And => Some(Bag::And),
            Opcode::Or => Some(Bag::Or),
            Opcode::Min | Opcode::Max if plain => Some(Bag::Extreme(form.opcode, ty)),
            _ => None,
        };
        if let Some(bag) = bag {
            return Ok(self.bag(bag, args));
        }
        match (form.opcode, args) {
            (Opcode::Mad, &[a, b, c])
                if form.has(Qualifier::Lo) && form.modifiers().len() == 2 && !ty.is_float() =>
            {
                let product = self.bag(Bag::Mul(bits), &[a, b]);
                return Ok(self.bag(Bag::Add(bits), &[product, c]));
            }
            (Opcode::Sub, &[a, b]) if plain && !ty.is_float() => {
                if let Some(number) = self.value(b) {
                    let negative = self.number(cut(number.wrapping_neg(), ty));
                    return Ok(self.bag(Bag::Add(bits), &[a, negative]));
                }
            }
            _ => {}
        }
        let mut args = args.to_vec();
        // The products and sums of floating-point numbers do not depend on the order of two operands.
        let commutes = ty.is_float() && matches!(form.opcode, Opcode::Add | Opcode::Mul);
        if (commutes || form.opcode == Opcode::Fma) && args.len() >= 2 {
            args[..2].sort_unstable();
        }
        Ok(self.tree(text, &args))
    }

    /// An operation without order in normal form: flat, sorted, numbers put together.
    pub(super) fn bag(&mut self, bag: Bag, args: &[Id]) -> Id {
        let mut flat: Vec<Id> = Vec::new();
        let mut constant: Option<u64> = None;
        let mut open: Vec<Id> = args.to_vec();
        while let Some(arg) = open.pop() {
            match self.node(arg) {
                Node::Bag(own, inner) if *own == bag => open.extend(inner.iter()),
                Node::Number(value) => {
                    constant = Some(match constant {
                        None => *value,
                        Some(other) => bag.numbers(other, *value),
                    });
                }
                _ => flat.push(arg),
            }
        }
        flat.sort_unstable();
        match bag {
            Bag::Xor => {
                let mut kept: Vec<Id> = Vec::new();
                for arg in flat {
                    if kept.last() == Some(&arg) {
                        kept.pop();
                    } else {
                        kept.push(arg);
                    }
                }
                flat = kept;
            }
            Bag::And | Bag::Or | Bag::Extreme(..) => flat.dedup(),
            Bag::Add(_) | Bag::Mul(_) => {}
        }
        let neutral = bag.neutral();
        if let Some(constant) = constant {
            if matches!(bag, Bag::Mul(_) | Bag::And) && constant == 0 {
                return self.number(0);
            }
            if Some(constant) != neutral {
                let constant = self.number(constant);
                flat.push(constant);
                flat.sort_unstable();
            }
        }
        match *flat {
            [] => self.number(neutral.unwrap_or(0)),
            [only] => only,
            _ => self.intern(Node::Bag(bag, flat.into())),
        }
    }
}
