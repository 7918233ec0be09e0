//! The part of <tinkc/tinkc.h> that a program needs which trains and samples, written by hand: opaque
//! handles, three structs of parameters, and functions. `Params::new` compares the size of each
//! struct with the library's. bindgen makes the whole of it: `bindgen tinkc.h -- $(pkg-config --cflags
//! tinkc)`, where tinkc.h includes <tinkc/tinkc.h>.
#![allow(non_camel_case_types, dead_code)]

use std::ffi::{c_char, c_double, c_int};
use std::ptr::null;

macro_rules! opaque {
    ($($name:ident),*) => { $(
        #[repr(C)]
        pub struct $name { _private: [u8; 0] }
    )* };
}
opaque!(
    tinkc_error,
    tinkc_config,
    tinkc_service,
    tinkc_training,
    tinkc_sampling,
    tinkc_tokenizer,
    tinkc_tokenizer_options,
    tinkc_chat_template,
    tinkc_chat,
    tinkc_chat_options,
    tinkc_train_options,
    tinkc_datum,
    tinkc_model_input,
    tinkc_lora_config,
    tinkc_step,
    tinkc_fwdbwd_options,
    tinkc_optim_params,
    tinkc_samples,
    tinkc_sample_options
);

pub type tinkc_code = c_int;

#[repr(C)]
pub struct tinkc_adam_params {
    pub size: usize,
    pub learning_rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    pub grad_clip_norm: f64,
}

#[repr(C)]
pub struct tinkc_step_options {
    pub size: usize,
    pub adam: *const tinkc_adam_params,
    pub fwdbwd: *const tinkc_fwdbwd_options,
    pub optim: *const tinkc_optim_params,
}

#[repr(C)]
pub struct tinkc_sampling_params {
    pub size: usize,
    pub max_tokens: i64,
    pub has_seed: bool,
    pub seed: u64,
    pub temperature: f64,
    pub top_k: i64,
    pub top_p: f64,
    pub stop: *const c_char,
    pub stop_texts: *const *const c_char,
    pub stop_texts_n: usize,
    pub stop_tokens: *const i32,
    pub stop_tokens_n: usize,
}

extern "C" {
    pub fn tinkc_code_name(code: tinkc_code) -> *const c_char;
    pub fn tinkc_error_message(error: *const tinkc_error) -> *const c_char;
    pub fn tinkc_error_free(error: *mut *mut tinkc_error);
    pub fn tinkc_adam_params_init(params: *mut tinkc_adam_params);
    pub fn tinkc_step_options_init(options: *mut tinkc_step_options);
    pub fn tinkc_sampling_params_init(params: *mut tinkc_sampling_params);
    pub fn tinkc_service_open(
        out: *mut *mut tinkc_service,
        config: *const tinkc_config,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_service_close(service: *mut *mut tinkc_service);
    pub fn tinkc_service_create_training_wait(
        out: *mut *mut tinkc_training,
        service: *mut tinkc_service,
        base_model: *const c_char,
        lora: *const tinkc_lora_config,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_service_create_sampling_wait(
        out: *mut *mut tinkc_sampling,
        service: *mut tinkc_service,
        base_model: *const c_char,
        model_path: *const c_char,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_sampling_get_tokenizer(
        out: *mut *mut tinkc_tokenizer,
        sampling: *mut tinkc_sampling,
        options: *const tinkc_tokenizer_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_tokenizer_input(
        out: *mut *mut tinkc_model_input,
        tokenizer: *const tinkc_tokenizer,
        text: *const c_char,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_training_close(training: *mut *mut tinkc_training);
    pub fn tinkc_training_get_tokenizer(
        out: *mut *mut tinkc_tokenizer,
        training: *mut tinkc_training,
        options: *const tinkc_tokenizer_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_training_step_wait(
        out: *mut *mut tinkc_step,
        training: *mut tinkc_training,
        data: *const *mut tinkc_datum,
        n: usize,
        loss: *const c_char,
        options: *const tinkc_step_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_training_save_and_sample_wait(
        out: *mut *mut tinkc_sampling,
        training: *mut tinkc_training,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_training_unload_wait(
        training: *mut tinkc_training,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_step_loss(
        out: *mut c_double,
        step: *const tinkc_step,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_step_free(step: *mut *mut tinkc_step);
    pub fn tinkc_tokenizer_free(tokenizer: *mut *mut tinkc_tokenizer);
    pub fn tinkc_tokenizer_end(tokenizer: *const tinkc_tokenizer) -> i32;
    pub fn tinkc_chat_template_of(
        out: *mut *mut tinkc_chat_template,
        tokenizer: *const tinkc_tokenizer,
        name: *const c_char,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_chat_template_free(tpl: *mut *mut tinkc_chat_template);
    pub fn tinkc_chat_new(out: *mut *mut tinkc_chat, err: *mut *mut tinkc_error) -> tinkc_code;
    pub fn tinkc_chat_free(chat: *mut *mut tinkc_chat);
    pub fn tinkc_chat_add(
        chat: *mut tinkc_chat,
        role: *const c_char,
        content: *const c_char,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_chat_datum(
        out: *mut *mut tinkc_datum,
        tpl: *const tinkc_chat_template,
        chat: *const tinkc_chat,
        tokenizer: *const tinkc_tokenizer,
        options: *const tinkc_train_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_chat_prompt(
        out: *mut *mut tinkc_model_input,
        tpl: *const tinkc_chat_template,
        chat: *const tinkc_chat,
        tokenizer: *const tinkc_tokenizer,
        options: *const tinkc_chat_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_datum_free(datum: *mut *mut tinkc_datum);
    pub fn tinkc_model_input_free(input: *mut *mut tinkc_model_input);
    pub fn tinkc_sampling_close(sampling: *mut *mut tinkc_sampling);
    pub fn tinkc_sampling_sample_wait(
        out: *mut *mut tinkc_samples,
        sampling: *mut tinkc_sampling,
        prompt: *const tinkc_model_input,
        params: *const tinkc_sampling_params,
        options: *const tinkc_sample_options,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_samples_text(
        out: *mut *mut c_char,
        samples: *const tinkc_samples,
        index: usize,
        tokenizer: *const tinkc_tokenizer,
        skip_special: bool,
        err: *mut *mut tinkc_error,
    ) -> tinkc_code;
    pub fn tinkc_samples_free(samples: *mut *mut tinkc_samples);
    pub fn tinkc_text_free(text: *mut *mut c_char);
}

/// A struct of parameters with its defaults, as the library sets them.
pub trait Params: Sized {
    const INIT: unsafe extern "C" fn(*mut Self);
    fn size(&self) -> usize;

    fn new() -> Self {
        // Room for a later version of the library, whose struct may be longer than ours.
        let mut room = [
            std::mem::MaybeUninit::<Self>::zeroed(),
            std::mem::MaybeUninit::zeroed(),
        ];
        unsafe {
            (Self::INIT)(room.as_mut_ptr().cast());
            let [params, _] = room;
            let params = params.assume_init();
            assert_eq!(
                params.size(),
                std::mem::size_of::<Self>(),
                "tinkc.rs is out of date"
            );
            params
        }
    }
}

macro_rules! params {
    ($name:ident, $init:ident) => {
        impl Params for $name {
            const INIT: unsafe extern "C" fn(*mut Self) = $init;
            fn size(&self) -> usize {
                self.size
            }
        }
    };
}
params!(tinkc_adam_params, tinkc_adam_params_init);
params!(tinkc_step_options, tinkc_step_options_init);
params!(tinkc_sampling_params, tinkc_sampling_params_init);

/// Owns one C object and frees it at its end.
pub struct Owned<T> {
    pub c: *mut T,
    free: unsafe extern "C" fn(*mut *mut T),
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        unsafe { (self.free)(&mut self.c) }
    }
}

/// What a failed call reports: the name of its code, and its message.
pub fn check(code: tinkc_code, mut err: *mut tinkc_error) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    unsafe {
        let name = std::ffi::CStr::from_ptr(tinkc_code_name(code)).to_string_lossy();
        let message = std::ffi::CStr::from_ptr(tinkc_error_message(err)).to_string_lossy();
        let text = format!("{name}: {message}");
        tinkc_error_free(&mut err);
        Err(text)
    }
}

/// Calls a function with its `out` and `err`, and owns what it hands out.
pub fn own<T>(
    free: unsafe extern "C" fn(*mut *mut T),
    call: impl FnOnce(*mut *mut T, *mut *mut tinkc_error) -> tinkc_code,
) -> Result<Owned<T>, String> {
    let mut out = Owned {
        c: null::<T>() as *mut T,
        free,
    };
    let mut err = std::ptr::null_mut();
    check(call(&mut out.c, &mut err), err)?;
    Ok(out)
}
