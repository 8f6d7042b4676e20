//! The statements of a sketch.

use super::{Folded, LoopStatement, Name, Reference, Spanned};
use crate::synth::network::ast::Item as NetworkItem;
use crate::synth::place::ast::Item as PlaceItem;

/// One statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A parameter with its value, which `-D` replaces.
    Param(Name, Spanned),
    /// Axes and their extents.
    Axis(Vec<(Name, Spanned)>),
    /// Inputs and their shapes.
    Input(Vec<Reference>),
    /// A family that the sketch lists: name, coordinates, members.
    Family(Name, Vec<Name>, Vec<Spanned>),
    /// `load` and `step`: the right-hand side says from where the left-hand side is moved.
    Move(Reference, Reference),
    /// A fold.
    Fold(Reference, Folded),
    /// A goal.
    Goal(Reference, Folded),
    /// A statement of a network.
    Network(NetworkItem),
    /// A statement of a placement.
    Place(PlaceItem),
    /// The order of measures of a solution's cost.
    Minimise(Vec<Name>),
    /// A serial loop, or a requirement on it.
    Loop(LoopStatement),
}
