//! A piece as a list of what stands in it, in order, with places: once from the parser's tree, once from pest's pairs.
//!
//! Pairs may reach over the blanks behind them, so places are those of words, of constants, and of the ends that are
//! punctuation marks. The values of constants are not in the list.

use pest::iterators::{Pair, Pairs};
use ptxasw::ptx::piece::Piece;
use ptxasw::ptx::{
    AddressBase, Declarator, Directive, Function, FunctionKind, Initializer, Instruction, Item,
    Module, Name, Operand, StateSpace, Statement, Variable,
};
use ptxasw::source::Span;

use super::Rule;

/// What stands in a piece that was parsed.
pub fn of_piece(text: &str, piece: &Piece<'_>) -> Vec<String> {
    let mut tree = Tree { text, found: Vec::new() };
    match piece {
        Piece::Module(module) => tree.module(module),
        Piece::Body(statements, braces) => {
            statements.iter().for_each(|statement| tree.statement(statement));
            tree.found.extend(braces.iter().map(|brace| format!("brace {}", brace.start)));
        }
        Piece::Data => {}
    }
    tree.found
}

struct Tree<'t> {
    text: &'t str,
    found: Vec<String>,
}

impl Tree<'_> {
    fn add(&mut self, event: impl Into<String>) {
        self.found.push(event.into());
    }

    fn name(&mut self, kind: &str, name: &Name<'_>) {
        self.add(format!("{kind} {} {}", name.text, name.span.start));
    }

    fn constant(&mut self, span: Span) {
        self.add(format!("constant {} {}", &self.text[span.range()], span.start));
    }

    fn module(&mut self, module: &Module<'_>) {
        for item in &module.items {
            match item {
                Item::Function(function) => self.function(function),
                Item::Variable(variable) => {
                    self.add(format!("variable to {}", variable.span.end));
                    self.variable(variable);
                }
                Item::Directive(directive) => self.directive(directive),
            }
        }
        for names in &module.aliases {
            names.iter().for_each(|name| self.name("alias", name));
        }
        self.add(format!("version {:?}", module.version));
        self.add(format!("target {}", module.target.join(" ")));
        self.add(format!("address_size {}", module.address_size.is_some()));
    }

    fn function(&mut self, function: &Function<'_>) {
        self.add(match function.kind {
            FunctionKind::Entry => "entry",
            FunctionKind::Func => "func",
        });
        self.name("function", &function.name);
        self.add(function.linkage.join(" "));
        self.variables("returns", &function.returns);
        self.variables("parameters", &function.params);
        function.directives.iter().for_each(|directive| self.directive(directive));
    }

    fn variables(&mut self, kind: &str, variables: &[Variable<'_>]) {
        for variable in variables {
            self.add(kind);
            self.variable(variable);
        }
    }

    fn variable(&mut self, variable: &Variable<'_>) {
        let Variable { linkage, space, bank, align, vector, ty, pointer, names, .. } = variable;
        self.add(properties(&Properties {
            linkage: linkage.join(" "),
            space: Some(*space),
            has_bank: bank.is_some(),
            is_aligned: align.is_some(),
            vector: *vector,
            ty: ty.map(|ty| ty.name()).unwrap_or_default().to_owned(),
            pointer: pointer.map(|pointer| (pointer.space, pointer.align.is_some())),
        }));
        for Declarator { name, count, dimensions, initializer } in names {
            self.name("declares", name);
            self.add(format!("count {}", count.is_some()));
            let dimensions: Vec<bool> = dimensions.iter().map(Option::is_some).collect();
            self.add(format!("dimensions {dimensions:?}"));
            initializer.iter().for_each(|initializer| self.initializer(initializer));
        }
    }

    fn initializer(&mut self, initializer: &Initializer<'_>) {
        match initializer {
            Initializer::Value(immediate) => self.constant(immediate.span),
            Initializer::List(list) => {
                self.add("list");
                list.iter().for_each(|initializer| self.initializer(initializer));
                self.add("end of list");
            }
            Initializer::Symbol { name, generic, mask, .. } => {
                self.name(&format!("symbol {generic} {}", mask.is_some()), name);
            }
            Initializer::Property { name, value } => self.name(&format!("property {value}"), name),
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::Label(label) => self.name("label", label),
            Statement::Instruction(instruction) => self.instruction(instruction),
            Statement::Variable(variable) => {
                self.add(format!("variable to {}", variable.span.end));
                self.variable(variable);
            }
            Statement::Directive(directive) => self.directive(directive),
            Statement::Block { .. } => self.add("block"),
        }
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        self.add(format!("instruction to {}", instruction.span.end));
        if let Some(guard) = instruction.guard {
            self.name(&format!("guard {}", guard.negated), &guard.register);
        }
        self.name("opcode", &instruction.opcode);
        self.operands(&instruction.operands);
    }

    fn operands(&mut self, operands: &[Operand<'_>]) {
        for operand in operands {
            match operand {
                Operand::Name(name) => self.name("name", name),
                Operand::Not(name) => self.name("complement", name),
                Operand::Negated(name) => self.name("negation", name),
                Operand::Immediate(immediate) => self.constant(immediate.span),
                Operand::Sink(span) => self.add(format!("sink {}", span.start)),
                Operand::Pair(pair) => {
                    self.operands(&pair[..1]);
                    self.add("second");
                    self.operands(&pair[1..]);
                }
                Operand::Vector(all, span) => {
                    self.add(format!("vector {}", span.end));
                    self.operands(all);
                }
                Operand::List(all, span) => {
                    self.add(format!("list {}", span.end));
                    self.operands(all);
                }
                Operand::Offset { name, indexed, .. } => {
                    self.name("name", name);
                    self.add(format!("offset {indexed}"));
                }
                Operand::Address(address) => {
                    self.add(format!("address {}", address.span.end));
                    if let AddressBase::Name(name) = &address.base {
                        self.name("name", name);
                    }
                    self.operands(&address.rest);
                }
            }
        }
    }

    fn directive(&mut self, directive: &Directive<'_>) {
        match directive {
            Directive::Loc(location) => self.add(format!("loc {:?}", location.span)),
            Directive::File { name, .. } => self.add(format!("file {name}")),
            Directive::Performance { name, values, .. } => {
                self.add(format!("performance {name} {}", values.len()));
            }
            Directive::Targets { label, name, targets, span } => {
                self.name(&format!("targets {name} {}", span.end), label);
                targets.iter().for_each(|target| self.name("target", target));
            }
            Directive::Prototype { label, returns, params, span } => {
                self.name(&format!("prototype {}", span.end), label);
                self.variables("returns", returns);
                self.variables("parameters", params);
            }
            Directive::Pragma { strings, span } => {
                self.add(format!("pragma {strings:?} {}", span.end));
            }
            Directive::Other { span, .. } => self.add(format!("other {}", span.start)),
        }
    }
}

/// The properties that all names of a declaration share.
struct Properties {
    linkage: String,
    space: Option<StateSpace>,
    has_bank: bool,
    is_aligned: bool,
    vector: u8,
    ty: String,
    pointer: Option<(StateSpace, bool)>,
}

fn properties(of: &Properties) -> String {
    let Properties { linkage, space, has_bank, is_aligned, vector, ty, pointer } = of;
    format!("{linkage} {space:?} {has_bank} {is_aligned} {vector} {ty} {pointer:?}")
}

/// What stands in a piece that matches an entry rule. The piece begins at a byte of its file.
pub fn of_pairs(base: usize, pairs: Pairs<'_, Rule>) -> Vec<String> {
    let mut matched = Match { base, found: Vec::new(), last: Vec::new() };
    let mut settings = [None, None, None];
    let mut at_module_level = false;
    for entry in pairs {
        at_module_level |= matches!(entry.as_rule(), Rule::item | Rule::definition);
        if entry.as_rule() == Rule::section_body {
            return Vec::new();
        }
        for node in entry.into_inner() {
            match node.as_rule() {
                Rule::version => {
                    let number = node.into_inner().as_str().to_owned();
                    let parts = number.split_once('.').map(|(a, b)| (a.parse(), b.parse()));
                    let number: Option<(u32, u32)> =
                        parts.and_then(|(a, b)| Some((a.ok()?, b.ok()?)));
                    settings[0] = Some(format!("{number:?}"));
                }
                Rule::target => {
                    let words: Vec<_> = node.into_inner().map(|word| word.as_str()).collect();
                    settings[1] = Some(words.join(" "));
                }
                Rule::address_size => settings[2] = Some(true.to_string()),
                _ => matched.statement(node),
            }
        }
    }
    matched.found.append(&mut matched.last);
    if at_module_level {
        let [version, target, size] = settings;
        matched.add(format!("version {}", version.unwrap_or_else(|| "None".to_owned())));
        matched.add(format!("target {}", target.unwrap_or_default()));
        matched.add(format!("address_size {}", size.unwrap_or_else(|| false.to_string())));
    }
    matched.found
}

struct Match {
    base: usize,
    found: Vec<String>,
    /// Events that the tree has at its end.
    last: Vec<String>,
}

type Node<'t> = Pair<'t, Rule>;

fn inner(node: &Node<'_>, rules: &[Rule]) -> Vec<String> {
    let nodes = node.clone().into_inner().filter(|node| rules.contains(&node.as_rule()));
    nodes.map(|node| node.as_str().to_owned()).collect()
}

impl Match {
    fn add(&mut self, event: impl Into<String>) {
        self.found.push(event.into());
    }

    fn start(&self, node: &Node<'_>) -> usize {
        self.base + node.as_span().start()
    }

    fn end(&self, node: &Node<'_>) -> usize {
        self.base + node.as_span().end()
    }

    fn name(&mut self, kind: &str, node: &Node<'_>) {
        let start = self.start(node);
        self.add(format!("{kind} {} {start}", node.as_str()));
    }

    fn statement(&mut self, node: Node<'_>) {
        let (start, end) = (self.start(&node), self.end(&node));
        match node.as_rule() {
            Rule::EOI => {}
            Rule::scope_open | Rule::scope_close => self.last.push(format!("brace {start}")),
            Rule::instruction => self.instruction(node),
            Rule::label => self.label(node),
            Rule::variable => {
                self.add(format!("variable to {end}"));
                self.variable(node);
            }
            Rule::kernel | Rule::device_function => self.function(node),
            Rule::dwarf | Rule::section => self.add(format!("other {start}")),
            Rule::alias => {
                self.add(format!("other {start}"));
                let base = self.base;
                self.last.extend(node.into_inner().map(|name| {
                    format!("alias {} {}", name.as_str(), base + name.as_span().start())
                }));
            }
            _ => self.directive(node),
        }
    }

    fn directive(&mut self, node: Node<'_>) {
        let (start, end) = (self.start(&node), self.end(&node));
        let mut inside = node.clone().into_inner();
        match node.as_rule() {
            Rule::pragma => {
                let strings: Vec<_> = inside.map(|string| unquoted(string.as_str())).collect();
                self.add(format!("pragma {strings:?} {end}"));
            }
            Rule::location => self.add(format!("loc {:?}", Span::new(start, end))),
            Rule::file => {
                let name = inside.nth(1).map(|string| unquoted(string.as_str()));
                self.add(format!("file {}", name.unwrap_or_default()));
            }
            Rule::performance => {
                let name = inside.next().map(|name| name.as_str().to_owned()).unwrap_or_default();
                self.add(format!("performance {} {}", &name[1..], inside.count()));
            }
            rule => self.add(format!("{rule:?}")),
        }
    }

    fn function(&mut self, node: Node<'_>) {
        let kind = if node.as_rule() == Rule::kernel { "entry" } else { "func" };
        self.add(kind);
        let of = |rule| node.clone().into_inner().filter(move |node| node.as_rule() == rule);
        of(Rule::identifier).for_each(|name| self.name("function", &name));
        self.add(inner(&node, &[Rule::linkage, Rule::attribute]).join(" "));
        of(Rule::returns).for_each(|list| self.parameters("returns", list));
        of(Rule::parameters).for_each(|list| self.parameters("parameters", list));
        for node in node.clone().into_inner() {
            if matches!(node.as_rule(), Rule::pragma | Rule::performance) {
                self.directive(node);
            }
        }
    }

    fn parameters(&mut self, kind: &str, list: Node<'_>) {
        for parameter in list.into_inner() {
            self.add(kind);
            self.variable(parameter);
        }
    }

    fn variable(&mut self, node: Node<'_>) {
        let mut of = Properties {
            linkage: inner(&node, &[Rule::linkage, Rule::attribute]).join(" "),
            space: None,
            has_bank: false,
            is_aligned: false,
            vector: 1,
            ty: inner(&node, &[Rule::scalar_type]).concat().trim_start_matches('.').to_owned(),
            pointer: None,
        };
        for part in node.clone().into_inner() {
            match part.as_rule() {
                Rule::space => {
                    let mut words = part.into_inner();
                    of.space = words.next().and_then(|name| StateSpace::of(name.as_str()));
                    of.has_bank = words.next().is_some();
                }
                Rule::alignment => of.is_aligned = true,
                Rule::vector_size => of.vector = part.as_str()[2..].parse().unwrap_or(0),
                Rule::pointer => {
                    let space = part.clone().into_inner().find(|n| n.as_rule() == Rule::space);
                    let word = space.and_then(|space| space.into_inner().next());
                    let space = word.and_then(|word| StateSpace::of(word.as_str()));
                    let is_aligned = !inner(&part, &[Rule::alignment]).is_empty();
                    of.pointer = Some((space.unwrap_or(StateSpace::Generic), is_aligned));
                }
                _ => {}
            }
        }
        self.add(properties(&of));
        for part in node.into_inner().filter(|part| part.as_rule() == Rule::declarator) {
            self.declarator(part);
        }
    }

    fn declarator(&mut self, node: Node<'_>) {
        let mut parts = node.clone().into_inner();
        parts.next().iter().for_each(|name| self.name("declares", name));
        self.add(format!("count {}", !inner(&node, &[Rule::count]).is_empty()));
        let of = |rule| move |node: &Node<'_>| node.as_rule() == rule;
        let dimensions: Vec<bool> = parts
            .clone()
            .filter(of(Rule::dimension))
            .map(|dimension| dimension.into_inner().next().is_some())
            .collect();
        self.add(format!("dimensions {dimensions:?}"));
        self.initializers(
            parts.filter(|node| !matches!(node.as_rule(), Rule::dimension | Rule::count)),
        );
    }

    fn initializers<'t>(&mut self, nodes: impl Iterator<Item = Node<'t>>) {
        for node in nodes {
            match node.as_rule() {
                Rule::expression => self.name("constant", &node),
                Rule::number_row => {
                    let mut at = self.start(&node);
                    for field in node.as_str().split(',') {
                        let blanks = field.len() - field.trim_start().len();
                        self.add(format!("constant {} {}", field.trim(), at + blanks));
                        at += field.len() + 1;
                    }
                }
                Rule::initializer_list => {
                    self.add("list");
                    self.initializers(node.into_inner());
                    self.add("end of list");
                }
                Rule::masked_symbol => {
                    // (The mask stands in front of it.)
                    self.found.pop();
                    node.into_inner().for_each(|symbol| self.symbol(symbol, true));
                }
                Rule::symbol_address => self.symbol(node, false),
                Rule::property => {
                    let mut words = node.into_inner();
                    if let (Some(name), Some(value)) = (words.next(), words.next()) {
                        self.name(&format!("property {}", value.as_str()), &name);
                    }
                }
                rule => self.add(format!("{rule:?}")),
            }
        }
    }

    fn symbol(&mut self, node: Node<'_>, masked: bool) {
        let Some(name) = node.into_inner().next() else { return };
        let generic = name.as_rule() == Rule::generic_symbol;
        let name = if generic { name.into_inner().next() } else { Some(name) };
        name.iter().for_each(|name| self.name(&format!("symbol {generic} {masked}"), name));
    }

    fn label(&mut self, node: Node<'_>) {
        let end = self.end(&node);
        let mut parts = node.into_inner();
        let (Some(label), more) = (parts.next(), parts.next()) else { return };
        let Some(more) = more else { return self.name("label", &label) };
        if more.as_rule() == Rule::prototype {
            self.name(&format!("prototype {end}"), &label);
            let lists: Vec<_> = more.into_inner().collect();
            for (rule, kind) in [(Rule::returns, "returns"), (Rule::parameters, "parameters")] {
                let lists = lists.iter().filter(|list| list.as_rule() == rule);
                lists.for_each(|list| self.parameters(kind, list.clone()));
            }
            return;
        }
        let mut words = more.into_inner();
        let kind = words.next().map(|kind| kind.as_str()[1..].to_owned()).unwrap_or_default();
        self.name(&format!("targets {kind} {end}"), &label);
        for target in words {
            let last = target.clone().into_inner().last();
            let end = last.map_or(0, |last| last.as_span().end() - target.as_span().start());
            let start = self.start(&target);
            self.add(format!("target {} {start}", &target.as_str()[..end]));
        }
    }

    fn instruction(&mut self, node: Node<'_>) {
        let end = self.end(&node);
        self.add(format!("instruction to {end}"));
        let (start, text) = (node.as_span().start(), node.as_str());
        let opcode = |node: &Node<'_>| {
            matches!(node.as_rule(), Rule::opcode | Rule::call_opcode | Rule::split_modifier)
        };
        let words: Vec<_> = node.clone().into_inner().filter(opcode).collect();
        let mut parts = node.into_inner().peekable();
        if let Some(guard) = parts.next_if(|node| node.as_rule() == Rule::guard) {
            let negated = !inner(&guard, &[Rule::not]).is_empty();
            let name = guard.into_inner().last();
            name.iter().for_each(|name| self.name(&format!("guard {negated}"), name));
        }
        if let (Some(first), Some(last)) = (words.first(), words.last()) {
            let span = first.as_span().start() - start..last.as_span().end() - start;
            let place = self.start(first);
            self.add(format!("opcode {} {place}", &text[span]));
        }
        self.operands(parts.filter(|node| !opcode(node)));
    }

    fn operands<'t>(&mut self, nodes: impl Iterator<Item = Node<'t>>) {
        for node in nodes {
            let (start, end) = (self.start(&node), self.end(&node));
            match node.as_rule() {
                Rule::name => self.name("name", &node),
                Rule::complement | Rule::negation => {
                    let is_not = node.as_rule() == Rule::complement;
                    let kind = if is_not { "complement" } else { "negation" };
                    node.into_inner().for_each(|name| self.name(kind, &name));
                }
                Rule::expression => self.name("constant", &node),
                Rule::sink => self.add(format!("sink {start}")),
                Rule::second => {
                    self.add("second");
                    self.operands(node.into_inner());
                }
                Rule::vector | Rule::list => {
                    self.add(format!("{:?} {end}", node.as_rule()));
                    self.operands(node.into_inner());
                }
                Rule::added | Rule::subtracted => self.add("offset false"),
                Rule::index => self.add("offset true"),
                Rule::address => {
                    self.add(format!("address {end}"));
                    // The tree has no place of what makes the offset.
                    let mut parts = node.into_inner().peekable();
                    let base = parts.next();
                    base.iter()
                        .filter(|base| base.as_rule() == Rule::name)
                        .for_each(|base| self.name("name", base));
                    _ = parts.next_if(|n| matches!(n.as_rule(), Rule::added | Rule::subtracted));
                    self.operands(parts);
                }
                rule => self.add(format!("{rule:?}")),
            }
        }
    }
}

fn unquoted(string: &str) -> &str {
    string.get(1..string.len() - 1).unwrap_or_default()
}
