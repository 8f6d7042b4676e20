//! Who may access an array that a module declares outside of functions.
//!
//! In: the syntax tree of a module, and for each function the variables of the module that it names. Out: for each
//! variable in shared memory the [`Sharing`] that keeps its bytes where they are, if there is one. Other files do not
//! see a name without a linking directive (PTX ISA, "Linking Directives"), so one file shows all accesses.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ptx::{
    Body, Directive, Function, FunctionKind, Initializer, Item, Module, StateSpace, Statement,
    Variable,
};
use crate::reuse::sharing::Sharing;
use crate::source::{SourceFile, Span};

/// For each variable of a module that only its file can name, all that may name it.
#[derive(Debug, Default)]
pub(super) struct Sharers<'s> {
    variables: BTreeMap<&'s str, Named<'s>>,
}

/// The uses of variables' names.
#[derive(Debug, Default)]
struct Named<'s> {
    /// Functions by name, each definition once.
    functions: Vec<User<'s>>,
    /// Another declaration of the name.
    declared: Option<Span>,
    /// An initial value or a directive.
    mentioned: Option<Span>,
}

/// A function that names a variable.
#[derive(Clone, Copy, Debug)]
struct User<'s> {
    name: &'s str,
    kind: FunctionKind,
    /// Whether its body was parsed; if not, the name may stand in a comment.
    is_parsed: bool,
}

impl<'s> Sharers<'s> {
    /// Looks at a module; `named` gives the variables of the module that a function with a parsed body names.
    pub(super) fn new(
        source: &SourceFile,
        module: &Module<'s>,
        named: impl Fn(&Function<'s>) -> Vec<&'s str>,
    ) -> Sharers<'s> {
        let own = module.items.iter().filter_map(|item| match item {
            Item::Variable(variable) if is_of_file(variable) => Some(variable),
            _ => None,
        });
        let names = own.flat_map(|variable| &variable.names).map(|one| one.name.text);
        let mut sharers =
            Sharers { variables: names.map(|name| (name, Named::default())).collect() };
        if sharers.variables.is_empty() {
            return sharers;
        }
        let mut declarations: FxHashMap<&str, u32> = FxHashMap::default();
        for item in &module.items {
            match item {
                Item::Variable(variable) => {
                    for one in &variable.names {
                        let count = declarations.entry(one.name.text).or_default();
                        *count += 1;
                        let known = sharers.variables.get_mut(one.name.text);
                        if let (Some(known), 2..) = (known, *count) {
                            known.declared = Some(variable.span);
                        }
                        sharers.look_at_initializer(one.initializer.as_ref(), variable.span);
                    }
                }
                Item::Function(function) => {
                    if let Some(known) = sharers.variables.get_mut(function.name.text) {
                        known.declared = Some(function.span);
                    }
                    sharers.look_at_function(source, function, &named);
                }
                Item::Directive(directive) => sharers.look_at_directive(source, directive),
            }
        }
        sharers
    }

    fn look_at_initializer(&mut self, initializer: Option<&Initializer<'s>>, span: Span) {
        match initializer {
            Some(Initializer::Symbol { name, .. }) => {
                if let Some(known) = self.variables.get_mut(name.text) {
                    known.mentioned = Some(span);
                }
            }
            Some(Initializer::List(all)) => {
                all.iter().for_each(|one| self.look_at_initializer(Some(one), span));
            }
            _ => {}
        }
    }

    /// Visits the declarations of a body, and adds its names.
    fn look_at_variables(&mut self, statements: &[Statement<'s>], names: &mut Vec<&'s str>) {
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => self.look_at_variables(statements, names),
                Statement::Variable(variable) => variable.names.iter().for_each(|one| {
                    names.push(one.name.text);
                    self.look_at_initializer(one.initializer.as_ref(), variable.span);
                }),
                _ => {}
            }
        }
    }

    fn look_at_function(
        &mut self,
        source: &SourceFile,
        function: &Function<'s>,
        named: &impl Fn(&Function<'s>) -> Vec<&'s str>,
    ) {
        let (name, kind) = (function.name.text, function.kind);
        let is_parsed = !matches!(function.body, Body::Unparsed { .. });
        let user = User { name, kind, is_parsed };
        if is_parsed {
            let mut all = named(function);
            // A name that the function declares itself may hide the module's or not.
            let own = function.params.iter().chain(&function.returns);
            all.extend(own.flat_map(|one| &one.names).map(|one| one.name.text));
            self.look_at_variables(function.statements().unwrap_or_default(), &mut all);
            all.sort_unstable();
            all.dedup();
            for variable in all {
                if let Some(known) = self.variables.get_mut(variable) {
                    known.functions.push(user);
                }
            }
            return;
        }
        let text = source.slice(function.span).as_bytes();
        for (variable, known) in &mut self.variables {
            if memchr::memmem::find(text, variable.as_bytes()).is_some() {
                known.functions.push(user);
            }
        }
    }

    /// A directive that is not for a debugger may have any meaning.
    fn look_at_directive(&mut self, source: &SourceFile, directive: &Directive<'_>) {
        if matches!(directive, Directive::Loc(_) | Directive::File { .. }) {
            return;
        }
        let span = directive.span();
        let text = source.slice(span);
        let is_for_debugger = text.starts_with("@@")
            || text
                .strip_prefix(".section")
                .is_some_and(|rest| rest.trim_start().starts_with(".debug"));
        if is_for_debugger {
            return;
        }
        for (variable, known) in &mut self.variables {
            if memchr::memmem::find(text.as_bytes(), variable.as_bytes()).is_some() {
                known.mentioned = Some(span);
            }
        }
    }

    /// Whether a body that was not parsed may name a variable that a parsed one names.
    pub(super) fn need_bodies(&self) -> bool {
        self.variables.values().any(|named| {
            let is_parsed = |user: &User<'_>| user.is_parsed;
            named.functions.iter().any(is_parsed) && !named.functions.iter().all(is_parsed)
        })
    }

    /// Who else than the kernel may access a variable.
    pub(super) fn of(
        &self,
        source: &SourceFile,
        variable: &Variable<'_>,
        kernel: &str,
    ) -> Option<Sharing> {
        if let Some(how) = variable.linkage.first() {
            return Some(Sharing::Linked((*how).to_owned()));
        }
        let [declared] = &variable.names[..] else { return Some(Sharing::Form) };
        let Some(named) = self.variables.get(declared.name.text) else {
            return Some(Sharing::Form);
        };
        let line = |span: Span| source.line(span.start);
        let mut own = 0;
        for user in &named.functions {
            let is_own = user.name == kernel;
            if planted!(Bug::ArrayShared) && user.kind == FunctionKind::Func {
                continue;
            }
            own += usize::from(is_own);
            if !is_own || own > 1 {
                return Some(Sharing::Function(user.name.to_owned()));
            }
            if user.kind == FunctionKind::Func {
                return Some(Sharing::Called);
            }
        }
        let declared = named.declared.map(|span| Sharing::Declared(line(span)));
        declared.or(named.mentioned.map(|span| Sharing::Mentioned(line(span))))
    }
}

/// Whether a variable in shared memory has a name that other files cannot use.
fn is_of_file(variable: &Variable<'_>) -> bool {
    variable.space == StateSpace::Shared && variable.linkage.is_empty()
}
