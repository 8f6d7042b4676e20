//! What threads do together as PTX: barriers, values that lanes give each other, calls of device functions.

use super::kernel::{Barrier, Collective, SLOT, Var};
use super::writer::{Kind, Writer};

/// A device function, under a name that no other kernel's functions have.
pub fn function(name: &str, seed: u64) -> String {
    let text = match name {
        "bump" => {
            ".func (.param .b32 old) bump(.param .b64 at)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %d<3>;\n\
             \tld.param.u64 %d1, [at];\n\tcvta.to.global.u64 %d2, %d1;\n\
             \tld.global.u32 %r1, [%d2];\n\tadd.s32 %r2, %r1, 7;\n\tst.global.u32 [%d2], %r2;\n\
             \tst.param.b32 [old], %r1;\n\tret;\n}\n\n"
        }
        "triple" => {
            ".func (.param .b32 result) triple(.param .b32 of)\n{\n\t.reg .b32 %r<3>;\n\
             \tld.param.u32 %r1, [of];\n\tmad.lo.s32 %r2, %r1, 3, 1;\n\tand.b32 %r2, %r2, 63;\n\
             \tst.param.b32 [result], %r2;\n\tret;\n}\n\n"
        }
        _ => {
            ".func (.param .b32 sum) stencil(.param .b64 at, .param .b32 i)\n{\n\t.reg .b32 %r<6>;\n\
             \t.reg .b64 %d<4>;\n\tld.param.u64 %d1, [at];\n\tld.param.u32 %r1, [i];\n\
             \tcvta.to.global.u64 %d2, %d1;\n\tmad.wide.s32 %d3, %r1, 4, %d2;\n\
             \tld.global.u32 %r2, [%d3];\n\tld.global.u32 %r3, [%d3+4];\n\
             \tmad.lo.s32 %r4, %r2, 5, %r3;\n\tst.param.b32 [sum], %r4;\n\tret;\n}\n\n"
        }
    };
    text.replacen(&format!(" {name}("), &format!(" {name}_{seed}("), 1)
}

impl Writer<'_> {
    pub(super) fn publish(&mut self, barrier: Barrier) {
        let barrier = match barrier {
            Barrier::Block => "bar.sync 0",
            Barrier::Warp => "bar.warp.sync 0xffffffff",
        };
        let (base, thread) = (self.published(), self.value(Var::Linear));
        let result = self.result();
        let place = self.make(Kind::Double, "mad.wide.u32", &[&thread, "4", &base]);
        self.line(barrier);
        self.line(&format!("st.global.u32 [{place}], {result}"));
        self.line(barrier);
    }

    /// The array that threads of a block exchange values through.
    pub(super) fn shared(&mut self) -> String {
        let (thread, words) = (self.value(Var::Linear), self.kernel.threads());
        self.at_entry("shared", Kind::Word, |w, r| {
            w.variables += &format!("\t.shared .align 4 .b8 room[{}];\n", 4 * words);
            w.first(&format!("mov.u32 {r}, room"));
            w.first(&format!("mad.lo.s32 {r}, {thread}, 4, {r}"));
            w.first(&format!("st.shared.u32 [{r}], 0"));
        })
    }

    pub(super) fn exchange(&mut self, further: u32) {
        let (own, thread) = (self.shared(), self.value(Var::Linear));
        let result = self.result();
        self.line("bar.sync 0");
        self.line(&format!("st.shared.u32 [{own}], {result}"));
        self.line("bar.sync 0");
        let other = self.make(Kind::Word, "add.s32", &[&thread, &further.to_string()]);
        let threads = self.kernel.threads().to_string();
        let other = self.make(Kind::Word, "rem.u32", &[&other, &threads]);
        let room = self.make(Kind::Word, "mov.u32", &["room"]);
        let place = self.make(Kind::Word, "mad.lo.s32", &[&other, "4", &room]);
        let got = self.temporary(Kind::Word);
        self.line(&format!("ld.shared.u32 {got}, [{place}]"));
        self.fold(Kind::Word, &got);
    }

    pub(super) fn active_mask(&mut self) -> String {
        let mask = self.temporary(Kind::Word);
        self.line(&format!("activemask.b32 {mask}"));
        mask
    }

    pub(super) fn collective(&mut self, collective: Collective) {
        let got = match collective {
            Collective::ActiveMask => self.active_mask(),
            Collective::Ballot(condition) => {
                let predicate = self.condition(condition);
                let (mask, got) = (self.active_mask(), self.temporary(Kind::Word));
                self.line(&format!("vote.sync.ballot.b32 {got}, {predicate}, {mask}"));
                got
            }
            Collective::Shuffle(bits) => {
                let (mask, result) = (self.active_mask(), self.result());
                let got = self.temporary(Kind::Word);
                let (from, takes_part) = self.partner(&mask, bits);
                self.line(&format!("shfl.sync.idx.b32 {got}, {result}, {from}, 31, {mask}"));
                self.make(Kind::Word, "selp.b32", &[&got, "5", &takes_part])
            }
        };
        self.fold(Kind::Word, &got);
    }

    /// The lane that differs in some bits if it takes part, else the own one, and whether it does:
    /// what a lane delivers that takes no part is unpredictable.
    pub(super) fn partner(&mut self, mask: &str, bits: u32) -> (String, String) {
        let lane = self.value(Var::Lane);
        let other = self.make(Kind::Word, "xor.b32", &[&lane, &bits.to_string()]);
        let bit = self.make(Kind::Word, "shr.u32", &[mask, &other]);
        let bit = self.make(Kind::Word, "and.b32", &[&bit, "1"]);
        let takes_part = self.temporary(Kind::Predicate);
        self.line(&format!("setp.ne.s32 {takes_part}, {bit}, 0"));
        (self.make(Kind::Word, "selp.b32", &[&other, &lane, &takes_part]), takes_part)
    }

    pub(super) fn bump(&mut self) {
        let slot = self.own("own", "slot", SLOT);
        let address = self.make(Kind::Double, "cvta.global.u64", &[&slot]);
        let old = self.temporary(Kind::Word);
        self.call("bump", &[("b64", &address)], &old);
        self.fold(Kind::Word, &old);
    }

    pub(super) fn stencil(&mut self) {
        let (pointer, x) = (self.pointer("a", true), self.value(Var::X));
        self.extend("a", 4 * u64::from(self.kernel.most(Var::X) + 2));
        let sum = self.temporary(Kind::Word);
        self.call("stencil", &[("b64", &pointer), ("b32", &x)], &sum);
        self.fold(Kind::Word, &sum);
    }

    pub(super) fn call(&mut self, name: &'static str, arguments: &[(&str, &str)], result: &str) {
        self.functions.insert(name);
        self.line("{ .param .b32 back");
        let names: Vec<String> = (0..arguments.len()).map(|index| format!("p{index}")).collect();
        for ((ty, value), name) in arguments.iter().zip(&names) {
            self.line(&format!(".param .{ty} {name}"));
            self.line(&format!("st.param.{ty} [{name}], {value}"));
        }
        let seed = self.kernel.seed;
        self.line(&format!("call.uni (back), {name}_{seed}, ({})", names.join(", ")));
        self.line(&format!("ld.param.b32 {result}, [back]"));
        self.body += "\t}\n";
    }
}
