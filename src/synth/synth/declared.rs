//! The declarations that all kinds of sketches share: params, axes and objectives.

use rustc_hash::FxHashMap;

use super::ast::{Name, Spanned, Statement};
use crate::source::{Diagnostic, SourceFile, Span};

/// What `-D` gives.
pub type Defines = [(String, i64)];

/// The most places of an axis.
const MOST_PLACES: i64 = 4096;

/// Params and axes.
pub(super) struct Declared<'s> {
    /// The sketch.
    pub source: &'s SourceFile,
    defines: &'s Defines,
    /// The values of params.
    pub params: FxHashMap<String, i64>,
    /// The axes with their extents.
    pub axes: Vec<(String, usize)>,
}

impl<'s> Declared<'s> {
    /// Nothing yet; `defines` gives params other values.
    pub(super) fn new(source: &'s SourceFile, defines: &'s Defines) -> Declared<'s> {
        Declared { source, defines, params: FxHashMap::default(), axes: Vec::new() }
    }

    /// The axis of a name.
    pub(super) fn axis(&self, name: &str) -> Option<&(String, usize)> {
        self.axes.iter().find(|(axis, _)| axis == name)
    }

    /// The value of a param or the extent of an axis.
    pub(super) fn constant(&self, name: &str) -> Option<i64> {
        let param = self.params.get(name).copied();
        param.or_else(|| self.axis(name).map(|(_, extent)| *extent as i64))
    }

    /// Refuses a name that something has already; `others` are names of something else.
    pub(super) fn free(
        &self,
        name: &Name,
        others: &dyn Fn(&str) -> bool,
    ) -> Result<(), Diagnostic> {
        let taken = self.constant(&name.text).is_some() || others(&name.text);
        if taken { Err(is_there(self.source, name)) } else { Ok(()) }
    }

    /// Declares the name of a `param` or `axis`; `value` evaluates an expression.
    pub(super) fn declare(
        &mut self,
        statement: &Statement,
        value: &dyn Fn(&Self, &Spanned) -> Result<i64, Diagnostic>,
        others: &dyn Fn(&str) -> bool,
    ) -> Result<(), Diagnostic> {
        match statement {
            Statement::Param(name, given) => {
                let value = match defined(self.defines, name) {
                    Some(value) => value,
                    None => value(self, given)?,
                };
                self.free(name, others)?;
                self.params.insert(name.text.clone(), value);
            }
            Statement::Axis(axes) => {
                for (name, extent) in axes {
                    let value = value(self, extent)?;
                    self.free(name, others)?;
                    if !(1..=MOST_PLACES).contains(&value) {
                        let message = format!("an axis has 1 to {MOST_PLACES} places, not {value}");
                        return Err(self.source.diagnostic(name.span, message));
                    }
                    self.axes.push((name.text.clone(), value as usize));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The message for a name that something has already.
pub(super) fn is_there(source: &SourceFile, name: &Name) -> Diagnostic {
    source.diagnostic(name.span, format!("`{}` is there already", name.text))
}

/// The value that `-D` gives a param.
pub(super) fn defined(defines: &Defines, name: &Name) -> Option<i64> {
    defines.iter().rev().find(|(own, _)| *own == name.text).map(|(_, value)| *value)
}

/// The objectives of a `minimise` statement, of `all` that there are.
pub(super) fn measures<M: Copy>(
    source: &SourceFile,
    names: &[Name],
    all: &[(&str, M)],
) -> Result<Vec<M>, Diagnostic> {
    let of = |name: &Name| {
        let found = all.iter().find(|(own, _)| *own == name.text);
        found.map(|(_, measure)| *measure).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let message = format!("`{}` cannot be minimised", name.text);
            let hint = format!("one of {}", known.join(", "));
            source.diagnostic(name.span, message).with_hint(hint)
        })
    };
    names.iter().map(of).collect()
}

/// A message about the whole of a sketch, at its end.
pub(super) fn at_end(source: &SourceFile, message: &str) -> Diagnostic {
    let end = source.text().trim_end().len();
    source.diagnostic(Span::new(end, end), message)
}
