//! The changes: each a few lines put around a source load and the load that it covers, or another
//! spelling of one of the two, and what then must become of the second.

/// What must become of the load.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// It stays, and the reason says so.
    Kept(&'static str),
    /// It may find another source, but not this one.
    NotFromThere,
    /// It may take its value from there only behind this guard.
    Behind(&'static str),
    /// Nothing happens.
    AsBefore,
}

/// Where a change applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Everywhere alike.
    Any,
    /// Read-only loads do not mind it.
    Writable,
}

/// One change. In all texts `{base}`, `{offset}` and `{far}` are the covered load's address
/// register, its immediate and a much larger one; `{source}` and `{load}` the two statements;
/// `%mr`, `%md` and `%mp` are registers of 32 and 64 bits and predicates for its own use.
pub struct Change {
    pub name: &'static str,
    pub memory: Memory,
    /// Instead of the source load.
    pub source: &'static str,
    /// Instead of the covered load; one of its lines must hold a load.
    pub load: &'static str,
    pub verdict: Verdict,
    /// It applies only to kernels without loops.
    pub not_in_loops: bool,
}

const fn between(name: &'static str, load: &'static str, reason: &'static str) -> Change {
    let verdict = Verdict::Kept(reason);
    Change {
        name,
        memory: Memory::Writable,
        source: "{source}",
        load,
        verdict,
        not_in_loops: false,
    }
}

const fn load(name: &'static str, load: &'static str, reason: &'static str) -> Change {
    let verdict = Verdict::Kept(reason);
    Change { name, memory: Memory::Any, source: "{source}", load, verdict, not_in_loops: false }
}

const fn source(name: &'static str, source: &'static str, load: &'static str) -> Change {
    Change {
        name,
        memory: Memory::Any,
        source,
        load,
        verdict: Verdict::NotFromThere,
        not_in_loops: false,
    }
}

const fn harmless(name: &'static str, load: &'static str) -> Change {
    let verdict = Verdict::AsBefore;
    Change { name, memory: Memory::Any, source: "{source}", load, verdict, not_in_loops: false }
}

/// In a loop such a change lets lanes meet in different iterations, too, and that would be the reason.
const fn not_in_loops(change: Change) -> Change {
    Change { not_in_loops: true, ..change }
}

/// All changes.
pub const CHANGES: &[Change] = &[
    between("barrier", "bar.sync 0;\n{load}", "barrier between"),
    between("barrier of some warps", "bar.sync 1, 64;\n{load}", "barrier between"),
    not_in_loops(between(
        "barrier of some threads",
        "barrier.sync 1, 64;\n{load}",
        "barrier between (`barrier.sync`)",
    )),
    between("barrier of the warp", "bar.warp.sync 0xffffffff;\n{load}", "barrier between"),
    between("fence", "fence.acq_rel.gpu;\n{load}", "barrier between"),
    between("old fence", "membar.cta;\n{load}", "barrier between"),
    between("asynchronous copies", "cp.async.wait_all;\n{load}", "between (`cp.async.wait_all`)"),
    between("atomic", "atom.global.add.u32 %mr1, [%md1], 1;\n{load}", "atomic between"),
    between("reduction", "red.global.add.u32 [%md1], 1;\n{load}", "atomic between"),
    between("atomic in shared memory", "atom.shared.add.u32 %mr1, [%mr2], 1;\n{load}", "atomic"),
    between("call", "call malloc;\n{load}", "call between"),
    not_in_loops(between("call of unknown code", "call elsewhere;\n{load}", "call between")),
    between("unknown instruction", "wonder.b32 %mr1, [%md1];\n{load}", "opaque instruction"),
    between(
        "store to the same place",
        "st.global.u8 [{base}+{offset}], %mr1;\n{load}",
        "may-alias store",
    ),
    between(
        "store to somewhere",
        "mov.u64 %md1, %clock64;\nst.global.u8 [%md1], %mr1;\n{load}",
        "may-alias store",
    ),
    between(
        "generic store",
        "mov.u64 %md1, %clock64;\nst.u8 [%md1], %mr1;\n{load}",
        "may-alias store",
    ),
    between(
        "guarded store",
        "setp.eq.u32 %mp1, %mr1, 7;\n@%mp1 st.global.u8 [{base}+{offset}], %mr1;\n{load}",
        "may-alias store",
    ),
    between(
        "store on a branch",
        "setp.eq.u32 %mp1, %mr1, 7;\n@%mp1 bra MUTATED;\nst.global.u8 [{base}+{offset}], %mr1;\nMUTATED:\n{load}",
        "may-alias store",
    ),
    between(
        "store on the way back",
        "mov.u32 %mr1, 0;\nMUTATED:\n{load}\nst.global.u8 [{base}+{offset}], %mr1;\nadd.u32 %mr1, %mr1, 1;\nsetp.lt.u32 %mp1, %mr1, 7;\n@%mp1 bra MUTATED;",
        "may-alias store",
    ),
    not_in_loops(between(
        "store on a way back that lanes take one by one",
        "MUTATED:\n{load}\nst.global.u8 [{base}+{offset}], %mr1;\nadd.u32 %mr1, %mr1, 1;\nsetp.lt.u32 %mp1, %mr1, 7;\n@%mp1 bra MUTATED;",
        "may-alias store",
    )),
    between(
        "volatile load of another place",
        "ld.volatile.global.u32 %mr1, [%md1];\n{load}",
        "synchronising load",
    ),
    between(
        "acquire of another place",
        "ld.acquire.gpu.global.u32 %mr1, [%md1];\n{load}",
        "synchronising load",
    ),
    between(
        "release of another place",
        "st.release.gpu.global.u32 [%md1], %mr1;\n{load}",
        "synchronising store",
    ),
    load("volatile", "{volatile}", "volatile loads"),
    load("relaxed", "{relaxed}", "relaxed loads"),
    load("an offset of more than 32 bits", "{far}", ""),
    load(
        "a lane's own offset",
        "mov.u32 %mr1, %laneid;\nxor.b32 %mr1, %mr1, 5;\nmul.wide.u32 %md1, %mr1, 64;\nadd.s64 %md1, {base}, %md1;\n{moved}",
        "",
    ),
    load(
        "an offset nobody knows",
        "mov.u64 %md1, %clock64;\nadd.s64 %md1, {base}, %md1;\n{moved}",
        "",
    ),
    load(
        "a loaded offset",
        "ld.global.u64 %md1, [{base}+4096];\nadd.s64 %md1, {base}, %md1;\n{moved}",
        "",
    ),
    load(
        "an offset for every other lane",
        "mov.u32 %mr1, %laneid;\nand.b32 %mr1, %mr1, 1;\nsetp.eq.u32 %mp1, %mr1, 0;\nselp.b64 %md1, 64, 0, %mp1;\nadd.s64 %md1, {base}, %md1;\n{moved}",
        "",
    ),
    load(
        "a guard written twice",
        "mov.u32 %mr1, %laneid;\nsetp.lt.u32 %mp1, %mr1, 9;\nsetp.gt.u32 %mp1, %mr1, 5;\n@%mp1 {load}",
        "guard predicate",
    ),
    source("volatile source", "{volatile}", "{load}"),
    source("other width", "{byte}", "{load}"),
    source(
        "source under a guard that changes",
        "mov.u32 %mr1, %laneid;\nsetp.lt.u32 %mp1, %mr1, 9;\n@%mp1 {source}",
        "setp.gt.u32 %mp1, %mr1, 5;\n{load}",
    ),
    Change {
        verdict: Verdict::Behind("source-executed"),
        ..source(
            "source on a branch",
            "mov.u32 %mr1, %laneid;\nsetp.lt.u32 %mp1, %mr1, 9;\n@%mp1 bra MUTATED;\n{source}\nMUTATED:",
            "{load}",
        )
    },
    source(
        "source of a place that moved",
        "add.s64 %md1, {source base}, 1048576;\n{source moved}",
        "{load}",
    ),
    harmless("arithmetic", "add.u32 %mr1, %mr1, 1;\n{load}"),
    harmless("store to shared memory", "st.shared.u32 [%mr2], %mr1;\n{load}"),
    harmless("store to local memory", "st.local.u32 [%mr2], %mr1;\n{load}"),
    harmless("plain load of another place", "ld.global.u16 %mr1, [%md1];\n{load}"),
    harmless(
        "vote",
        "mov.u32 %mr1, %laneid;\nsetp.lt.u32 %mp1, %mr1, 9;\nvote.sync.ballot.b32 %mr1, %mp1, 0xffffffff;\n{load}",
    ),
    // A new block between them, and the registers that a loop changes are not followed so far.
    not_in_loops(harmless(
        "some blocks leave",
        "mov.u32 %mr1, %ctaid.x;\nsetp.gt.u32 %mp1, %mr1, 9;\n@%mp1 ret;\n{load}",
    )),
];

/// A changed text and where the two loads now are.
pub struct Changed {
    pub text: String,
    pub source: u32,
    pub load: u32,
    pub verdict: Verdict,
}

/// Changes the pair at these lines; `None` if the change does not apply to it.
pub fn apply(change: &Change, text: &str, source: u32, load: u32) -> Option<Changed> {
    let lines: Vec<&str> = text.lines().collect();
    let (first, second) = (source as usize - 1, load as usize - 1);
    let pair = [lines[first].trim(), lines[second].trim()];
    let read_only = pair.iter().any(|line| line.contains(".nc."));
    let verdict = match change.memory {
        Memory::Writable if read_only => Verdict::AsBefore,
        _ => change.verdict,
    };
    if change.not_in_loops && lines.contains(&"LOOP:") {
        return None;
    }
    let body = (0..first).rev().find(|&at| lines[at].starts_with('{'))?;
    let mut out = String::new();
    let mut places = [0; 2];
    for (at, line) in lines.iter().enumerate() {
        let (which, pattern) = match at {
            _ if at == first => (0, change.source),
            _ if at == second => (1, change.load),
            _ => {
                out += line;
                out.push('\n');
                if at == body {
                    out += "\t.reg .b32 %mr<4>;\n\t.reg .b64 %md<4>;\n\t.reg .pred %mp<4>;\n";
                }
                if line.starts_with(".address_size") {
                    out += "\n.extern .func elsewhere\n;\n.extern .func malloc\n;\n";
                }
                continue;
            }
        };
        for statement in fill(pattern, pair, which)?.lines() {
            let opcode = statement.trim_start_matches("@%mp1 ");
            let own = opcode.contains("%mr1, [") || opcode.contains("%md1, [");
            if opcode.starts_with("ld.") && (!own || pattern == "{byte}") {
                places[which] = out.lines().count() as u32 + 1;
            }
            out += "\t";
            out += statement;
            out.push('\n');
        }
    }
    Some(Changed { text: out, source: places[0], load: places[1], verdict })
}

/// Puts the pair's parts into a pattern that stands for the first or the second of them.
fn fill(pattern: &str, pair: [&str; 2], which: usize) -> Option<String> {
    let own = pair[which];
    let [source, load] = pair;
    let (head, rest) = own.split_once('[')?;
    let (address, _) = rest.split_once(']')?;
    let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
    let offset: i64 = offset.parse().ok()?;
    let moved = |to: &str, offset: i64| format!("{head}[{to}+{offset}];");
    let qualified = |word: &str| {
        let plain = own.replace(".nc.", ".");
        plain.replacen("ld.", &format!("ld.{word}."), 1)
    };
    let (_, source_rest) = source.split_once('[')?;
    let source_base = source_rest.split([']', '+']).next()?;
    if pattern.contains("{byte}") && pair.iter().any(|line| line.contains("8 ")) {
        return None;
    }
    let filled = pattern
        .replace("{byte}", &format!("ld.global.u8 %mr1, [{address}];"))
        .replace("{volatile}", &qualified("volatile"))
        .replace("{relaxed}", &qualified("relaxed.gpu"))
        .replace("{far}", &moved(base, offset + (1 << 32)))
        .replace("{moved}", &moved("%md1", offset))
        .replace("{source moved}", &source.replacen(source_base, "%md1", 1))
        .replace("{source base}", source_base)
        .replace("{base}", base)
        .replace("{offset}", &offset.to_string())
        .replace("{source}", source)
        .replace("{load}", load);
    Some(filled)
}
