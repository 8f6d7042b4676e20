//! One call of ptxas: which of its words are inputs, and whether there is anything to rewrite.
//!
//! In: the words, and a way to read options files. Out: a [`CommandLine`] whose words are those of the
//! call, in order, and whose [`Input`]s say which bytes of them name or hold PTX. Apart from reading
//! options files this is a pure function; no input is opened here.

use crate::ptxas::options::{Role, Spec, Word, classify};
use crate::ptxas::options_file;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Where an input's PTX comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A path.
    File,
    /// Standard input, as `-` or by a path of its device.
    Stdin,
    /// The word itself, after `--input-as-string`.
    Text,
}

/// One input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// Where its PTX comes from.
    pub kind: Kind,
    /// Index of its word in [`CommandLine::words`].
    pub word: usize,
    /// The byte of the word where the path or the text begins; not 0 in `--input-as-string=...`.
    pub at: usize,
}

/// Where a call names its output file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputPlace {
    /// Nowhere.
    Nowhere,
    /// From a byte of one word on.
    Word {
        /// Index of the word in [`CommandLine::words`].
        word: usize,
        /// The byte where the path begins.
        at: usize,
    },
    /// The call names it twice, or in an options file, or perhaps in or behind an option that is not known.
    #[default]
    Unclear,
}

/// A call of ptxas, understood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandLine {
    /// The arguments. Those of the call, except that an `--options-file` which names inputs or the output
    /// is replaced by the words it holds, which is where ptxas reads them.
    pub words: Vec<OsString>,
    /// The inputs in order.
    pub inputs: Vec<Input>,
    /// The output file; `elf.o` in the working directory where the call names none.
    pub output: Option<OsString>,
    /// Where the call names the output file.
    pub output_place: OutputPlace,
    /// The architecture that the call names, as written (`sm_80`).
    pub architecture: Option<String>,
    /// Why the call has to reach ptxas as it is, if it has to.
    pub hand_over: Option<&'static str>,
    /// Whether messages without a file name count lines of something else than the input.
    pub foreign_lines: bool,
}

/// Options files nested deeper than this are left to ptxas, which also refuses them at some depth.
const MAX_NESTING: usize = 8;

impl CommandLine {
    /// Understands the arguments of a call (the program's name not among them). `read` gives the
    /// bytes of an options file, or `None` if it cannot be read.
    pub fn parse(arguments: &[OsString], read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> CommandLine {
        let mut scan = Scan::empty(read);
        scan.words(arguments, 0);
        scan.finish()
    }

    /// The path or text of an input.
    pub fn value(&self, input: &Input) -> &OsStr {
        OsStr::from_bytes(&self.words[input.word].as_bytes()[input.at..])
    }

    /// The words with the values of some inputs exchanged.
    pub fn with_values<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v Input, &'v OsStr)>,
    ) -> Vec<OsString> {
        let mut words = self.words.clone();
        for (input, value) in values {
            let mut word = words[input.word].as_bytes()[..input.at].to_vec();
            word.extend_from_slice(value.as_bytes());
            words[input.word] = OsString::from_vec(word);
        }
        words
    }

    /// The words with another output file; `None` where it is not clear which word names it.
    pub fn with_output(&self, output: &OsStr) -> Option<Vec<OsString>> {
        self.exchange_output(self.words.clone(), output)
    }

    /// `words`, which are [`CommandLine::words`] with other values, with another output file.
    pub fn exchange_output(
        &self,
        mut words: Vec<OsString>,
        output: &OsStr,
    ) -> Option<Vec<OsString>> {
        match self.output_place {
            OutputPlace::Nowhere => words.extend([OsString::from("-o"), output.to_owned()]),
            OutputPlace::Word { word, at } => {
                let mut changed = words[word].as_bytes()[..at].to_vec();
                changed.extend_from_slice(output.as_bytes());
                words[word] = OsString::from_vec(changed);
            }
            OutputPlace::Unclear => return None,
        }
        Some(words)
    }
}

/// Makes `words` name a file where they held a text: the value of `input` is a path already, and its
/// option goes. Inputs of a call are treated so from the last to the first, because words vanish.
pub fn text_to_file(words: &mut Vec<OsString>, input: &Input) {
    if input.at > 0 {
        words[input.word] = OsStr::from_bytes(&words[input.word].as_bytes()[input.at..]).to_owned();
    } else {
        words.remove(input.word - 1);
    }
}

/// The state of a walk through the words from left to right.
struct Scan<'r> {
    read: &'r dyn Fn(&Path) -> Option<Vec<u8>>,
    words: Vec<OsString>,
    /// Each input with whether it may be the value of an unknown option instead.
    inputs: Vec<(Input, bool)>,
    output: Option<OsString>,
    output_place: OutputPlace,
    architecture: Option<OsString>,
    hand_over: Option<&'static str>,
}

impl<'r> Scan<'r> {
    fn empty(read: &'r dyn Fn(&Path) -> Option<Vec<u8>>) -> Scan<'r> {
        Scan {
            read,
            words: Vec::new(),
            inputs: Vec::new(),
            output: None,
            output_place: OutputPlace::Nowhere,
            architecture: None,
            hand_over: None,
        }
    }

    fn words(&mut self, arguments: &[OsString], nesting: usize) {
        let mut rest = arguments.iter();
        let mut doubtful = false;
        while let Some(argument) = rest.next() {
            let after_unknown = std::mem::take(&mut doubtful);
            match classify(argument.as_bytes()) {
                Word::Operand => {
                    self.words.push(argument.clone());
                    self.input(input_kind(argument), 0, after_unknown);
                }
                Word::Unknown(has_value) => {
                    self.words.push(argument.clone());
                    doubtful = !has_value;
                    if !has_value || may_name_a_file(argument.as_bytes()) {
                        self.output_place = OutputPlace::Unclear;
                    }
                }
                Word::Complete(spec, at) => {
                    self.option(spec, std::slice::from_ref(argument), at, nesting);
                }
                Word::Pending(spec) => match rest.next() {
                    Some(value) => {
                        self.option(spec, &[argument.clone(), value.clone()], Some(0), nesting);
                    }
                    None => {
                        self.words.push(argument.clone());
                        self.hand_over = Some("an option lacks its value");
                    }
                },
            }
        }
    }

    /// Takes the words of one option; its value begins at byte `at` of the last of them.
    fn option(&mut self, spec: &Spec, words: &[OsString], at: Option<usize>, nesting: usize) {
        let last = words.last().map_or(&[][..], |word| word.as_bytes());
        let value = OsStr::from_bytes(at.map_or(&[][..], |at| &last[at..]));
        if spec.role == Role::OptionsFile && self.include(value, nesting) {
            return;
        }
        self.words.extend_from_slice(words);
        match spec.role {
            Role::Plain | Role::OptionsFile => {}
            Role::Query => self.hand_over = Some("ptxas only prints something"),
            Role::Debug => self.hand_over = Some("code to be debugged stays as it is"),
            Role::Output => {
                self.output = Some(value.to_owned());
                let place = OutputPlace::Word { word: self.words.len() - 1, at: at.unwrap_or(0) };
                self.place_output(place);
            }
            Role::Architecture => self.architecture = Some(value.to_owned()),
            Role::Text => self.input(Kind::Text, at.unwrap_or(0), false),
        }
    }

    /// Notes where the output file is named; a second time, it is unclear.
    fn place_output(&mut self, place: OutputPlace) {
        self.output_place = match self.output_place {
            OutputPlace::Nowhere => place,
            _ => OutputPlace::Unclear,
        };
    }

    /// Notes the last word as an input.
    fn input(&mut self, kind: Kind, at: usize, doubtful: bool) {
        self.inputs.push((Input { kind, word: self.words.len() - 1, at }, doubtful));
    }

    /// Reads options files. Returns true if they name inputs or the output, and their words have been
    /// taken; otherwise only their options have been noted.
    fn include(&mut self, names: &OsStr, nesting: usize) -> bool {
        let mut inner = Scan::empty(self.read);
        for name in names.as_bytes().split(|&byte| byte == b',') {
            let words = (nesting < MAX_NESTING)
                .then(|| (self.read)(Path::new(OsStr::from_bytes(name))))
                .flatten()
                .and_then(|text| options_file::split(&text));
            match words {
                Some(words) => inner.words(&words, nesting + 1),
                // A file that can be read only once, for one.
                None => self.hand_over = Some("an options file that only ptxas can read"),
            }
        }
        self.hand_over = self.hand_over.or(inner.hand_over);
        self.output = inner.output.or(self.output.take());
        self.architecture = inner.architecture.or(self.architecture.take());
        // (So that the output can be exchanged, too.)
        let named = !inner.inputs.is_empty() || inner.output_place != OutputPlace::Nowhere;
        let shift = self.words.len();
        match inner.output_place {
            OutputPlace::Nowhere => {}
            OutputPlace::Word { word, at } if named => {
                self.place_output(OutputPlace::Word { word: word + shift, at });
            }
            OutputPlace::Word { .. } | OutputPlace::Unclear => {
                self.output_place = OutputPlace::Unclear;
            }
        }
        if named {
            self.words.append(&mut inner.words);
            self.inputs.extend(inner.inputs.into_iter().map(|(mut input, doubtful)| {
                input.word += shift;
                (input, doubtful)
            }));
        }
        named
    }

    fn finish(self) -> CommandLine {
        let certain = self.inputs.iter().any(|(_, doubtful)| !doubtful);
        let inputs: Vec<Input> = self
            .inputs
            .into_iter()
            .filter(|(_, doubtful)| !(certain && *doubtful))
            .map(|(input, _)| input)
            .collect();
        let stdin = inputs.iter().filter(|input| input.kind == Kind::Stdin).count();
        let architecture =
            self.architecture.as_ref().map(|name| name.to_string_lossy().into_owned());
        let is_virtual = self.architecture.is_some_and(|name| {
            [&b"compute_"[..], b"lto_"].iter().any(|prefix| name.as_bytes().starts_with(prefix))
        });
        let hand_over = self
            .hand_over
            .or(is_virtual.then_some("a virtual architecture: ptxas only checks the syntax"))
            .or(inputs.is_empty().then_some("no input"))
            .or((stdin > 1).then_some("standard input is named twice"));
        CommandLine {
            words: self.words,
            architecture,
            inputs,
            output: self.output,
            output_place: self.output_place,
            hand_over,
            foreign_lines: false,
        }
    }
}

/// The kind of input that an operand names.
fn input_kind(word: &OsStr) -> Kind {
    match word.as_bytes() {
        b"-" | b"/dev/stdin" | b"/dev/fd/0" | b"/proc/self/fd/0" => Kind::Stdin,
        _ => Kind::File,
    }
}

/// Whether the value of an option that is not known may be an output file. ptxas has hundreds of options that it does not
/// document; what compilers pass of them are levels and switches.
fn may_name_a_file(argument: &[u8]) -> bool {
    let text = argument.to_ascii_lowercase();
    let has = |word: &[u8]| memchr::memmem::find(&text, word).is_some();
    has(b"out") || has(b"file") || has(b"/") || has(b".")
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        inputs_are_told_from_values_and_keep_their_order,
        every_word_is_kept_in_order,
        a_word_after_an_unknown_option_is_an_input_only_for_want_of_another,
        where_the_output_is_named_may_be_unclear,
        some_calls_are_handed_over,
        an_options_file_with_inputs_is_spliced_in_place,
        the_output_is_exchanged_where_it_stands,
        values_are_exchanged_where_they_stand
    );

    /// The options files that exist in these tests.
    fn read(path: &Path) -> Option<Vec<u8>> {
        match path.to_str()? {
            "plain" => Some(b"-arch sm_80\n-v".to_vec()),
            "inputs" => Some(b"\"b c.ptx\" -optf plain -o x".to_vec()),
            "virtual" => Some(b"-arch=compute_80".to_vec()),
            "output" => Some(b"-o z".to_vec()),
            "loop" => Some(b"-optf loop".to_vec()),
            _ => None,
        }
    }

    fn parse(line: &str) -> CommandLine {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        CommandLine::parse(&words, &read)
    }

    fn inputs(line: &str) -> Vec<String> {
        let parsed = parse(line);
        let value = |input| parsed.value(input).to_string_lossy().into_owned();
        parsed.inputs.iter().map(value).collect()
    }

    fn inputs_are_told_from_values_and_keep_their_order() {
        assert_eq!(inputs("-arch sm_80 -O3 a.ptx -o b.cubin c.x -m 64"), ["a.ptx", "c.x"]);
        assert_eq!(inputs("-c -o /dev/null X.o --gpu-name sm_53 -O0"), ["X.o"]);
        assert_eq!(inputs("-O 3 a.ptx"), ["3", "a.ptx"], "as ptxas takes it");
        assert_eq!(parse("a.ptx -o b --output-file=c").output, Some("c".into()), "the last counts");
    }

    fn every_word_is_kept_in_order() {
        for line in ["-arch=sm_80 --new 1 a.ptx -v", "-o", "-optf plain a.ptx", "-optf none a.ptx"]
        {
            assert_eq!(parse(line).words, line.split_whitespace().collect::<Vec<_>>());
        }
    }

    fn a_word_after_an_unknown_option_is_an_input_only_for_want_of_another() {
        assert_eq!(inputs("--new x a.ptx"), ["a.ptx"]);
        assert_eq!(inputs("--new a.ptx"), ["a.ptx"]);
        assert_eq!(inputs("--new=x a.ptx b.ptx"), ["a.ptx", "b.ptx"]);
    }

    fn where_the_output_is_named_may_be_unclear() {
        let place = |line: &str| parse(line).output_place;
        let clear = OutputPlace::Word { word: 2, at: 0 };
        assert_eq!(place("a.ptx -o x"), clear);
        for option in ["--new=2", "--regAllocOptLevel=2", "-knob=on"] {
            assert_eq!(place(&format!("a.ptx -o x {option}")), clear, "{option}");
        }
        assert_eq!(place("--regAllocOptLevel 2 -v"), OutputPlace::Nowhere);
        for option in ["--new", "--new 2", "--outfile=y", "--dump-File=y", "--new=./y", "-o y"] {
            let place = place(&format!("a.ptx -o x {option}"));
            assert_eq!(place, OutputPlace::Unclear, "{option}");
        }
    }

    fn some_calls_are_handed_over() {
        for line in [
            "",
            "-v",
            "--version a.ptx",
            "-h",
            "--list-arch",
            "-g a.ptx",
            "-arch compute_80 a.ptx",
            "--gpu-name=lto_90 a.ptx",
            "-optf virtual a.ptx",
            "-optf none a.ptx",
            "-optf loop a.ptx",
            "a.ptx -o",
            "- /dev/stdin",
        ] {
            assert!(parse(line).hand_over.is_some(), "{line}");
        }
        for line in ["a.ptx", "-", "-arch compute_80 a.ptx -arch sm_80", "-optf=plain a.ptx"] {
            assert_eq!(parse(line).hand_over, None, "{line}");
        }
    }

    fn an_options_file_with_inputs_is_spliced_in_place() {
        let parsed = parse("a.ptx -optf inputs -v");
        assert_eq!(parsed.words, ["a.ptx", "b c.ptx", "-optf", "plain", "-o", "x", "-v"]);
        assert_eq!(inputs("a.ptx -optf inputs -v"), ["a.ptx", "b c.ptx"]);
        assert_eq!(parsed.output, Some("x".into()));
        assert_eq!(parse("-optf plain,inputs").words[..2], ["-arch", "sm_80"]);
    }

    fn the_output_is_exchanged_where_it_stands() {
        let exchanged = |line: &str| {
            let words = parse(line).with_output(OsStr::new("new"))?;
            Some(words.join(OsStr::new(" ")).into_string().unwrap())
        };
        for (line, expected) in [
            ("-o x a.ptx", "-o new a.ptx"),
            ("a.ptx --output-file=x -v", "a.ptx --output-file=new -v"),
            ("a.ptx", "a.ptx -o new"),
            ("-v -optf inputs", "-v b c.ptx -optf plain -o new"),
            ("-optf plain a.ptx", "-optf plain a.ptx -o new"),
            ("-optf output a.ptx", "-o new a.ptx"),
        ] {
            assert_eq!(exchanged(line).as_deref(), Some(expected), "{line}");
        }
        for line in
            ["a.ptx -o x -o x", "a.ptx -o x --new", "-o y -optf output a.ptx", "-o x -optf inputs"]
        {
            assert_eq!(exchanged(line), None, "{line}");
        }
    }

    fn values_are_exchanged_where_they_stand() {
        let parsed = parse("--input-as-string=abc -ias d e.ptx -");
        let kinds: Vec<Kind> = parsed.inputs.iter().map(|input| input.kind).collect();
        assert_eq!(kinds, [Kind::Text, Kind::Text, Kind::File, Kind::Stdin]);
        let words =
            parsed.with_values(parsed.inputs[..3].iter().zip(["1", "2", "3"].map(OsStr::new)));
        assert_eq!(words, ["--input-as-string=1", "-ias", "2", "3", "-"]);
    }
}
