//! Names for new registers that cannot collide with any in the module.

/// A stem that occurs nowhere in the text; new registers are numbered from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    stem: String,
}

impl Names {
    /// Chooses the stem for a text: deterministic, and absent even from comments and strings.
    pub fn for_text(text: &str) -> Names {
        let stem = crate::reuse::OWN_REGISTERS;
        // One underscore more than behind any such stem in the text, found in one pass. (Labels have
        // the word without the percent sign.)
        let word = stem.trim_start_matches('%');
        let found = memchr::memmem::find_iter(text.as_bytes(), word.as_bytes());
        let behind = |at: usize| {
            text.as_bytes()[at + word.len()..].iter().take_while(|&&byte| byte == b'_').count()
        };
        let underscores = found.map(|at| behind(at) + 1).max().unwrap_or(0);
        Names { stem: format!("{stem}{}", "_".repeat(underscores)) }
    }
}

/// Kinds of registers: the letter in their names, and the type that declares them.
const KINDS: [(&str, &str); 4] = [("p", ".pred"), ("h", ".b16"), ("r", ".b32"), ("d", ".b64")];

/// Hands out new registers of one function and declares them in the end.
#[derive(Clone, Debug)]
pub struct Fresh<'a> {
    names: &'a Names,
    counts: [u32; KINDS.len()],
    labels: u32,
}

impl<'a> Fresh<'a> {
    /// The names of a function in which none has been handed out yet.
    pub fn new(names: &'a Names) -> Fresh<'a> {
        Fresh { names, counts: [0; KINDS.len()], labels: 0 }
    }

    /// A predicate register.
    pub fn predicate(&mut self) -> String {
        self.take(0)
    }

    /// A register of 16, 32 or 64 bits.
    pub fn bits(&mut self, bits: u32) -> String {
        self.take(match bits {
            16 => 1,
            32 => 2,
            _ => 3,
        })
    }

    /// Two labels that belong together.
    pub fn labels(&mut self) -> [String; 2] {
        let number = self.labels;
        self.labels += 1;
        let word = self.names.stem.trim_start_matches('%');
        [format!("${word}_old{number}"), format!("${word}_join{number}")]
    }

    /// A 32-bit register.
    pub fn word(&mut self) -> String {
        self.bits(32)
    }

    fn take(&mut self, kind: usize) -> String {
        let number = self.counts[kind];
        self.counts[kind] += 1;
        format!("{}_{}{number}", self.names.stem, KINDS[kind].0)
    }

    /// The declarations of all registers that have been handed out.
    pub fn declarations(&self) -> String {
        let declared = KINDS.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        declared
            .map(|((letter, ty), count)| {
                format!("\n\t.reg {ty} {}_{letter}<{count}>;", self.names.stem)
            })
            .collect()
    }
}
