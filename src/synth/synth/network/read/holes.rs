//! Holes of a network's sketch: those that are written, and those where expressions are opened.

use std::sync::Arc;

use super::Reader;
use crate::source::{Diagnostic, Span};
use crate::synth::ast::{HoleText, Index, When};
use crate::synth::expr::{Expr, Op};
use crate::synth::network::ast::Step;
use crate::synth::network::problem::{Hole, Kind, SEGMENT, Slot};

impl Reader<'_> {
    /// The conditions of a step: those that are known, and the one that is not.
    pub(super) fn guards(
        &mut self,
        step: &Step,
        scope: (&str, usize),
        relax: bool,
    ) -> Result<(Vec<Expr>, Option<usize>), Diagnostic> {
        let (mut fixed, mut hole, mut spans) = (Vec::new(), None, Vec::new());
        for when in &step.when {
            match when {
                When::Compare(cmp, a, b) => {
                    self.names(a, Some(scope.0))?;
                    self.names(b, Some(scope.0))?;
                    spans.extend([a.span, b.span]);
                    let (a, b) = (Arc::new(a.expr.clone()), Arc::new(b.expr.clone()));
                    fixed.push(Expr::Compare(*cmp, a, b));
                }
                When::Hole(_) if hole.is_some() => {
                    return Err(
                        self.error(step.span, "a step has at most one condition to be found")
                    );
                }
                When::Hole(text) => hole = Some(self.hole(text, Kind::Guard, Some(scope))?),
            }
        }
        if relax && hole.is_none() && !fixed.is_empty() {
            let span = spans.iter().copied().reduce(|a, b| Span { start: a.start, end: b.end });
            let span = span.unwrap_or(step.span);
            hole = Some(self.opened(span, Kind::Guard, scope.1, std::mem::take(&mut fixed)));
        }
        Ok((fixed, hole))
    }

    pub(super) fn slot(
        &mut self,
        index: &Index,
        kind: Kind,
        scope: Option<(&str, usize)>,
        relax: bool,
    ) -> Result<Slot, Diagnostic> {
        match index {
            Index::Hole(text) => Ok(Slot::Hole(self.hole(text, kind, scope)?)),
            Index::Plain(plain) => {
                self.names(plain, Some(scope.map_or("", |scope| scope.0)))?;
                let expr = plain.expr.clone();
                if !relax {
                    return Ok(Slot::Fixed(expr));
                }
                let repeat = scope.map_or(usize::MAX, |scope| scope.1);
                Ok(Slot::Hole(self.opened(plain.span, kind, repeat, vec![expr])))
            }
        }
    }

    /// A hole where an expression was: made of the same parts, the number of lanes and the borders of segments.
    fn opened(&mut self, span: Span, kind: Kind, repeat: usize, before: Vec<Expr>) -> usize {
        let mut leaves: Vec<Arc<Expr>> = vec![Arc::new(Expr::name(&self.network.lane))];
        for expr in &before {
            self.parts(expr, &mut leaves);
        }
        let more = self.network.size.iter().cloned();
        let segments = self.network.goal.segmented.then_some(SEGMENT).into_iter().flatten();
        let segments = segments.filter(|_| kind == Kind::Guard).map(str::to_owned);
        for name in more.chain(segments) {
            let leaf = Arc::new(Expr::name(&name));
            if !leaves.contains(&leaf) {
                leaves.push(leaf);
            }
        }
        self.network.holes.push(Hole { span, kind, leaves, before, repeat });
        self.network.holes.len() - 1
    }

    /// The parts of an expression that do not depend on the lane, as far as they are no numbers.
    fn parts(&self, expr: &Expr, leaves: &mut Vec<Arc<Expr>>) {
        let mut uniform = true;
        expr.names(&mut |name| uniform &= name != self.network.lane && !SEGMENT.contains(&name));
        match expr {
            Expr::Number(_) => {}
            expr if uniform => {
                let leaf = Arc::new(expr.clone());
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
                // A sum's parts too, but a power is one thing.
                if let Expr::Binary(op, a, b) = expr
                    && !matches!(op, Op::Pow | Op::Log)
                {
                    self.parts(a, leaves);
                    self.parts(b, leaves);
                }
            }
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => {
                self.parts(a, leaves);
                self.parts(b, leaves);
            }
            Expr::Name(_) | Expr::Choose(..) => {}
        }
    }

    fn hole(
        &mut self,
        text: &HoleText,
        kind: Kind,
        scope: Option<(&str, usize)>,
    ) -> Result<usize, Diagnostic> {
        let families: &[&str] = match kind {
            Kind::Guard => &["cond", "fit"],
            Kind::Initial | Kind::Source => &["fit", "xform"],
        };
        if !families.contains(&text.family.text.as_str()) {
            let message =
                format!("`{}` is not a family for this hole of a network", text.family.text);
            let error = self.error(text.family.span, message);
            return Err(error.with_hint(families.join(" or ")));
        }
        let mut leaves: Vec<Arc<Expr>> = Vec::new();
        for argument in text.first.iter().chain(&text.second) {
            self.names(argument, Some(scope.map_or("", |scope| scope.0)))?;
            let mut add = |expr: Expr| {
                let leaf = Arc::new(expr);
                if !leaves.contains(&leaf) {
                    leaves.push(leaf);
                }
            };
            // The counting variable is mostly an exponent.
            let counts = matches!(&argument.expr, Expr::Name(name)
                if scope.is_some_and(|scope| scope.0 == &**name));
            if counts {
                add(Expr::Binary(
                    Op::Pow,
                    Arc::new(Expr::Number(2)),
                    Arc::new(argument.expr.clone()),
                ));
            }
            add(argument.expr.clone());
        }
        let repeat = scope.map_or(usize::MAX, |scope| scope.1);
        self.network.holes.push(Hole { span: text.span, kind, leaves, before: Vec::new(), repeat });
        Ok(self.network.holes.len() - 1)
    }
}
