//! Registers of a function.

use std::fmt;

use crate::ptx::ScalarType;

/// The names of a vector register's elements, in order.
pub(super) const COMPONENTS: &str = "xyzwabcd";

/// A register of one function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegisterId(pub u32);

table_ids!(RegisterId);

/// A register's declaration.
#[derive(Clone, Debug)]
pub struct Register<'s> {
    /// The name as declared or first used.
    pub name: &'s str,
    /// The component, if it is one of a vector register.
    pub component: Option<char>,
    /// The declared type.
    pub ty: ScalarType,
}

impl fmt::Display for Register<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.component.iter().try_for_each(|component| write!(f, ".{component}"))
    }
}

impl Register<'_> {
    /// The index of the element, if it is one of a vector register.
    pub(super) fn element(&self) -> u32 {
        let index = self.component.and_then(|component| COMPONENTS.find(component));
        index.map_or(0, |index| index as u32)
    }
}
