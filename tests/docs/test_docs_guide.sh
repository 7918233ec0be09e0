#!/usr/bin/env bash
# A-032: the guide says that operations are asynchronous and how to block, and what it shows is in
# the examples, which are compiled and run (tests/cli/test_examples.c).
. "$(dirname "$0")/lib.sh"
guide=docs/guide/training.md
expect "it says so plainly" grep -q 'asynchronous' "$guide"
for name in $(grep -oh 'tinkc_[a-z0-9_]*' docs/guide/*.md | sort -u); do
    expect "guide: $name is in a public header" grep -qw "$name" -r include/tinkc
done
for way in _wait tinkc_future_wait tinkc_future_wait_all tinkc_queue tinkc_future_on_done; do
    expect "it names $way" grep -q "$way" "$guide"
done
shown=$(python3 - <<'PY'
import glob, re
text = " ".join(" ".join(open(p).read().split()) for p in sorted(glob.glob("examples/*.c")))
blocks = [b for p in glob.glob("docs/guide/*.md")
          for b in re.findall(r"```c\n(.*?)```", open(p).read(), re.S)]
print(len(blocks), sum(" ".join(b.split()) in text for b in blocks))
PY
)
read -r blocks found <<<"$shown"
expect "there are blocks of C" test "$blocks" -gt 3
expect "each stands in an example as it is" test "$blocks" -eq "$found"
for example in examples/*.c; do
    name=$(basename "$example" .c)
    expect "$name is run by a test" grep -q "\"$name\"" tests/cli/test_examples*.c
done
for link in $(grep -o '](\([A-Za-z0-9_./-]*\))' "$guide" | tr -d '])('); do
    expect "$guide: $link exists" test -e "docs/guide/$link"
done
finish
