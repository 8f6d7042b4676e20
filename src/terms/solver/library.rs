//! z3's shared library, which is loaded for the first claim.
//!
//! Most calls put no claim to z3, and loading its library takes longer than everything else at the start: 50,000
//! relocations and the constructors of a large C++ program. In: the name of the library that the build script found. Out:
//! whether its functions can be called. Each function that the z3 crate calls is defined here as a jump to an address
//! that the library gives, so that the linker does not ask for the library itself. On systems other than Linux on x86-64
//! the linker does.
//!
//! Where the library is missing, no claim is proved and everything else works.

/// The library that the build script found, by its file's name.
pub const NAME: &str = env!("PTXASW_Z3");

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use jumps::is_there;

/// Whether z3 can be called.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn is_there() -> bool {
    true
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[expect(unsafe_code, reason = "functions of a C library are looked up by their names")]
mod jumps {
    use super::NAME;
    use libloading::Library;
    use std::error::Error;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicPtr, Ordering::Release};

    /// Whether z3 can be called; the first question loads the library.
    pub fn is_there() -> bool {
        static LOADED: OnceLock<bool> = OnceLock::new();
        *LOADED.get_or_init(|| match load() {
            Ok(()) => true,
            Err(reason) => {
                let why = reason.source().map_or_else(|| reason.to_string(), ToString::to_string);
                log::warn!("z3 is missing, so nothing is proved that needs it: {why}");
                false
            }
        })
    }

    /// Loads the library for good and notes the addresses of its functions.
    fn load() -> Result<(), libloading::Error> {
        // SAFETY: the library's constructors set up z3 and nothing else; it is never unloaded.
        let library = unsafe { Library::new(NAME) }?;
        for (name, address) in FUNCTIONS {
            // SAFETY: the symbol is only taken as an address. Its function has the type that the z3 crate declares.
            let symbol = unsafe { library.get::<*mut ()>(*name) }?;
            address.store(*symbol, Release);
        }
        std::mem::forget(library);
        Ok(())
    }

    /// The function in the place of one that was not looked up.
    extern "C" fn not_loaded() -> ! {
        std::process::abort()
    }

    /// Defines the functions of z3 that are named.
    macro_rules! functions {
        ($($name:ident)*) => {
            // Each function and its address.
            static FUNCTIONS: &[(&[u8], &AtomicPtr<()>)] =
                &[$((concat!(stringify!($name), "\0").as_bytes(), &addresses::$name)),*];

            #[expect(non_upper_case_globals, reason = "functions are named as in C")]
            mod addresses {
                use super::{AtomicPtr, not_loaded};

                $(pub(super) static $name: AtomicPtr<()> = AtomicPtr::new(not_loaded as *mut ());)*
            }

            mod entries {
                use super::addresses;

                $(
                    // SAFETY: the name is that of a function of z3, and the jump leaves its arguments where they are.
                    #[unsafe(no_mangle)]
                    #[unsafe(naked)]
                    extern "C" fn $name() {
                        std::arch::naked_asm!("jmp qword ptr [rip + {}]", sym addresses::$name)
                    }
                )*
            }
        };
    }

    functions! {
        Z3_ast_to_string Z3_ast_vector_dec_ref Z3_ast_vector_get Z3_ast_vector_inc_ref
        Z3_ast_vector_size Z3_dec_ref Z3_del_config Z3_del_context Z3_func_decl_to_ast
        Z3_get_app_arg Z3_get_app_decl Z3_get_app_num_args Z3_get_ast_id Z3_get_ast_kind
        Z3_get_bool_value Z3_get_bv_sort_size Z3_get_full_version Z3_get_numeral_int64
        Z3_get_numeral_small Z3_get_numeral_uint64 Z3_get_sort Z3_get_sort_kind Z3_global_param_set
        Z3_inc_ref Z3_is_eq_ast Z3_is_eq_sort Z3_mk_add Z3_mk_and Z3_mk_app Z3_mk_bool_sort
        Z3_mk_bv_sort Z3_mk_bvadd Z3_mk_bvand Z3_mk_bvashr Z3_mk_bvlshr Z3_mk_bvmul Z3_mk_bvnot
        Z3_mk_bvor Z3_mk_bvsdiv Z3_mk_bvsge Z3_mk_bvsgt Z3_mk_bvshl Z3_mk_bvsle Z3_mk_bvslt
        Z3_mk_bvsrem Z3_mk_bvudiv Z3_mk_bvuge Z3_mk_bvule Z3_mk_bvult Z3_mk_bvurem Z3_mk_bvxor
        Z3_mk_concat Z3_mk_config Z3_mk_const Z3_mk_context_rc Z3_mk_div Z3_mk_eq Z3_mk_extract
        Z3_mk_false Z3_mk_fresh_const Z3_mk_func_decl Z3_mk_ge Z3_mk_iff Z3_mk_implies
        Z3_mk_int2real Z3_mk_int64 Z3_mk_int_sort Z3_mk_int_symbol Z3_mk_ite Z3_mk_le Z3_mk_lt
        Z3_mk_mod Z3_mk_mul Z3_mk_not Z3_mk_or Z3_mk_params Z3_mk_real_sort Z3_mk_sign_ext
        Z3_mk_solver Z3_mk_solver_for_logic Z3_mk_string_symbol Z3_mk_sub Z3_mk_true
        Z3_mk_unsigned_int64 Z3_mk_zero_ext Z3_model_dec_ref Z3_model_eval Z3_model_inc_ref
        Z3_params_dec_ref Z3_params_inc_ref Z3_params_set_uint Z3_set_error_handler Z3_simplify
        Z3_solver_assert Z3_solver_check Z3_solver_check_assumptions Z3_solver_dec_ref
        Z3_solver_get_model Z3_solver_get_statistics Z3_solver_get_unsat_core Z3_solver_inc_ref
        Z3_solver_set_params Z3_solver_to_string Z3_sort_to_ast Z3_sort_to_string Z3_stats_dec_ref
        Z3_stats_get_double_value Z3_stats_get_key Z3_stats_get_uint_value Z3_stats_inc_ref
        Z3_stats_is_uint Z3_stats_size Z3_to_app
    }
}
