//! Comparisons of real functions, and choices by them: which are known, and which are maxima.

use super::element::{Element, Predicate, Term, Truth};
use super::exact::number;
use super::field::{inverse_p, mul_p, mul_q, small_fraction};
use super::meaning::{Comparison, Format, Mode};
use super::point::name;
use super::reals::{Junction, Reals};

impl Reals {
    /// As [`super::Algebra::compare`].
    pub(super) fn compare(
        &mut self,
        (comparison, format, _): (Comparison, Format, Mode),
        operands: [Term; 2],
    ) -> Option<Truth> {
        let values = operands.map(|term| match term {
            Term::Number(bits) => Some(number(format, bits)),
            Term::Element(_) => None,
        });
        if values.iter().flatten().any(|value| value.is_nan()) {
            return None;
        }
        match comparison {
            Comparison::Num => return Some(Truth::Known(true)),
            Comparison::Nan => return Some(Truth::Known(false)),
            _ => {}
        }
        // A number that is not known is finite.
        let order = match values {
            [Some(a), _] if a.is_infinite() => Some(a.is_sign_positive()),
            [_, Some(b)] if b.is_infinite() => Some(b.is_sign_negative()),
            _ => None,
        };
        if let Some(greater) = order {
            return Some(Truth::Known(match comparison {
                Comparison::Eq => false,
                Comparison::Ne => true,
                Comparison::Lt | Comparison::Le => !greater,
                _ => greater,
            }));
        }
        let a = self.element(format, operands[0])?;
        let b = self.element(format, operands[1])?;
        if let (Format::F32, [_, Term::Number(bits)]) = (format, operands)
            && let Some(holds) = self.beyond(comparison, a, bits as u32)
        {
            return Some(Truth::Known(holds));
        }
        let truth = self.relation(comparison, a, b);
        if let (Truth::Open(predicate), Format::F32, [_, Term::Number(bits)]) =
            (truth, format, operands)
            && comparison == Comparison::Ge
        {
            self.library.bound(predicate.name, a, bits as u32);
        }
        Some(truth)
    }

    pub(super) fn relation(&mut self, comparison: Comparison, a: Element, b: Element) -> Truth {
        if a.p == b.p {
            let holds = matches!(comparison, Comparison::Le | Comparison::Ge | Comparison::Eq);
            return Truth::Known(holds);
        }
        let is_positive = |element: Element| self.point.positives.contains(&element.p);
        let larger = (is_positive(a) && b.p == 0) || (is_positive(b) && a.p == 0);
        if larger {
            let holds = match comparison {
                Comparison::Lt | Comparison::Le => a.p == 0,
                Comparison::Gt | Comparison::Ge => b.p == 0,
                other => other == Comparison::Ne,
            };
            return Truth::Known(holds);
        }
        let (difference, negated) = match comparison {
            Comparison::Lt => (self.point.sub(b, a), false),
            Comparison::Gt => (self.point.sub(a, b), false),
            Comparison::Le => (self.point.sub(a, b), true),
            Comparison::Ge => (self.point.sub(b, a), true),
            Comparison::Eq | Comparison::Ne | Comparison::Num | Comparison::Nan => {
                let difference = self.point.sub(a, b);
                let opposite = self.point.neg(difference);
                let key = difference.p.min(opposite.p);
                let name = self.point.hash(&[name::ZERO, key]).p;
                return Truth::Open(Predicate { name, negated: comparison == Comparison::Ne });
            }
        };
        if let Some((numerator, _)) = self.point.as_fraction(difference) {
            return Truth::Known((numerator > 0) != negated);
        }
        let name = self.point.hash(&[name::POSITIVE, difference.p]).p;
        self.positive.insert(name, difference);
        Truth::Open(Predicate { name, negated })
    }

    /// As [`super::Algebra::choose`].
    pub(super) fn choose(
        &mut self,
        predicate: Predicate,
        format: Format,
        operands: [Term; 2],
    ) -> Option<Term> {
        if operands[0] == operands[1] {
            return Some(operands[0]);
        }
        if let Some(logarithm) = self.logarithm_chosen(predicate, format, operands) {
            return Some(Term::Element(logarithm));
        }
        let a = self.element(format, operands[0])?;
        let b = self.element(format, operands[1])?;
        Some(Term::Element(self.choice(predicate, a, b)))
    }

    fn choice(&mut self, predicate: Predicate, a: Element, b: Element) -> Element {
        let name = predicate.name;
        let [a, b] = if predicate.negated { [b, a] } else { [a, b] };
        if a.p == b.p {
            return a;
        }
        // The predicate of "at least" is negated: `a` and `b` have changed places.
        if let Some(function) = self.library_choice(name, b, a) {
            return function;
        }
        let result = self.without_law(Predicate { name, negated: false }, [a, b]);
        let is_positive = |element: Element| self.point.positives.contains(&element.p);
        if is_positive(a) && is_positive(b) {
            self.point.positives.insert(result.p);
        }
        self.choices.insert(result.p, (Predicate { name, negated: false }, [a, b]));
        result
    }

    /// A choice that is not a function of the library.
    pub(super) fn without_law(&mut self, predicate: Predicate, [a, b]: [Element; 2]) -> Element {
        let name = predicate.name;
        let [a, b] = if predicate.negated { [b, a] } else { [a, b] };
        if let Some(&(junction, [one, other])) = self.junctions.get(&name) {
            let holds = self.without_law(other, [a, b]);
            let fails = match junction {
                Junction::Both => b,
                Junction::Differ => self.without_law(other, [b, a]),
            };
            return match junction {
                Junction::Both => self.without_law(one, [holds, fails]),
                Junction::Differ => self.without_law(one, [fails, holds]),
            };
        }
        // The parts of a function of the library are only compared.
        if self.library.compared(name).is_some() {
            return self.point.hash(&[name::CHOICE, name, a.p, b.p]);
        }
        match self.positive.get(&name) {
            Some(&difference) => match self.small_ratio(a, b, difference) {
                Some(true) => self.larger(a, b),
                Some(false) => self.smaller(a, b),
                None => self.point.by_sign(difference, a, b),
            },
            None => self.point.by_name(name, a, b),
        }
    }

    /// Whether `a - b` is a small positive fraction of `difference`, or a negative one; none if it is neither in both rings.
    fn small_ratio(&mut self, a: Element, b: Element, difference: Element) -> Option<bool> {
        if self.point.class(a).or(self.point.class(b)).or(self.point.class(difference)).is_some() {
            return None;
        }
        let gap = self.point.plain_sub(a, b);
        let p = mul_p(gap.p, inverse_p(difference.p)?);
        let (numerator, denominator) = small_fraction(p, 1 << 12)?;
        let ratio = self.point.fraction(numerator, denominator);
        let again = mul_q(ratio.q, difference.q) == gap.q;
        let grows = numerator > 0 || planted!(Bug::ChoiceIsMaximum);
        (again && numerator != 0).then_some(grows)
    }
}
