// An example of libtinkc in Go: trains a small model to answer one question, and asks it. It uses
// cgo and the headers, no other package. docs/guide/cpp.md explains ownership, threads and callbacks.
//
//	PKG_CONFIG_PATH=$HOME/tinkc/lib/pkgconfig go build -o hello .
//	LD_LIBRARY_PATH=$HOME/tinkc/lib TINKER_BASE_URL=http://127.0.0.1:8000 ./hello
package main

/*
#cgo pkg-config: tinkc
#include <stdlib.h>
#include <tinkc/tinkc.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

const model = "tinkc/pebble-llama-2m"
const question, answer = "What is a gopher?", "A gopher is a friendly animal."

// check makes a Go error of a code and the C error that came with it, which it frees.
func check(code C.tinkc_code, err **C.tinkc_error) error {
	if code == C.TINKC_OK {
		return nil
	}
	text := C.GoString(C.tinkc_code_name(code)) + ": " + C.GoString(C.tinkc_error_message(*err))
	C.tinkc_error_free(err)
	return errors.New(text)
}

// text calls fn with C copies of Go strings, which live as long as the call.
func text(fn func(args []*C.char) error, texts ...string) error {
	args := make([]*C.char, len(texts))
	for i, one := range texts {
		args[i] = C.CString(one)
		defer C.free(unsafe.Pointer(args[i]))
	}
	return fn(args)
}

// A learner owns the C handles; close frees them, and every deleter accepts NULL.
type learner struct {
	service   *C.tinkc_service
	training  *C.tinkc_training
	tokenizer *C.tinkc_tokenizer
	template  *C.tinkc_chat_template
	err       *C.tinkc_error
}

func (l *learner) close() {
	C.tinkc_chat_template_free(&l.template)
	C.tinkc_tokenizer_free(&l.tokenizer)
	C.tinkc_training_close(&l.training)
	C.tinkc_service_close(&l.service)
}

func (l *learner) open() error {
	var lora C.tinkc_lora_config
	C.tinkc_lora_config_init(&lora) // macros cannot be read from Go
	lora.has_seed, lora.seed = true, 1
	if err := check(C.tinkc_service_open(&l.service, nil, &l.err), &l.err); err != nil {
		return err
	}
	err := text(func(a []*C.char) error {
		return check(C.tinkc_service_create_training_wait(&l.training, l.service, a[0], &lora, &l.err), &l.err)
	}, model)
	if err != nil {
		return err
	}
	if err := check(C.tinkc_training_get_tokenizer(&l.tokenizer, l.training, nil, &l.err), &l.err); err != nil {
		return err
	}
	return check(C.tinkc_chat_template_of(&l.template, l.tokenizer, nil, &l.err), &l.err)
}

// chat calls fn with a conversation of these messages: role, content, role, content.
func (l *learner) chat(fn func(chat *C.tinkc_chat) error, messages ...string) error {
	var chat *C.tinkc_chat
	if err := check(C.tinkc_chat_new(&chat, &l.err), &l.err); err != nil {
		return err
	}
	defer C.tinkc_chat_free(&chat)
	return text(func(a []*C.char) error {
		for i := 0; i < len(a); i += 2 {
			if err := check(C.tinkc_chat_add(chat, a[i], a[i+1], &l.err), &l.err); err != nil {
				return err
			}
		}
		return fn(chat)
	}, messages...)
}

// train performs steps on the question and its answer and returns the loss of each.
func (l *learner) train(steps int) (losses []float64, err error) {
	var datum *C.tinkc_datum
	var adam C.tinkc_adam_params
	C.tinkc_adam_params_init(&adam)
	adam.learning_rate = 3e-3
	err = l.chat(func(chat *C.tinkc_chat) error {
		return check(C.tinkc_chat_datum(&datum, l.template, chat, l.tokenizer, nil, &l.err), &l.err)
	}, "user", question, "assistant", answer)
	if err != nil {
		return nil, err
	}
	defer C.tinkc_datum_free(&datum)
	data := []*C.tinkc_datum{datum}
	loss := C.CString("cross_entropy")
	defer C.free(unsafe.Pointer(loss))
	for i := 0; i < steps; i++ {
		var result *C.tinkc_fwdbwd
		var value C.double
		code := C.tinkc_training_forward_backward_wait(&result, l.training, &data[0], 1, loss, nil, &l.err)
		if err := check(code, &l.err); err != nil {
			return nil, err
		}
		code = C.tinkc_fwdbwd_loss(&value, result, &l.err)
		C.tinkc_fwdbwd_free(&result)
		if err := check(code, &l.err); err != nil {
			return nil, err
		}
		if err := check(C.tinkc_training_optim_step_wait(nil, l.training, &adam, &l.err), &l.err); err != nil {
			return nil, err
		}
		losses = append(losses, float64(value))
	}
	return losses, nil
}

// ask samples the most likely answer of the trained model.
func (l *learner) ask() (said string, err error) {
	var sampling *C.tinkc_sampling
	var prompt *C.tinkc_model_input
	var samples *C.tinkc_samples
	var out *C.char
	defer func() {
		C.tinkc_text_free(&out)
		C.tinkc_samples_free(&samples)
		C.tinkc_model_input_free(&prompt)
		C.tinkc_sampling_close(&sampling)
	}()
	if err := check(C.tinkc_training_save_and_sample_wait(&sampling, l.training, &l.err), &l.err); err != nil {
		return "", err
	}
	err = l.chat(func(chat *C.tinkc_chat) error {
		return check(C.tinkc_chat_prompt(&prompt, l.template, chat, l.tokenizer, nil, &l.err), &l.err)
	}, "user", question)
	if err != nil {
		return "", err
	}
	var params C.tinkc_sampling_params
	C.tinkc_sampling_params_init(&params)
	params.temperature, params.max_tokens = 0, 32
	end := C.tinkc_tokenizer_end(l.tokenizer)
	var pinned runtime.Pinner // C reads Go memory through Go memory during the call
	pinned.Pin(&end)
	defer pinned.Unpin()
	params.stop_tokens, params.stop_tokens_n = (*C.int32_t)(&end), 1
	code := C.tinkc_sampling_sample_wait(&samples, sampling, prompt, &params, nil, &l.err)
	if err := check(code, &l.err); err != nil {
		return "", err
	}
	if err := check(C.tinkc_samples_text(&out, samples, 0, l.tokenizer, true, &l.err), &l.err); err != nil {
		return "", err
	}
	return C.GoString(out), nil
}

func run() error {
	var l learner
	defer l.close()
	if err := l.open(); err != nil {
		return err
	}
	losses, err := l.train(40)
	if err != nil {
		return err
	}
	said, err := l.ask()
	if err != nil {
		return err
	}
	fmt.Printf("loss %.2f at the start, %.2f at the end\n%s\n", losses[0], losses[len(losses)-1], said)
	return check(C.tinkc_training_unload_wait(l.training, &l.err), &l.err)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
