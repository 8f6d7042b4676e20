//! A tree as text that people can compare with the program: one line for each item and statement,
//! with the kind of every operand spelled out.

use std::fmt::Write;

use ptxasw::isa::Words;
use ptxasw::ptx::*;
use ptxasw::source::SourceFile;

/// The number of instructions in a module.
pub fn instructions(module: &Module<'_>) -> usize {
    fn count(statements: &[Statement<'_>]) -> usize {
        statements
            .iter()
            .map(|statement| match statement {
                Statement::Instruction(_) => 1,
                Statement::Block { statements, .. } => count(statements),
                _ => 0,
            })
            .sum()
    }
    module.functions().filter_map(|function| function.statements()).map(count).sum()
}

/// The whole module.
pub fn render(source: &SourceFile, module: &Module<'_>) -> String {
    let mut out = String::new();
    if let Some((major, minor)) = module.version {
        writeln!(out, "version {major} {minor}").unwrap();
    }
    if !module.target.is_empty() {
        writeln!(out, "target {}", module.target.join(" ")).unwrap();
    }
    if let Some(size) = module.address_size {
        writeln!(out, "address_size {size}").unwrap();
    }
    for item in &module.items {
        match item {
            Item::Function(function) => render_function(&mut out, source, function),
            Item::Variable(variable) => writeln!(out, "{}", self::variable(variable)).unwrap(),
            Item::Directive(directive) => writeln!(out, "{}", self::directive(directive)).unwrap(),
        }
    }
    out
}

fn render_function(out: &mut String, source: &SourceFile, function: &Function<'_>) {
    let kind = match function.kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Func => "func",
    };
    let linkage = function.linkage.join(" ");
    writeln!(out, "{kind} {} [{linkage}]", function.name.text).unwrap();
    for parameter in &function.returns {
        writeln!(out, "  returns {}", variable(parameter)).unwrap();
    }
    for parameter in &function.params {
        writeln!(out, "  param {}", variable(parameter)).unwrap();
    }
    for directive in &function.directives {
        writeln!(out, "  {}", self::directive(directive)).unwrap();
    }
    match &function.body {
        Body::Absent => writeln!(out, "  declared").unwrap(),
        Body::Unparsed { .. } => writeln!(out, "  unparsed").unwrap(),
        Body::Parsed { statements, .. } => render_statements(out, source, statements, 1),
    }
}

fn render_statements(
    out: &mut String,
    source: &SourceFile,
    statements: &[Statement<'_>],
    level: usize,
) {
    for statement in statements {
        let indent = "  ".repeat(level);
        match statement {
            Statement::Label(name) => writeln!(out, "{indent}label {}", name.text).unwrap(),
            Statement::Instruction(instruction) => {
                writeln!(out, "{indent}{}", self::instruction(source, instruction)).unwrap();
            }
            Statement::Variable(variable) => {
                writeln!(out, "{indent}{}", self::variable(variable)).unwrap();
            }
            Statement::Block { statements, .. } => {
                writeln!(out, "{indent}block").unwrap();
                render_statements(out, source, statements, level + 1);
            }
            Statement::Directive(directive) => {
                writeln!(out, "{indent}{}", self::directive(directive)).unwrap();
            }
        }
    }
}

fn instruction(source: &SourceFile, instruction: &Instruction<'_>) -> String {
    let mut text = format!("{}: ", source.line(instruction.span.start));
    if let Some(guard) = instruction.guard {
        write!(text, "@{}{} ", if guard.negated { "!" } else { "" }, guard.register.text).unwrap();
    }
    for (index, word) in Words::of(instruction.opcode.text).enumerate() {
        write!(text, "{}{word}", if index == 0 { "" } else { " ." }).unwrap();
    }
    for operand in &instruction.operands {
        write!(text, " | {}", self::operand(operand)).unwrap();
    }
    text
}

fn operand(operand: &Operand<'_>) -> String {
    match operand {
        Operand::Name(name) => name.text.to_owned(),
        Operand::Not(name) => format!("not {}", name.text),
        Operand::Negated(name) => format!("minus {}", name.text),
        Operand::Immediate(immediate) => value(immediate.value),
        Operand::Sink(_) => "sink".to_owned(),
        Operand::Pair(pair) => {
            format!("pair({}, {})", self::operand(&pair[0]), self::operand(&pair[1]))
        }
        Operand::Vector(operands, _) => format!("vector({})", list(operands)),
        Operand::List(operands, _) => format!("list({})", list(operands)),
        Operand::Offset { name, offset, indexed: false } => format!("{} plus {offset}", name.text),
        Operand::Offset { name, offset, indexed: true } => format!("{} at {offset}", name.text),
        Operand::Address(address) => {
            let base = match address.base {
                AddressBase::Name(name) => name.text,
                AddressBase::Absolute => "absolute",
            };
            let rest = if address.rest.is_empty() { "" } else { "; " };
            format!("at({base} plus {}{rest}{})", address.offset, list(&address.rest))
        }
    }
}

fn list(operands: &[Operand<'_>]) -> String {
    operands.iter().map(operand).collect::<Vec<_>>().join(", ")
}

fn value(value: Value) -> String {
    match value {
        Value::Signed(value) => format!("{value}"),
        Value::Unsigned(value) => format!("{value}u"),
        Value::F32(bits) => format!("single {bits:#010x}"),
        Value::F64(bits) => format!("double {bits:#018x}"),
    }
}

fn variable(variable: &Variable<'_>) -> String {
    let mut text = format!("{:?}", variable.space).to_lowercase();
    if !variable.linkage.is_empty() {
        write!(text, " [{}]", variable.linkage.join(" ")).unwrap();
    }
    if let Some(bank) = variable.bank {
        write!(text, " bank {bank}").unwrap();
    }
    if let Some(align) = variable.align {
        write!(text, " align {align}").unwrap();
    }
    if variable.vector != 1 {
        write!(text, " x{}", variable.vector).unwrap();
    }
    write!(text, " {}", variable.ty.map_or("opaque", ScalarType::name)).unwrap();
    if let Some(pointer) = variable.pointer {
        write!(text, " pointer to {:?} align {:?}", pointer.space, pointer.align).unwrap();
    }
    for declarator in &variable.names {
        write!(text, " | {}", declarator.name.text).unwrap();
        if let Some(count) = declarator.count {
            write!(text, " times {count}").unwrap();
        }
        for dimension in &declarator.dimensions {
            match dimension {
                Some(size) => write!(text, " [{size}]").unwrap(),
                None => text.push_str(" []"),
            }
        }
        if let Some(initial) = &declarator.initializer {
            write!(text, " = {}", initializer(initial)).unwrap();
        }
    }
    text
}

fn initializer(initial: &Initializer<'_>) -> String {
    match initial {
        Initializer::Value(immediate) => value(immediate.value),
        Initializer::List(values) => {
            format!("list({})", values.iter().map(initializer).collect::<Vec<_>>().join(", "))
        }
        Initializer::Symbol { name, offset, generic, mask } => {
            let generic = if *generic { "generic " } else { "" };
            let mask = mask.map_or(String::new(), |mask| format!(" masked {mask:#x}"));
            format!("address({generic}{} plus {offset}{mask})", name.text)
        }
        Initializer::Property { name, value } => format!("{} is {value}", name.text),
    }
}

fn directive(directive: &Directive<'_>) -> String {
    match directive {
        Directive::Loc(at) => format!("loc {} {} {}", at.file, at.line, at.column),
        Directive::File { index, name, .. } => format!("file {index} {name:?}"),
        Directive::Performance { name, values, .. } => format!("performance {name} {values:?}"),
        Directive::Targets { label, name, targets, .. } => {
            let targets: Vec<_> = targets.iter().map(|target| target.text).collect();
            format!("targets {} {name} {}", label.text, targets.join(" "))
        }
        Directive::Prototype { label, returns, params, .. } => {
            let list =
                |list: &[Variable<'_>]| list.iter().map(variable).collect::<Vec<_>>().join("; ");
            format!(
                "prototype {} returns ({}) params ({})",
                label.text,
                list(returns),
                list(params)
            )
        }
        Directive::Pragma { strings, .. } => format!("pragma {strings:?}"),
        Directive::Other { name, .. } => format!("other {name}"),
    }
}
