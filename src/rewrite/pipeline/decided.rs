//! A function after its analysis, before it is rewritten.

use crate::cfg::Flow;
use crate::emulate::KernelTrace;
use crate::select::Choice;

/// One function on its way: all that was found out about it.
pub(super) struct Decided<'m, 's> {
    pub flow: Flow<'m, 's>,
    pub trace: KernelTrace,
    pub choice: Choice,
}
