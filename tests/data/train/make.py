#!/usr/bin/env python3
"""Writes the training data of this folder, and expected.json beside it.

The files come from Python's json, csv and gzip modules and the zstd program, and what has to be
trained on is written down here from what each format means, not taken from tinkc. Every expected row
is its line and the stretches of its text, each with whether it is trained on, as
`tinkc data show --format json` has them with the embedded model.
"""
import csv
import gzip
import io
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
EXPECTED = {}


def chat_row(line, *turns):
    """The row of a conversation: turns are (role, content, is trained)."""
    parts = [["<|endoftext|>", False]]
    for role, content, trained in turns:
        parts += [[f"<|{role}|>", False], [f"{content}<|end|>", trained]]
    return row(line, parts)


def row(line, parts):
    merged = []
    for text, trained in parts:
        if merged and merged[-1][1] == trained:
            merged[-1][0] += text
        elif text:
            merged.append([text, trained])
    return {"line": line, "parts": merged}


def exchange(line, question, answer, system=None):
    turns = [("system", system, False)] if system else []
    return chat_row(line, *turns, ("user", question, False), ("assistant", answer, True))


def pair_row(line, prompt, completion):
    return row(line, [[prompt, False], [completion + "<|end|>", True]])


def text_row(line, text):
    """The first token has no predecessor: it is not predicted. These texts begin with "A"."""
    whole = text + "<|end|>"
    return row(line, [[whole[:1], False], [whole[1:], True]])


def put(name, data, formats, rows):
    (HERE / name).write_bytes(data.encode() if isinstance(data, str) else data)
    EXPECTED[name] = {"formats": formats, "rows": rows}


def lines(records):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def chat():
    records = [
        {"messages": [message("system", "Be brief."), message("user", "Hello?"),
                      message("assistant", "Hi.")]},
        {"messages": [message("user", "One?"), message("assistant", "No.", weight=0),
                      message("user", "Two?"), message("assistant", "Yes.", weight=1)]},
        {"messages": [message("user", [{"type": "text", "text": "In "},
                                       {"type": "text", "text": "parts?"}]),
                      message("assistant", "Joined.")]},
        [message("user", "A bare list?"), message("assistant", "Fine \u2013 \u00e4\u00f6.")],
    ]
    rows = [
        chat_row(1, ("system", "Be brief.", False), ("user", "Hello?", False),
                 ("assistant", "Hi.", True)),
        chat_row(2, ("user", "One?", False), ("assistant", "No.", False),
                 ("user", "Two?", False), ("assistant", "Yes.", True)),
        exchange(3, "In parts?", "Joined."),
        exchange(4, "A bare list?", "Fine \u2013 \u00e4\u00f6."),
    ]
    put("chat.jsonl", lines(records), {"OpenAI chat": 4}, rows)
    packed = subprocess.run(["zstd", "-q", "-c"], input=lines(records).encode(),
                            capture_output=True, check=True).stdout
    put("chat.jsonl.zst", packed, {"OpenAI chat": 4}, rows)


def completion():
    records = [{"prompt": "Two and two is", "completion": " four."},
               {"prompt": "[1, 2]", "completion": "[3]"}]
    put("completion.jsonl", lines(records), {"prompt/completion": 2},
        [pair_row(1, "Two and two is", " four."), pair_row(2, "[1, 2]", "[3]")])


def turns():
    records = [{"prompt": [message("user", "Hi."), message("assistant", "Yes?"),
                           message("user", "Which day?")],
                "completion": [message("assistant", "Monday.")]}]
    put("turns.jsonl", lines(records), {"prompt/completion messages": 1},
        [chat_row(1, ("user", "Hi.", False), ("assistant", "Yes?", False),
                  ("user", "Which day?", False), ("assistant", "Monday.", True))])


def array_of(records):
    """A JSON array over many lines, and the lines on which its items begin."""
    text, starts = "[\n", []
    for i, record in enumerate(records):
        starts.append(text.count("\n") + 1)
        body = json.dumps(record, indent=2).replace("\n", "\n  ")
        text += "  " + body + (",\n" if i + 1 < len(records) else "\n")
    assert json.loads(text + "]") == records
    return text + "]\n", starts


def alpaca():
    records = [{"instruction": "Name a colour.", "input": "", "output": "Red."},
               {"instruction": "Add.", "input": "2, 3", "output": "5, {not 6}, \"or\" [7]"},
               {"instruction": "Greet.", "output": "Hello.", "system": "Be polite."}]
    text, at = array_of(records)
    put("alpaca.json", text, {"Alpaca, JSON array": 3},
        [exchange(at[0], "Name a colour.", "Red."),
         exchange(at[1], "Add.\n\n2, 3", "5, {not 6}, \"or\" [7]"),
         exchange(at[2], "Greet.", "Hello.", "Be polite.")])
    records = [{"instruction": "Where?", "context": "It is in Rome.", "response": "Rome.",
                "category": "closed_qa"}]
    put("dolly.jsonl", lines(records), {"Alpaca": 1},
        [exchange(1, "Where?\n\nIt is in Rome.", "Rome.")])


def sharegpt():
    records = [{"id": "a", "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}]},
               {"system": "Count.", "conversations": [
                    {"from": "human", "value": "One?"}, {"from": "gpt", "value": "One."},
                    {"from": "human", "value": "Next?"}, {"from": "gpt", "value": "Two."}]}]
    put("sharegpt.json", json.dumps(records), {"ShareGPT, JSON array": 2},
        [exchange(1, "Hello?", "Hi.", "Be brief."),
         chat_row(1, ("system", "Count.", False), ("user", "One?", False),
                  ("assistant", "One.", True), ("user", "Next?", False),
                  ("assistant", "Two.", True))])


QUESTIONS = [("Plain?", "Yes."), ("With, a comma?", "Yes; it has one."),
             ('With "quotes"?', '"All" of it'), ("Two\nlines?", "One\r\nand\n\nmore."),
             ("  Blanks kept? ", " Yes "), ("Tab\there?", "\u00c4\u00df \u6f22\u5b57")]


def table(name, encoding="utf-8", **options):
    """A CSV file as Python writes it; lines and cells as Python reads them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, **options)
    writer.writerow(["Question", "id", "Answer"])
    for i, (question, answer) in enumerate(QUESTIONS):
        writer.writerow([question, i, answer])
    text = out.getvalue()
    reader = csv.reader(io.StringIO(text, newline=""), **options)
    rows, begin = [], None
    for cells in reader:
        if begin is not None:
            rows.append(exchange(begin, cells[0], cells[2]))
        begin = reader.line_num + 1
    data = text.encode(encoding)
    put(name, data, {"question/answer, CSV": len(rows)}, rows)
    return data, rows


def tables():
    data, rows = table("qa.csv")
    put("qa.csv.gz", gzip.compress(data, mtime=0), {"question/answer, CSV": len(rows)}, rows)
    cut = data.index(b"\n", 30) + 1
    members = gzip.compress(data[:cut], mtime=0) + gzip.compress(data[cut:], mtime=0)
    put("qa-members.csv.gz", members, {"question/answer, CSV": len(rows)}, rows)
    table("qa-mark.csv", encoding="utf-8-sig", quoting=csv.QUOTE_ALL)
    table("qa-semicolon.csv", delimiter=";", lineterminator="\n")
    table("qa.tsv", dialect="excel-tab")
    cell = json.dumps([message("user", "In a cell?"), message("assistant", "Yes, \"here\".")])
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["source", "messages"], ["x", cell]])
    put("messages.csv", out.getvalue(), {"OpenAI chat, CSV": 1},
        [exchange(2, "In a cell?", "Yes, \"here\".")])


def texts():
    put("text.jsonl", lines([{"text": "A cat sat."}, {"text": "A dog ran."}]),
        {"plain text": 2}, [text_row(1, "A cat sat."), text_row(2, "A dog ran.")])
    text = "A story.\n\nOnce there was a dog.\r\nIt ran away.\n"
    put("story.txt", text, {"plain text": 1}, [text_row(1, text)])


def values():
    records = [{"question": "First?", "answer": "Yes."}, {"question": "Second?", "answer": "No."}]
    text = "\n".join(json.dumps(r, indent=4) for r in records)
    put("values.json", text, {"question/answer, JSON": 2},
        [exchange(1, "First?", "Yes."), exchange(5, "Second?", "No.")])


def hostile():
    """Files that are only refused: 256 MiB of new lines in 8 KB, and a packed file cut short."""
    (HERE / "bomb.jsonl.zst").write_bytes(subprocess.run(
        ["zstd", "-19", "-q", "-c"], input=b"\n" * (256 << 20), capture_output=True,
        check=True).stdout)
    (HERE / "cut.csv.gz").write_bytes((HERE / "qa.csv.gz").read_bytes()[:-20])
    (HERE / "cut.jsonl.zst").write_bytes((HERE / "chat.jsonl.zst").read_bytes()[:-20])


def main():
    for make in (chat, completion, turns, alpaca, sharegpt, tables, texts, values, hostile):
        make()
    with open(HERE / "expected.json", "w") as out:
        json.dump(EXPECTED, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
