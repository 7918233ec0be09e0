//! An example of libtinkc in Rust: trains a small model to answer one question, and asks it. The
//! declarations in tinkc.rs are written by hand after the headers; no crate is needed.
//! docs/guide/cpp.md explains ownership, threads and callbacks.
//!
//!     export PKG_CONFIG_PATH=$HOME/tinkc/lib/pkgconfig TINKER_BASE_URL=http://127.0.0.1:8000
//!     cargo run
mod tinkc;

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use tinkc::*;

const MODEL: &str = "tinkc/pebble-llama-2m";
const QUESTION: &str = "What is a crab?";
const ANSWER: &str = "A crab is an animal that walks sideways.";

struct Learner {
    // dropped in this order: the service last
    template: Owned<tinkc_chat_template>,
    tokenizer: Owned<tinkc_tokenizer>,
    training: Owned<tinkc_training>,
    _service: Owned<tinkc_service>,
}

fn text(s: &str) -> CString {
    CString::new(s).expect("no NUL in a text")
}

fn open() -> Result<Learner, String> {
    let service = own(tinkc_service_close, |out, err| unsafe {
        tinkc_service_open(out, null(), err)
    })?;
    let training = own(tinkc_training_close, |out, err| unsafe {
        tinkc_service_create_training_wait(out, service.c, text(MODEL).as_ptr(), null(), err)
    })?;
    let tokenizer = own(tinkc_tokenizer_free, |out, err| unsafe {
        tinkc_training_get_tokenizer(out, training.c, null(), err)
    })?;
    let template = own(tinkc_chat_template_free, |out, err| unsafe {
        tinkc_chat_template_of(out, tokenizer.c, null(), err)
    })?;
    Ok(Learner {
        template,
        tokenizer,
        training,
        _service: service,
    })
}

fn chat(messages: &[(&str, &str)]) -> Result<Owned<tinkc_chat>, String> {
    let chat = own(tinkc_chat_free, |out, err| unsafe {
        tinkc_chat_new(out, err)
    })?;
    for (role, content) in messages {
        let mut err = null_mut();
        let code = unsafe {
            tinkc_chat_add(
                chat.c,
                text(role).as_ptr(),
                text(content).as_ptr(),
                &mut err,
            )
        };
        check(code, err)?;
    }
    Ok(chat)
}

impl Learner {
    /// Performs steps on the question and its answer; returns the loss of each.
    fn train(&self, steps: usize) -> Result<Vec<f64>, String> {
        let chat = chat(&[("user", QUESTION), ("assistant", ANSWER)])?;
        let datum = own(tinkc_datum_free, |out, err| unsafe {
            tinkc_chat_datum(out, self.template.c, chat.c, self.tokenizer.c, null(), err)
        })?;
        let mut adam = tinkc_adam_params::new();
        adam.learning_rate = 3e-3;
        let mut options = tinkc_step_options::new();
        options.adam = &adam;
        let loss = text("cross_entropy");
        let mut losses = Vec::new();
        for _ in 0..steps {
            let step = own(tinkc_step_free, |out, err| unsafe {
                tinkc_training_step_wait(
                    out,
                    self.training.c,
                    &datum.c,
                    1,
                    loss.as_ptr(),
                    &options,
                    err,
                )
            })?;
            let (mut value, mut err) = (0.0, null_mut());
            check(
                unsafe { tinkc_step_loss(&mut value, step.c, &mut err) },
                err,
            )?;
            losses.push(value);
        }
        Ok(losses)
    }

    /// Samples the most likely answer of the trained model.
    fn ask(&self) -> Result<String, String> {
        let sampling = own(tinkc_sampling_close, |out, err| unsafe {
            tinkc_training_save_and_sample_wait(out, self.training.c, err)
        })?;
        let chat = chat(&[("user", QUESTION)])?;
        let prompt = own(tinkc_model_input_free, |out, err| unsafe {
            tinkc_chat_prompt(out, self.template.c, chat.c, self.tokenizer.c, null(), err)
        })?;
        let end = unsafe { tinkc_tokenizer_end(self.tokenizer.c) };
        let mut params = tinkc_sampling_params::new();
        params.temperature = 0.0;
        params.max_tokens = 32;
        params.stop_tokens = &end;
        params.stop_tokens_n = 1;
        let samples = own(tinkc_samples_free, |out, err| unsafe {
            tinkc_sampling_sample_wait(out, sampling.c, prompt.c, &params, null(), err)
        })?;
        let said = own(tinkc_text_free, |out, err| unsafe {
            tinkc_samples_text(out, samples.c, 0, self.tokenizer.c, true, err)
        })?;
        Ok(unsafe { CStr::from_ptr(said.c) }
            .to_string_lossy()
            .into_owned())
    }
}

fn run() -> Result<(), String> {
    let learner = open()?;
    let losses = learner.train(40)?;
    let said = learner.ask()?;
    println!(
        "loss {:.2} at the start, {:.2} at the end",
        losses[0],
        losses[losses.len() - 1]
    );
    println!("{said}");
    let mut err = null_mut();
    check(
        unsafe { tinkc_training_unload_wait(learner.training.c, &mut err) },
        err,
    )
}

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
