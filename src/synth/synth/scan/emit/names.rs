//! Names of a sketch as C++ takes them.

use crate::synth::scan::subject::{Loop, Read};
use crate::synth::scan::term::{Shared, Sort, Term};

/// Words of C++ and CUDA.
const WORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl concept \
     const consteval constexpr const_cast continue co_await co_return co_yield decltype default delete do double \
     dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new \
     noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return \
     short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef \
     typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// The names that the code itself uses.
const OWN: &str = "State a b blockDim blockIdx each first gridDim i last lift made n op prefixed reduced result s step synth threadIdx totals \
     unit warpSize";

/// What things are called in code.
#[derive(Debug)]
pub(super) struct Names {
    /// The accumulators, as members of a state.
    pub accumulators: Vec<String>,
    /// The values read from an element.
    pub inputs: Vec<String>,
    /// The loop-invariant values.
    pub givens: Vec<String>,
    /// The results.
    pub results: Vec<String>,
}

/// The names of a loop.
pub(super) fn names(subject: &Loop) -> Names {
    let mut members = Vec::new();
    let accumulators =
        subject.accumulators.iter().map(|own| taken(&[WORDS], &mut members, &own.name));
    let accumulators = accumulators.collect();
    let mut others = Vec::new();
    let mut read = |reads: &[Read]| -> Vec<String> {
        reads.iter().map(|read| taken(&[WORDS, OWN], &mut others, &read.name)).collect()
    };
    let (inputs, givens) = (read(&subject.inputs), read(&subject.givens));
    let name = |term: &Shared| match &**term {
        Term::Variable(variable) => subject.name(*variable, "", ""),
        _ if subject.sort_of(term) == Some(Sort::Boolean) => "holds".to_owned(),
        _ => "outcome".to_owned(),
    };
    let results =
        subject.result.iter().map(|term| taken(&[WORDS, OWN], &mut others, &name(term))).collect();
    Names { accumulators, inputs, givens, results }
}

/// A name that nothing else has.
fn taken(words: &[&str], others: &mut Vec<String>, name: &str) -> String {
    let mut name = name.to_owned();
    let is_word = |name: &str| words.iter().flat_map(|w| w.split_whitespace()).any(|w| w == name);
    while is_word(&name) || others.contains(&name) {
        name.push('_');
    }
    others.push(name.clone());
    name
}
