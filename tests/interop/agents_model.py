"""What the programs of agents.sh share: a tiny random model, programs to start, the table.

The model has the Llama layout, 64k of context (agents send prompts of 30,000 tokens), a tokenizer
trained on this repository's documents, and a template that shows tools and calls as Hermes does.
"""
import os
import pathlib
import subprocess
import sys

from gateway_model import make_model

CONTEXT = 65536
TEMPLATE = """\
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' }}
    {%- if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
    {%- if m.role == 'tool' %}{{ '<tool_response>\\n' + m.content + '\\n</tool_response>' }}
    {%- else %}{{ m.content or '' }}{% endif %}
    {%- for call in m.tool_calls or [] %}
        {{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
        {{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
    {%- if loop.first and tools %}
        {{- '<|im_start|>system\\n# Tools\\n' }}
        {%- for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""


def make(directory, seed=1):
    """Writes the model; returns its tokenizer and the text of its end."""
    text = "\n".join(p.read_text() for p in sorted(pathlib.Path("docs/guide").glob("*.md")))
    return make_model(pathlib.Path(directory), TEMPLATE, text, seed, size=4000, context=CONTEXT)


def start(*command, **options):
    """Starts a program of ours; returns it and its URL."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               **options)
    for line in process.stdout:
        if line.startswith("listening on "):
            return process, line.split()[-1]
    raise SystemExit(f"{command[1]} does not start")


def start_gateway(program, work, base, *options):
    return start(program, "gateway", "--port", "0", "--data", str(work), "--base-url", base,
                 "--api-key", "tml-agents", *options)


class Table:
    """Clients by checks. A check is a function; what it raises is printed, and its cell is bad."""

    def __init__(self, title):
        self.title, self.rows, self.failed = title, {}, 0

    def check(self, row, column, function, *arguments):
        try:
            note = function(*arguments)
            cell = note if isinstance(note, str) else "ok"
        except Exception as error:  # of the client, or an assertion
            self.failed += 1
            cell = "FAILED"
            print(f"FAILED {row}, {column}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            if os.environ.get("TINKC_AGENTS_TRACE"):
                sys.excepthook(type(error), error, error.__traceback__)
        self.set(row, column, cell)

    def set(self, row, column, cell):
        self.rows.setdefault(row, {})[column] = cell

    def show(self):
        columns = list(dict.fromkeys(c for cells in self.rows.values() for c in cells))
        lines = [[self.title, *columns]]
        lines += [[row, *[cells.get(c, "-") for c in columns]] for row, cells in self.rows.items()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            print("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip(), flush=True)
