//! The parameters of a kernel by the names that its source gives them. PTX has none: nvcc calls them `k_param_0`, ...

use std::ops::ControlFlow;

use super::spellings;
use crate::source::comments;

/// The names of a kernel's parameters in a text of CUDA C++, if it is defined there with that number of them; all definitions of
/// that name have to agree.
pub fn parameters(source: &str, kernel: &str, count: usize) -> Option<Vec<String>> {
    let code = comments::code(source);
    let base = spellings(kernel).pop()?;
    let mut found: Option<Vec<String>> = None;
    for (at, _) in code.match_indices(&base) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let rest = code[at + base.len()..].trim_start();
        let begins = !code[..at].ends_with(is_word);
        // Between the word and the name are the result, launch bounds, and nothing that ends a declaration.
        let declared = code[..at].rfind("__global__").map(|start| &code[start..at]);
        let is_kernel = declared.is_some_and(|words| !words.contains([';', '{', '}']));
        if !begins || !is_kernel || !rest.starts_with('(') {
            continue;
        }
        let own = names(&rest[1..])?;
        if own.len() != count || found.as_ref().is_some_and(|found| *found != own) {
            return None;
        }
        found = Some(own);
    }
    found
}

/// The last word of each declaration in a list that ends at a closing bracket.
fn names(list: &str) -> Option<Vec<String>> {
    let mut depth = 0_usize;
    let mut starts = vec![0];
    let end = list.char_indices().try_for_each(|(at, c)| {
        match c {
            ')' if depth == 0 => return ControlFlow::Break(at),
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => starts.push(at + 1),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let ControlFlow::Break(end) = end else { return None };
    if list[..end].trim().is_empty() {
        return Some(Vec::new());
    }
    let ends = starts[1..].iter().map(|start| start - 1).chain([end]);
    let each = starts.iter().zip(ends).map(|(&start, end)| {
        let declaration = list[start..end].split(['=', '[']).next().unwrap_or_default();
        let words = declaration.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.rev().find(|word| !word.is_empty()).map(str::to_owned)
    });
    each.collect()
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(names_are_read_from_definitions);

    fn names_are_read_from_definitions() {
        let source = "// k(int z)\ntemplate <int N> __global__ void __launch_bounds__(256)\n\
            k(const float *__restrict__ x, float4 y[2], int /* rows */ n = N, pair<int, int> p);\n\
            __global__ void other(int k) { }\nvoid host() { k(1, 2, 3, 4); }\n";
        let names = |kernel, count| parameters(source, kernel, count);
        assert_eq!(names("k", 4), Some(["x", "y", "n", "p"].map(str::to_owned).to_vec()));
        assert_eq!(names("_Z5otheri", 1), Some(vec!["k".to_owned()]));
        assert_eq!(names("k", 3), None, "another number of parameters");
        assert_eq!(names("host", 0), None, "no kernel");
        let twice = "__global__ void k(int a);\n__global__ void k(int b) {}";
        assert_eq!(parameters(twice, "k", 1), None, "two names");
    }
}
