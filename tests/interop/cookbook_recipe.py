"""Runs an unchanged recipe of the official cookbook with one renderer more than it brings.

    cookbook_recipe.py MODULE [--start PATH] ARGUMENT...

`tinkc/pebble` renders conversations as the embedded model's chat template does. --start is for
guess_number, whose command line, unlike the other recipes', has no checkpoint to start from.
"""

import asyncio
import importlib
import runpy
import sys

import chz
import tinker
from tinker_cookbook import renderers
from tinker_cookbook.renderers.base import RenderedMessage, Renderer, parse_response_for_stop_token


class PebbleRenderer(Renderer):
    """`<|endoftext|>`, then for each message its role, its text and `<|end|>`."""

    has_extension_property = True

    def _encode(self, text):
        return tinker.types.EncodedTextChunk(
            tokens=self.tokenizer.encode(text, add_special_tokens=False))

    @property
    def _bos_tokens(self):
        return [self.tokenizer.bos_token_id]

    def get_stop_sequences(self):
        return [self.tokenizer.eos_token_id]

    def render_message(self, message, ctx):
        role = "assistant" if message["role"] == "player" else message["role"]
        return RenderedMessage(header=self._encode(f"<|{role}|>"),
                               output=[self._encode(renderers.ensure_text(message["content"])
                                                    + "<|end|>")])

    def parse_response(self, response):
        return parse_response_for_stop_token(response, self.tokenizer, self.tokenizer.eos_token_id)


def main():
    name, arguments = sys.argv[1], sys.argv[2:]
    renderers.register_renderer("tinkc/pebble",
                                lambda tokenizer, image_processor=None: PebbleRenderer(tokenizer))
    if arguments[:1] == ["--start"]:
        recipe = importlib.import_module(name)
        sys.argv = [name, *arguments[2:]]
        config = recipe.build_config(chz.entrypoint(recipe.CLIConfig))
        asyncio.run(recipe.train.main(chz.replace(config, load_checkpoint_path=arguments[1])))
    else:
        sys.argv = [name, *arguments]
        runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
