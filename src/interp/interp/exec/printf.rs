//! `vprintf`: a format of the C library, and a buffer of arguments, each aligned to its size.

/// The zero-terminated text at an address, as far as it can be read.
pub(super) fn text(address: u64, byte: impl Fn(u64) -> Option<u8>) -> String {
    let bytes: Vec<u8> =
        (address..).map_while(&byte).take_while(|&b| b != 0).take(1 << 16).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The formatted text and the number of arguments, which is what `vprintf` returns.
pub(super) fn format(format: u64, values: u64, byte: impl Fn(u64) -> Option<u8>) -> (String, u32) {
    let format = text(format, &byte);
    let mut at = values;
    let mut count = 0;
    let mut take = |bytes: u64| {
        at = at.div_ceil(bytes) * bytes;
        let value =
            (0..bytes).fold(0, |value, i| value | u64::from(byte(at + i).unwrap_or(0)) << (8 * i));
        at += bytes;
        count += 1;
        value
    };
    let mut out = String::new();
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(&c) = rest.peek() {
            match c {
                '-' => spec.left = true,
                '0' if spec.width.is_none() && !spec.dot => spec.zero = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                '*' => {
                    let value = take(4) as i32;
                    spec.number(value.unsigned_abs() as usize);
                    spec.left |= value < 0;
                }
                '.' => spec.dot = true,
                '0'..='9' => spec.digit(c),
                'h' => {}
                'l' | 'j' | 'z' | 't' => spec.long += 1,
                _ => break,
            }
            rest.next();
        }
        match rest.next() {
            Some('%') => out.push('%'),
            Some(kind) => spec.convert(kind, &mut take, &byte, &mut out),
            None => {}
        }
    }
    (out, count)
}

/// The flags, width and precision between `%` and the conversion's letter.
#[derive(Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    dot: bool,
    width: Option<usize>,
    precision: Option<usize>,
    long: u32,
}

impl Spec {
    fn number(&mut self, value: usize) {
        let value = Some(value.min(4096));
        if self.dot { self.precision = value } else { self.width = value }
    }

    fn digit(&mut self, digit: char) {
        let old = if self.dot { self.precision } else { self.width };
        self.number(old.unwrap_or(0) * 10 + digit.to_digit(10).unwrap_or(0) as usize);
    }

    fn convert(
        &self,
        kind: char,
        take: &mut impl FnMut(u64) -> u64,
        byte: &impl Fn(u64) -> Option<u8>,
        out: &mut String,
    ) {
        let integer = if self.long > 0 { 8 } else { 4 };
        let (sign, body, numeric) = match kind {
            'd' | 'i' => {
                let raw = take(integer);
                let value = if integer == 8 { raw as i64 } else { i64::from(raw as i32) };
                (self.sign(value < 0), self.digits(value.unsigned_abs().to_string()), true)
            }
            'u' => ("", self.digits(take(integer).to_string()), true),
            'x' => self.radix(take(integer), "0x", |v| format!("{v:x}")),
            'X' => self.radix(take(integer), "0X", |v| format!("{v:X}")),
            'o' => self.radix(take(integer), "0", |v| format!("{v:o}")),
            'p' => ("0x", format!("{:x}", take(8)), true),
            'c' => ("", char::from(take(4) as u8).to_string(), false),
            's' => {
                let full = text(take(8), byte);
                let limit = self.precision.unwrap_or(usize::MAX);
                ("", full.chars().take(limit).collect(), false)
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                let value = f64::from_bits(take(8));
                let sign = self.sign(value.is_sign_negative());
                (sign, self.float(value.abs(), kind), value.is_finite())
            }
            other => {
                out.push('%');
                out.push(other);
                return;
            }
        };
        let length = sign.len() + body.chars().count();
        let fill = self.width.unwrap_or(0).saturating_sub(length);
        match (self.left, self.zero && numeric) {
            (true, _) => *out += &format!("{sign}{body}{}", " ".repeat(fill)),
            (false, true) => *out += &format!("{sign}{}{body}", "0".repeat(fill)),
            (false, false) => *out += &format!("{}{sign}{body}", " ".repeat(fill)),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn digits(&self, digits: String) -> String {
        let least = self.precision.unwrap_or(1);
        format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())))
    }

    fn radix(
        &self,
        value: u64,
        prefix: &'static str,
        show: fn(u64) -> String,
    ) -> (&'static str, String, bool) {
        let prefix = if self.alternate && value != 0 { prefix } else { "" };
        (prefix, self.digits(show(value)), true)
    }

    fn float(&self, value: f64, kind: char) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return "inf".to_owned();
        }
        let precision = self.precision.unwrap_or(6);
        let text = match kind.to_ascii_lowercase() {
            'f' => format!("{value:.precision$}"),
            'e' => exponential(value, precision),
            _ => {
                let precision = precision.max(1);
                let rounded = format!("{value:.*e}", precision - 1);
                let exponent: i32 =
                    rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
                let scientific = exponent < -4 || exponent >= precision as i32;
                let full = if scientific {
                    exponential(value, precision - 1)
                } else {
                    format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize)
                };
                if self.alternate { full } else { trim_zeros(&full) }
            }
        };
        if kind.is_ascii_uppercase() { text.to_uppercase() } else { text }
    }
}

/// A number as `%e` writes it: `1.500000e+00`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// Drops zeros at the end of a fraction.
fn trim_zeros(text: &str) -> String {
    let (mantissa, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    format!("{mantissa}{exponent}")
}
