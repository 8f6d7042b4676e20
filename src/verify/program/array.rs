//! One array in shared memory, as its declaration describes it.

use crate::ptx::Variable;

/// A variable in shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    /// The name as in the names of addresses: with the number of the scope in front, if a function declares it.
    pub name: String,
    /// 0 if each launch gives the size.
    pub bytes: u64,
    pub align: u64,
    /// Whether each launch gives the size.
    pub is_dynamic: bool,
}

impl Array {
    /// The name as written.
    pub(crate) fn plain_name(&self) -> &str {
        self.name.split_once('.').map_or(&*self.name, |(_, name)| name)
    }
}

/// The one array that a declaration declares, if its size is known.
pub(super) fn array(variable: &Variable<'_>, scope: u32) -> Option<Array> {
    let [declared] = &variable.names[..] else { return None };
    let element = u64::from(variable.ty?.bits()) / 8 * u64::from(variable.vector.max(1));
    let known = declared.count.is_none() && variable.linkage.is_empty() && element > 0;
    let bytes = declared
        .dimensions
        .iter()
        .try_fold(element, |bytes, dimension| bytes.checked_mul((*dimension)?));
    let align = variable.align.unwrap_or(element);
    let name = format!("{scope}.{}", declared.name.text);
    bytes.filter(|_| known).map(|bytes| Array { name, bytes, align, is_dynamic: false })
}

/// The one array that a declaration outside of functions declares, if its size is known.
pub(super) fn of_file(variable: &Variable<'_>) -> Option<Array> {
    let array = array(variable, 0)?;
    Some(Array { name: array.plain_name().to_owned(), ..array })
}
