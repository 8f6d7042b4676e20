//! The comments of the library's functions: formula, proof and test of each, in front of it.
//!
//! In: emitted text, and the notes for each function's name. Out: the text with these lines in front of each function
//! that it declares, and the number of these functions.

use std::fmt::Write as _;

/// How wide a comment may be.
const WIDTH: usize = 116;

/// The notes on a function.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    /// Its formula, as lines that are not wrapped.
    pub formula: Vec<String>,
    /// The proof of the formula and the prover.
    pub proof: String,
    /// The test that executes it.
    pub test: &'static str,
}

impl Notes {
    /// The notes on a function with a formula of one line.
    pub(super) fn new(
        formula: impl Into<String>,
        proof: impl Into<String>,
        test: &'static str,
    ) -> Notes {
        Notes { formula: vec![formula.into()], proof: proof.into(), test }
    }

    /// The lines of the comment.
    fn write(&self, text: &mut String) {
        match &self.formula[..] {
            [one] => wrapped(text, &format!("formula: {one}")),
            several => {
                text.push_str("// formula:\n");
                several.iter().for_each(|line| _ = writeln!(text, "//     {line}"));
            }
        }
        wrapped(text, &format!("proof: {}", self.proof));
        wrapped(text, &format!("test: {}", self.test));
    }
}

/// A comment, broken where it gets too wide.
pub(super) fn wrapped(text: &mut String, comment: &str) {
    let mut line = "//".to_owned();
    for word in comment.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = "//    ".to_owned();
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(text, "{line}");
}

/// The name of the function that begins at this line: one outside of all braces but those of namespaces.
fn begins(line: &str, next: Option<&str>) -> Option<String> {
    let signature = if line.starts_with("template <") { next? } else { line };
    let is_function = ["__device__ ", "__host__ "].iter().any(|word| signature.starts_with(word));
    let head = signature.split('(').next().filter(|_| is_function)?;
    head.split_whitespace().next_back().map(str::to_owned)
}

/// The text with notes in front of its functions, and how many there are.
///
/// # Errors
/// Nothing is known of a function.
pub(super) fn annotated(
    text: &str,
    of: &dyn Fn(&str) -> Option<Notes>,
) -> Result<(String, usize), String> {
    let (mut made, mut functions) = (String::new(), 0);
    let mut lines = text.lines().peekable();
    let mut inside = false;
    while let Some(line) = lines.next() {
        if let Some(name) = begins(line, lines.peek().copied()).filter(|_| !inside) {
            let notes = of(&name).ok_or_else(|| format!("nothing is known of `{name}`"))?;
            notes.write(&mut made);
            functions += 1;
            inside = true;
        }
        inside &= line != "}";
        let _ = writeln!(made, "{line}");
    }
    Ok((made, functions))
}

/// A text that is written by hand, with notes in the place of its lines `// FORMULA ...`, and how many there are.
pub(super) fn by_hand(text: &str, proof: &str, test: &'static str) -> (String, usize) {
    let (mut made, mut functions) = (String::new(), 0);
    for line in text.lines() {
        match line.strip_prefix("// FORMULA ") {
            Some(formula) => {
                Notes::new(formula, proof, test).write(&mut made);
                functions += 1;
            }
            None => _ = writeln!(made, "{line}"),
        }
    }
    (made, functions)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(notes_stand_in_front_of_each_function);

    fn notes_stand_in_front_of_each_function() {
        let text = "// Twice.\ntemplate <typename T>\n__device__ __forceinline__ T twice(T x)\n{\n    return x;\n}\n\
                    __device__ inline void none()\n{\n}\n";
        let of = |name: &str| Some(Notes::new(format!("of {name}"), "none", "this one"));
        let (made, functions) = annotated(text, &of).unwrap();
        assert_eq!(functions, 2);
        let twice =
            "// Twice.\n// formula: of twice\n// proof: none\n// test: this one\ntemplate <";
        assert!(made.starts_with(twice), "{made}");
        assert!(made.contains("test: this one\n__device__ inline void none()"), "{made}");
        assert!(annotated(text, &|_| None).is_err());
    }
}
