"""Tiny random models for the gateway's suite, one for each chat template.

The tokenizer is trained here (bytes, merges, whole tool calls and pieces of reasoning as added
tokens), the weights are random but for a bias in the output layer: an answer has words, calls,
halves of characters, special tokens, and ends after a few tokens or not at all. Reading its text
and encoding it again gives other ids, so an id that was not kept is noticed.
"""
import array
import json
import random
import re
import struct

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

HIDDEN, INNER, HEADS, HEAD = 32, 64, 2, 16
ENDS = ["<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<end_of_turn>",
        "<|endoftext|>", "<|END_OF_TURN_TOKEN|>", "<|end_of_text|>", "</s>"]
MARKER = re.compile(r"<\|[^|<>'\"\s{}]{1,40}\|>|<｜[^｜<>]{1,40}｜>|\[/?[A-Z_]{3,20}\]|<(?:start|end)_of_turn>")
CHUNKS = [
    '<tool_call>\n{"name": "f0", "arguments": {"b": 1, "a": "x"}}\n</tool_call>',
    '<tool_call>\n{"name":"f1","arguments":{"a":  [1.0, 2]}}\n</tool_call>',
    '<tool_call>\n{"name": "f0", "arguments": {"a": }\n</tool_call>',
    "<tool_call>\n<function=f0>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>f0\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    '{"name": "f0", "parameters": {"a": "x"}}',
    '[TOOL_CALLS][{"name": "f0", "arguments": {"a": "x"}}]',
    "<think>\nhm", "<think>", "\n</think>\n\n", "</think>", " why", " red stone", "\n\n", " 42",
    "€", "🙂", " \"quoted\"", " {", "}", "\\", "�", " the answer is", ".", "\n",
]


def make_tokenizer(source, text, size):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tok.train_from_iterator([text], trainer)
    markers = sorted(set(MARKER.findall(source)))[:60]
    end = next((e for e in ENDS if e in source), "</s>")
    specials = ["<s>", end] + [m for m in markers if m not in ("<s>", end)]
    tok.add_special_tokens([AddedToken(m, special=True, normalized=False) for m in specials])
    tok.add_tokens([AddedToken(c, special=False, normalized=False) for c in CHUNKS])
    return tok, end


def weights_of(tok, end, rng):
    """Tensors as {name: (shape, floats)}. The first number of every embedding is large, so that
    the first column of the output layer is a bias."""
    size = tok.get_vocab_size()

    def noise(rows, columns, scale):
        return [rng.gauss(0, scale) for _ in range(rows * columns)]

    embed, head = noise(size, HIDDEN, 0.5), noise(size, HIDDEN, 0.15)
    chunks = {tok.token_to_id(c) for c in CHUNKS}
    for i in range(size):
        embed[i * HIDDEN] = 8.0
        piece = tok.id_to_token(i)
        head[i * HIDDEN] = 0.7 if i == tok.token_to_id(end) else 0.35 if i in chunks else \
            -0.5 if len(piece) == 1 else -0.1
    t = {"model.embed_tokens.weight": ((size, HIDDEN), embed),
         "lm_head.weight": ((size, HIDDEN), head),
         "model.norm.weight": ((HIDDEN,), [1.0] * HIDDEN)}
    layer = "model.layers.0."
    for name, rows, columns in (("self_attn.q_proj", HEADS * HEAD, HIDDEN),
                                ("self_attn.k_proj", HEADS * HEAD, HIDDEN),
                                ("self_attn.v_proj", HEADS * HEAD, HIDDEN),
                                ("self_attn.o_proj", HIDDEN, HEADS * HEAD),
                                ("mlp.gate_proj", INNER, HIDDEN), ("mlp.up_proj", INNER, HIDDEN),
                                ("mlp.down_proj", HIDDEN, INNER)):
        t[layer + name + ".weight"] = ((rows, columns), noise(rows, columns, 0.05))
    for name in ("input_layernorm", "post_attention_layernorm"):
        t[layer + name + ".weight"] = ((HIDDEN,), [1.0] * HIDDEN)
    return t


def write_safetensors(path, tensors):
    head, blobs, at = {}, [], 0
    for name, (shape, values) in tensors.items():
        blob = array.array("f", values).tobytes()
        head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def make_model(directory, source, text, seed, size=600, context=16384):
    """Writes a model of `size` tokens and a few more; returns its tokenizer and the text of its end."""
    directory.mkdir(parents=True)
    tok, end = make_tokenizer(source, text, size)
    tok.save(str(directory / "tokenizer.json"))
    ids = {"bos_token_id": tok.token_to_id("<s>"), "eos_token_id": tok.token_to_id(end)}
    (directory / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": end,
        "chat_template": source}))
    (directory / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN,
        "intermediate_size": INNER, "num_hidden_layers": 1, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS, "head_dim": HEAD, "vocab_size": tok.get_vocab_size(),
        "max_position_embeddings": context, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "float32", **ids}))
    write_safetensors(directory / "model.safetensors", weights_of(tok, end, random.Random(seed)))
    return tok, end
