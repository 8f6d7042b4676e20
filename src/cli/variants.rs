//! The variants of a kernel that `ab` and `tune` make of an original, by the words of `--variants`.

use std::str::FromStr;

use super::exit::Failure;
use super::values::Words;
use crate::pipeline::{self, Options};
use crate::rewrite::Mode;
use crate::select::{Strategies, UnknownStrategy};
use crate::source::SourceFile;

/// How a variant is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As `--mode` says, by the strategies of the options.
    Mode(Mode),
    /// By these strategies, whatever the options say.
    Strategies(Strategies),
}

impl Variant {
    /// The original itself.
    pub const ORIGINAL: Variant = Variant::Mode(Mode::Original);

    /// How results call it: a mode as the command line spells it, or strategies as `--strategy` does.
    pub fn name(self) -> String {
        match self {
            Variant::Mode(mode) => Mode::all()
                .into_iter()
                .find(|(own, ..)| *own == mode)
                .map_or_else(String::new, |(_, word, _)| word.to_owned()),
            Variant::Strategies(strategies) => strategies.to_string(),
        }
    }

    /// Makes it.
    ///
    /// # Errors
    /// The original cannot be parsed.
    pub fn make(self, original: &SourceFile, options: &Options) -> Result<SourceFile, Failure> {
        let mut options = options.clone();
        match self {
            Variant::Mode(mode) => options.mode = mode,
            Variant::Strategies(strategies) => options.select.strategies = strategies,
        }
        let text = pipeline::rewrite(original, &options)?.text;
        Ok(SourceFile::new(original.name(), text))
    }
}

impl FromStr for Variant {
    type Err = String;

    /// A mode, or strategies; several of these are joined by `+`.
    fn from_str(word: &str) -> Result<Variant, String> {
        if let Some(mode) = Mode::read(word) {
            return Ok(Variant::Mode(mode));
        }
        let strategies: Result<Strategies, UnknownStrategy> = word.replace('+', ",").parse();
        strategies
            .map(Variant::Strategies)
            .map_err(|error| format!("no mode ({}), and {error}", Mode::words().join(", ")))
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::select::StrategyName;

    crate::unit_tests!(words_are_modes_or_strategies);

    fn words_are_modes_or_strategies() {
        let read = |word: &str| word.parse::<Variant>();
        assert_eq!(read("original"), Ok(Variant::ORIGINAL));
        assert_eq!(read("no-load"), Ok(Variant::Mode(Mode::NoLoad)));
        assert_eq!(read("none"), Ok(Variant::Strategies(Strategies::NONE)));
        assert_eq!(read("wide"), Ok(Variant::Strategies(Strategies::only(StrategyName::Wide))));
        assert_eq!(read("wide+reuse").map(Variant::name), Ok("reuse,wide".to_owned()));
        let said = read("fast").unwrap_err();
        assert!(said.contains("no-corner") && said.contains("no strategy `fast`"), "{said}");
        assert!(read("none+wide").is_err());
        assert_eq!(read("auto+bank").map(Variant::name), Ok("auto,bank".to_owned()));
    }
}
