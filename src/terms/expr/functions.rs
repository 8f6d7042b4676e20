//! The table of one kernel's uninterpreted functions. Only the module that makes a function knows its meaning.

use std::fmt::Display;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use super::node::FunctionId;

/// Uninterpreted functions with their ids, each with the name that queries give it.
#[derive(Debug)]
pub struct Functions<F> {
    all: TiVec<FunctionId, (F, String)>,
    ids: FxHashMap<F, FunctionId>,
}

impl<F> Default for Functions<F> {
    fn default() -> Functions<F> {
        Functions { all: TiVec::new(), ids: FxHashMap::default() }
    }
}

impl<F: Clone + Eq + Hash + Display> Functions<F> {
    /// A function's id. Different functions must have different names: a solver knows them by these.
    pub fn id(&mut self, function: F) -> FunctionId {
        if let Some(&id) = self.ids.get(&function) {
            return id;
        }
        let (id, name) = (self.all.next_key(), function.to_string());
        debug_assert!(self.all.iter().all(|(_, known)| *known != name), "two functions {name}");
        self.all.push((function.clone(), name));
        self.ids.insert(function, id);
        id
    }

    /// The function of an id.
    pub fn get(&self, id: FunctionId) -> &F {
        &self.all[id].0
    }

    /// A function's name.
    pub fn name(&self, id: FunctionId) -> &str {
        &self.all[id].1
    }
}
