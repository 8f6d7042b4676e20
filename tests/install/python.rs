//! `ptxasw install --python` and what belongs to it: made-up packages in an environment of the machine's Python.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::folder::{Folder, PTXASW, REAL, stderr, stdout};

/// An environment with packages that have brought assemblers.
struct Environment {
    folder: Folder,
    packages: PathBuf,
}

impl Environment {
    fn new() -> Environment {
        let folder = Folder::empty();
        let made = Command::new("python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(folder.path("env"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let versions = fs::read_dir(folder.path("env/lib")).unwrap().flatten();
        let mut versions = versions.map(|entry| entry.path().join("site-packages"));
        let packages = versions.find(|path| path.is_dir()).expect("the packages' folder");
        let environment = Environment { folder, packages };
        environment.package("nvidia_cuda_nvcc", "13.1", &["nvidia/cu13/bin/ptxas"], REAL);
        let of_triton = ["ptxas", "ptxas-blackwell"];
        let of_triton = of_triton.map(|name| format!("triton/backends/nvidia/bin/{name}"));
        environment.package("triton", "3.5", &of_triton.each_ref().map(String::as_str), REAL);
        environment.package("other", "1.0", &["other/ptxas_of_mine.py", "other/ptxas.txt"], "");
        environment
    }

    /// Puts a package there, as pip does: what an earlier version has brought is replaced, and files that it
    /// has not brought stay.
    fn package(&self, name: &str, version: &str, files: &[&str], text: &str) {
        let old = fs::read_dir(&self.packages).unwrap().flatten();
        for entry in old.filter(|e| e.file_name().to_string_lossy().starts_with(name)) {
            if entry.path().extension().is_some_and(|e| e == "dist-info") {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        let info = format!("{name}-{version}.dist-info");
        fs::create_dir_all(self.packages.join(&info)).unwrap();
        let mut record = format!("{info}/METADATA,,\n{info}/RECORD,,\n");
        let about = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        fs::write(self.packages.join(&info).join("METADATA"), about).unwrap();
        for file in files {
            record += &format!("{file},,\n");
            fs::create_dir_all(self.packages.join(file).parent().unwrap()).unwrap();
            let path = self.packages.join(file);
            let inside = path.strip_prefix(self.folder.path("")).unwrap().to_str().unwrap();
            self.folder.script(inside, text);
        }
        fs::write(self.packages.join(&info).join("RECORD"), record).unwrap();
    }

    fn ptxasw(&self, arguments: &[&str]) -> Output {
        let mut call = self.folder.call(PTXASW);
        call.env("VIRTUAL_ENV", self.folder.path("env")).args(arguments);
        call.output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.ptxasw(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        stdout(&output)
    }

    fn refused(&self, arguments: &[&str]) -> Output {
        let output = self.ptxasw(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        output
    }

    fn nvcc(&self) -> PathBuf {
        self.packages.join("nvidia/cu13/bin/ptxas")
    }

    fn triton(&self, name: &str) -> PathBuf {
        self.packages.join("triton/backends/nvidia/bin").join(name)
    }

    fn is_ours(&self, path: &PathBuf) -> bool {
        fs::read(path).unwrap() == fs::read(PTXASW).unwrap()
    }
}

#[test]
fn packages_are_shown_and_nothing_is_done_unasked() {
    let environment = Environment::new();
    let output = environment.refused(&["install", "--python"]);
    let shown = stdout(&output);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[0].starts_with("nvidia_cuda_nvcc  13.1  plain "), "{shown}");
    assert!(lines[0].ends_with("/nvidia/cu13/bin/ptxas"), "{shown}");
    assert!(lines[2].ends_with("/bin/ptxas-blackwell"), "{shown}");
    assert!(stderr(&output).contains("nothing was changed"), "{output:?}");
    assert!(stderr(&output).contains("--yes"), "{output:?}");
    assert!(!environment.is_ours(&environment.nvcc()));
    let output = environment.refused(&["install", "--python", "jax"]);
    assert!(stderr(&output).contains("jax: no package or ptxas"), "{output:?}");
    assert!(stderr(&output).contains("nvidia_cuda_nvcc"), "{output:?}");
}

#[test]
fn named_packages_get_it_and_give_it_back() {
    let environment = Environment::new();
    let said = environment.done(&["install", "--python", "nvidia-cuda.nvcc"]);
    assert_eq!(said.matches(" is ptxasw now").count(), 1, "{said}");
    assert!(environment.is_ours(&environment.nvcc()));
    assert!(!environment.is_ours(&environment.triton("ptxas")));
    // By a folder around it.
    let folder = environment.packages.join("triton");
    let said = environment.done(&["install", "--python", folder.to_str().unwrap()]);
    assert_eq!(said.matches(" is ptxasw now").count(), 2, "{said}");
    for name in ["ptxas", "ptxas-blackwell"] {
        assert!(environment.is_ours(&environment.triton(name)));
        let asked = environment.folder.call(environment.triton(name)).arg("--version").output();
        assert!(stdout(&asked.unwrap()).contains("release 99.1"));
    }
    let said = environment.done(&["uninstall", "--python", "triton"]);
    assert_eq!(said.matches(" is the real one again").count(), 2, "{said}");
    assert_eq!(fs::read_to_string(environment.triton("ptxas-blackwell")).unwrap(), REAL);
    let said = environment.done(&["uninstall", "--python"]);
    assert_eq!(said.matches(" is the real one again").count(), 1, "{said}");
    assert!(environment.done(&["uninstall", "--python"]).contains("nothing to do"));
    for path in [environment.nvcc(), environment.triton("ptxas")] {
        assert_eq!(fs::read_to_string(&path).unwrap(), REAL);
        assert!(!path.with_file_name("ptxas.real").exists());
    }
}

#[test]
fn the_environment_around_the_program_needs_no_activation() {
    let environment = Environment::new();
    let inside = environment.folder.path("env/bin/ptxasw");
    fs::hard_link(PTXASW, &inside).or_else(|_| fs::copy(PTXASW, &inside).map(|_| ())).unwrap();
    let shown = |program: &str, activated: bool| {
        let mut call = environment.folder.call(program);
        call.env_remove("VIRTUAL_ENV").args(["uninstall", "--python", "triton"]);
        if activated {
            call.env("VIRTUAL_ENV", environment.folder.path("env"));
        }
        call.output().unwrap()
    };
    let of_its_own = shown(inside.to_str().unwrap(), false);
    assert!(of_its_own.status.success(), "{of_its_own:?}");
    assert_eq!(stdout(&of_its_own), stdout(&shown(PTXASW, true)));
    // Elsewhere there is no such package.
    let elsewhere = shown(PTXASW, false);
    assert!(stderr(&elsewhere).contains("triton: no package"), "{elsewhere:?}");
}

#[test]
fn an_upgrade_is_noticed_and_can_be_made_good() {
    let environment = Environment::new();
    environment.done(&["install", "--python", "--yes"]);
    let findings = stdout(&environment.ptxasw(&["doctor"]));
    assert!(findings.contains("/nvidia/cu13/bin/ptxas is ptxasw"), "{findings}");
    assert_eq!(findings.matches("nvidia_cuda_nvcc 13.1, is ptxasw").count(), 1, "{findings}");
    let newer = REAL.replace("99.1", "99.2");
    environment.package("nvidia_cuda_nvcc", "13.2", &["nvidia/cu13/bin/ptxas"], &newer);
    let output = environment.refused(&["doctor"]);
    let findings = stdout(&output);
    assert!(findings.contains("nvidia_cuda_nvcc 13.2, is not ptxasw any more"), "{findings}");
    assert!(findings.contains("`ptxasw install --python nvidia_cuda_nvcc`"), "{findings}");
    let said = environment.done(&["install", "--python", "nvidia-cuda-nvcc"]);
    assert!(said.contains(" is ptxasw now"), "{said}");
    let asked = environment.folder.call(environment.nvcc()).arg("--version").output().unwrap();
    assert!(stdout(&asked).contains("release 99.2"), "{asked:?}");
    environment.done(&["uninstall", "--python"]);
    assert_eq!(fs::read_to_string(environment.nvcc()).unwrap(), newer);
}
