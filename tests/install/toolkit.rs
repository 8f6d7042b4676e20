//! `ptxasw toolkit`: mirrors of toolkits.

use std::fs;
use std::path::Path;

use crate::folder::{Folder, PTXASW, real_ptxas, required, stdout};

#[test]
fn a_mirror_is_links_but_for_the_assembler() {
    let folder = Folder::new();
    for name in ["bin/nvcc", "bin/nvcc.profile", "version.json"] {
        fs::write(folder.path(name), name).unwrap();
    }
    fs::create_dir_all(folder.path("include/crt")).unwrap();
    let source = folder.contents();
    fs::create_dir(folder.path("src")).unwrap();
    for name in ["bin", "include", "version.json"] {
        fs::rename(folder.path(name), folder.path("src").join(name)).unwrap();
    }
    for round in 0..3 {
        // The second time it is there, the third time a part of one lies beside it.
        if round == 2 {
            fs::create_dir(folder.path("new.ptxasw-partial")).unwrap();
            let sign = folder.path("new.ptxasw-partial/.ptxasw-toolkit");
            std::os::unix::fs::symlink("x", sign).unwrap();
        }
        let said = folder.ptxasw(&["toolkit", "src", "new"]);
        assert!(said.contains("/new mirrors src"), "{said}");
        assert!(!folder.path("new.ptxasw-partial").exists());
        let link = |name: &str| fs::read_link(folder.path("new").join(name)).ok();
        for name in ["include", "version.json", "bin/nvcc", "bin/nvcc.profile"] {
            assert_eq!(link(name), Some(folder.path("src").join(name)));
        }
        assert_eq!(link("bin/ptxas.real"), Some(folder.path("src/bin/ptxas")));
        assert!(fs::read(folder.path("new/bin/ptxas")).unwrap() == fs::read(PTXASW).unwrap());
        let output = folder.call(folder.path("new/bin/ptxas")).arg("--version").output().unwrap();
        assert!(stdout(&output).contains("release 99.1"), "{output:?}");
    }
    fs::rename(folder.path("src/bin"), folder.path("bin")).unwrap();
    assert!(folder.contents() == source, "the source stays as it is");
}

#[test]
fn a_mirror_of_an_installation_has_the_real_one() {
    let folder = Folder::new();
    folder.ptxasw(&["install", "."]);
    folder.ptxasw(&["toolkit", "bin", "new", "--link"]);
    let real = fs::read_link(folder.path("new/ptxas.real")).unwrap();
    assert_eq!(real, folder.path("bin/ptxas.real"));
    assert_eq!(fs::canonicalize(folder.path("new/ptxas")).unwrap(), Path::new(PTXASW));
}

/// ptxasw comes to and goes from the toolkit that a mirror was made of; the mirror goes on working.
#[test]
fn a_mirror_outlives_installations_of_its_source() {
    for mode in [&[][..], &["--link"]] {
        let folder = Folder::new();
        fs::create_dir(folder.path("src")).unwrap();
        fs::rename(folder.path("bin"), folder.path("src/bin")).unwrap();
        let works = |mirror: &str, when: &str| {
            let program = folder.path(mirror).join("bin/ptxas");
            let output = folder.call(program).arg("--version").output().unwrap();
            assert!(output.status.success(), "{mirror} {when}: {output:?}");
            assert!(stdout(&output).contains("release 99.1"), "{mirror} {when}: {output:?}");
        };
        folder.ptxasw(&[&["toolkit", "src", "before"], mode].concat());
        folder.ptxasw(&[&["install", "src"], mode].concat());
        works("before", "after installing");
        folder.ptxasw(&[&["toolkit", "src", "between"], mode].concat());
        folder.ptxasw(&["uninstall", "src"]);
        for mirror in ["before", "between"] {
            works(mirror, "after uninstalling");
        }
        // A mirror of a mirror is one too, and may be made again.
        for _ in 0..2 {
            folder.ptxasw(&[&["toolkit", "before", "second"], mode].concat());
            works("second", "as a mirror of a mirror");
        }
        folder.ptxasw(&[&["install", "src"], mode].concat());
        for mirror in ["before", "between", "second"] {
            works(mirror, "after installing again");
        }
    }
}

/// A stencil whose middle load another lane has.
const SOURCE: &str = "\
__global__ void blur(const float *__restrict__ a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i] + a[i + 1];
}
";

#[test]
fn nvcc_of_a_mirror_makes_shuffles() {
    let Some(ptxas) = real_ptxas() else { return };
    let bin = ptxas.parent().unwrap();
    if !["nvcc", "nvdisasm"].iter().all(|name| bin.join(name).exists()) {
        assert!(!required(), "there is no nvcc or nvdisasm beside {}", ptxas.display());
        return;
    }
    let folder = Folder::empty();
    fs::write(folder.path("blur.cu"), SOURCE).unwrap();
    folder.ptxasw(&["toolkit", bin.parent().unwrap().to_str().unwrap(), "cuda"]);
    // By its path, and by its name from PATH.
    let path = format!("{}:/usr/bin:/bin", folder.path("cuda/bin").display());
    for nvcc in ["cuda/bin/nvcc", "nvcc"] {
        let script = format!("{nvcc} -arch=sm_80 -cubin blur.cu -o blur.cubin");
        let mut call = folder.call("/bin/sh");
        let output = call.env("PATH", &path).args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut call = folder.call(folder.path("cuda/bin/nvdisasm"));
        let code = stdout(&call.args(["-c", "blur.cubin"]).output().unwrap());
        assert!(code.contains("SHFL"), "{nvcc}: {code}");
        fs::remove_file(folder.path("blur.cubin")).unwrap();
    }
    let mut call = folder.call(PTXASW);
    let output = call.env("PATH", &path).args(["doctor", "cuda"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stdout(&output).contains("load was replaced by a shuffle"), "{output:?}");
}
