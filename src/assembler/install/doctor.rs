//! Checks an installation from end to end.
//!
//! In: where to look, and the environment's settings. Out: one [`Finding`] for each check, with advice if it fails. The
//! doctor starts the assemblers that it finds; it changes nothing but temporary files of its own.

use super::Refusal;
use super::place::Place;
use super::state::{Entry, State, Twins, is_ours};
use crate::ptxas::locate::{self, Search};
use crate::ptxas::role::{Dialect, Role};
use crate::ptxas::search::chain;
use crate::ptxas::trial::{self, Question};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How good a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// It is as it should be.
    Good,
    /// It is worth knowing.
    Note,
    /// Something does not work.
    Wrong,
}

/// One thing that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How good it is.
    pub level: Level,
    /// The finding.
    pub what: String,
    /// What to do.
    pub help: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    pub fn good(what: impl Into<String>) -> Finding {
        Finding { level: Level::Good, what: what.into(), help: None }
    }

    /// Something worth knowing.
    pub fn note(what: impl Into<String>) -> Finding {
        Finding { level: Level::Note, what: what.into(), help: None }
    }

    /// Something that does not work, and what to do.
    pub fn wrong(what: impl Into<String>, help: impl Into<String>) -> Finding {
        Finding { level: Level::Wrong, what: what.into(), help: Some(help.into()) }
    }
}

/// The installation to check.
#[derive(Clone, Debug)]
pub struct Examination<'e> {
    /// The toolkit's folder; without one, the folder of the ptxas that `PATH` leads to.
    pub directory: Option<&'e Path>,
    /// The name and file of this program, the value of `PTXASW_PTXAS`, and `PATH`.
    pub search: Search,
    /// Whether the user has switched rewriting off.
    pub off: bool,
    /// Whether the solver works.
    pub solver: fn() -> Finding,
    /// The number of replaced loads, as the only report in a folder says.
    pub replaced: fn(&Path) -> Option<usize>,
}

/// Checks everything.
pub fn examine(examination: &Examination<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let front = front(examination, &mut findings);
    findings.push(temporary_folder());
    findings.push((examination.solver)());
    let real = real(examination, front.as_deref(), &mut findings);
    nvcc(examination, &mut findings);
    if let Some(real) = real {
        if examination.off {
            findings.push(Finding::note("PTXASW=off: every call is handed over untouched"));
        } else {
            findings.push(end_to_end(examination, front.as_deref(), &real));
        }
    }
    findings
}

/// The ptxas that a compiler would call, if it is a stand-in.
fn front(examination: &Examination<'_>, findings: &mut Vec<Finding>) -> Option<PathBuf> {
    match stand_in(examination) {
        Ok((path, current)) => {
            findings.push(Finding::good(format!("{} is ptxasw", path.display())));
            if !current {
                findings.push(Finding::note(format!(
                    "{} is another build than this one; `ptxasw install` updates it",
                    path.display()
                )));
            }
            Some(path)
        }
        Err(finding) => {
            findings.push(finding);
            None
        }
    }
}

/// The stand-in that a compiler would call, and whether it is the build that runs now. The error says
/// what else is in its place.
fn stand_in(examination: &Examination<'_>) -> Result<(PathBuf, bool), Finding> {
    let refused =
        |refusal: Refusal| Finding::wrong(refusal.reason, refusal.help.unwrap_or_default());
    let place = match examination.directory {
        Some(directory) => Place::find(directory, OsStr::new("ptxas")).map_err(refused)?,
        None => {
            let path = in_path("ptxas", &examination.search)
                .ok_or_else(|| Finding::note("no ptxas in PATH"))?;
            Place { folder: folder_of(&path), name: "ptxas".into() }
        }
    };
    let path = place.front();
    let state = State::of(&place, Some(&examination.search.executable))
        .map_err(|refusal| Finding::wrong(refusal.reason, "make it readable"))?;
    let install = format!("run `ptxasw install {}`", place.folder.display());
    let shown = path.display();
    Err(match (state.front, state.real) {
        (Entry::Ours { .. }, Entry::Ours { .. }) => refused(state.unsuitable(&place)),
        (Entry::Ours { current, .. }, _) => return Ok((path, current)),
        (Entry::Program, Entry::Program) if state.twins == Twins::Different => Finding::wrong(
            format!("{shown} is not ptxasw, though a ptxas.real lies beside it"),
            format!("if an update of the toolkit put it there, remove ptxas.real, then {install}"),
        ),
        (Entry::Program, _) if examination.directory.is_none() => {
            Finding::note(format!("{shown} is not ptxasw; to change that, {install}"))
        }
        (Entry::Program, _) => Finding::wrong(format!("{shown} is not ptxasw"), install),
        (Entry::Missing | Entry::Dangling, Entry::Program) => {
            Finding::wrong(format!("{shown} is missing or leads nowhere"), install)
        }
        _ => refused(state.unsuitable(&place)),
    })
}

/// The real ptxas that the front, or this program, finds, and how it is found.
fn real(
    examination: &Examination<'_>,
    front: Option<&Path>,
    findings: &mut Vec<Finding>,
) -> Option<PathBuf> {
    let mut search = examination.search.clone();
    if let Some(front) = front {
        search.called_as = front.as_os_str().to_owned();
        search.executable = front.canonicalize().unwrap_or_else(|_| front.to_owned());
        search.image = None;
    }
    let path = match locate::find(&search, &Role::default()) {
        Ok(path) => path,
        Err(error) => {
            findings.push(Finding::wrong(error.reason(), error.help()));
            return None;
        }
    };
    let kept: Vec<PathBuf> =
        chain(&search).iter().map(|file| file.with_file_name("ptxas.real")).collect();
    let beside = kept.contains(&path);
    if let Some(other) = kept.iter().find(|other| !beside && other.exists()) {
        findings.push(Finding::note(format!("PTXASW_PTXAS comes before {}", other.display())));
    }
    let how = if beside {
        "as ptxas.real beside it"
    } else if search.explicit.as_deref().is_some_and(|name| !name.is_empty()) {
        "by PTXASW_PTXAS"
    } else {
        "in PATH"
    };
    if is_ours(&path).unwrap_or(false) {
        findings.push(Finding::wrong(
            format!("{} is taken for the real ptxas ({how}), and is ptxasw too", path.display()),
            "set PTXASW_PTXAS to the path of NVIDIA's ptxas",
        ));
        return None;
    }
    match trial::version(&path, Dialect::Ptxas) {
        Ok(version) => {
            let what = format!("the real ptxas is {} ({version}), found {how}", path.display());
            findings.push(Finding::good(what));
            Some(path)
        }
        Err(why) => {
            findings.push(Finding::wrong(
                format!("the real ptxas, {}, found {how}: {why}", path.display()),
                "install the toolkit again, or set PTXASW_PTXAS to another ptxas",
            ));
            None
        }
    }
}

/// nvcc runs the ptxas beside it, whatever `PATH` says.
fn nvcc(examination: &Examination<'_>, findings: &mut Vec<Finding>) {
    let Some(nvcc) = in_path("nvcc", &examination.search) else { return };
    let ptxas = nvcc.with_file_name("ptxas");
    if examination.directory.is_some() || !ptxas.exists() {
        return;
    }
    let shown = nvcc.display();
    findings.push(match is_ours(&ptxas) {
        Ok(true) => Finding::good(format!("{shown} runs the ptxasw beside it")),
        _ => Finding::note(format!(
            "{shown} runs the plain ptxas beside it; to change that, run `ptxasw install {}`",
            folder_of(&nvcc).display()
        )),
    });
}

/// The folder that holds a file.
fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).to_owned()
}

fn in_path(name: &str, search: &Search) -> Option<PathBuf> {
    which::which_in(name, search.path.as_ref(), &search.directory).ok()
}

fn temporary_folder() -> Finding {
    let folder = std::env::temp_dir();
    match tempfile::tempfile_in(&folder) {
        Ok(_) => Finding::good(format!("temporary files can be written in {}", folder.display())),
        Err(error) => Finding::wrong(
            format!("temporary files cannot be written in {}: {error}", folder.display()),
            "set TMPDIR to a folder that can be written; until then nothing is rewritten",
        ),
    }
}

/// `b[i] = a[i] + a[i + 1]`, without its first lines.
const KERNEL: &str = "\
.address_size 64
.visible .entry neighbours(.param .u64 a, .param .u64 b)
{
	.reg .f32 %f<4>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd5, %r1, 4;
	add.s64 %rd6, %rd3, %rd5;
	add.s64 %rd7, %rd4, %rd5;
	ld.global.f32 %f1, [%rd6+4];
	ld.global.f32 %f2, [%rd6];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd7], %f3;
	ret;
}
";

/// Versions and targets to try one after the other, since no toolkit knows them all.
const TARGETS: [(&str, &str); 3] = [("7.0", "sm_80"), ("6.2", "sm_70"), ("8.7", "sm_100")];

/// Assembles a kernel with one load to replace, in the way a compiler would.
fn end_to_end(examination: &Examination<'_>, front: Option<&Path>, real: &Path) -> Finding {
    let untried = |error: std::io::Error| {
        Finding::wrong(format!("no kernel can be tried: {error}"), "see TMPDIR above")
    };
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        // (Its message names the folder, and that name is random.)
        Err(error) => return untried(error.kind().into()),
    };
    let input = folder.path().join("neighbours.ptx");
    let output = folder.path().join("neighbours.cubin");
    let mut said = String::new();
    for (version, target) in TARGETS {
        let text = format!(".version {version}\n.target {target}\n{KERNEL}");
        if let Err(error) = std::fs::write(&input, text) {
            return untried(error);
        }
        let words: Vec<OsString> = vec![
            format!("-arch={target}").into(),
            input.clone().into(),
            "-o".into(),
            output.clone().into(),
        ];
        match (Question { program: real, arguments: &words, environment: &[] }).ask() {
            Ok(answer) if answer.status.success() => {
                let reports = folder.path().join("reports");
                return through(examination, front, real, (target, words), &reports);
            }
            Ok(answer) => said = answer.text,
            Err(error) => said = error.to_string(),
        }
    }
    Finding::wrong(
        format!("the real ptxas refuses a small kernel: {}", said.trim()),
        "install the toolkit again",
    )
}

/// Assembles a kernel that the real ptxas accepts through ptxasw; `words` are the arguments of the call
/// and `reports` is the folder for its report.
fn through(
    examination: &Examination<'_>,
    front: Option<&Path>,
    real: &Path,
    (target, mut words): (&str, Vec<OsString>),
    reports: &Path,
) -> Finding {
    let help = "`PTXASW_LOG=info` shows what happens in a call";
    // (Whether a shuffle pays on this architecture is not asked here.)
    let mut environment =
        vec![("PTXASW_REPORT", reports.as_os_str()), ("PTXASW_STRATEGY", OsStr::new("paper"))];
    let program = front.unwrap_or(&examination.search.executable);
    if front.is_none() {
        words.splice(0..0, ["ptxas".into(), "--".into()]);
        environment.push(("PTXASW_PTXAS", real.as_os_str()));
    }
    let answer = match (Question { program, arguments: &words, environment: &environment }).ask() {
        Ok(answer) => answer,
        Err(error) => return Finding::wrong(format!("{}: {error}", program.display()), help),
    };
    let what = format!("a kernel for {target} was assembled through {}", program.display());
    match (examination.replaced)(reports) {
        Some(1..) if answer.status.success() && answer.text.is_empty() => Finding::good(format!(
            "{what}, and its load was replaced by a shuffle (the test asks for strategy `paper`)"
        )),
        _ if !answer.status.success() => Finding::wrong(
            format!("{} fails ({}): {}", program.display(), answer.status, answer.text.trim()),
            help,
        ),
        _ if !answer.text.is_empty() => {
            Finding::wrong(format!("{what}, with a complaint: {}", answer.text.trim()), help)
        }
        Some(_) => Finding::note(format!("{what}; the options set replace nothing in it")),
        None => Finding::wrong(format!("{what}, and nothing was examined"), help),
    }
}
