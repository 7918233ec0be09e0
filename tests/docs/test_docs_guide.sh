#!/usr/bin/env bash
# A-032: the guide says that operations are asynchronous and how to block, and what it shows is in
# the examples, which are compiled and run (tests/cli/test_examples.c).
. "$(dirname "$0")/lib.sh"
guide=docs/guide/waits.md
expect "it says so plainly" grep -q 'asynchronous' "$guide"
for name in $(grep -oh 'tinkc_[a-z0-9_]*' docs/guide/*.md | sort -u); do
    # a function or type of the library, or a metric of the server (srv_info.c adds "tinkc_")
    grep -qE "\"${name#tinkc_}\"|TYPE $name " src/server/api/srv_info.c ||
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
expect "each is in an example, unchanged" test "$blocks" -eq "$found"
read -r blocks found < <(python3 - <<'PY'
import glob, re
text = " ".join(" ".join(open(p).read().split()) for p in sorted(
    glob.glob("examples/cpp/*.cpp") + glob.glob("tests/cpp/*.cpp")))
blocks = [b for p in glob.glob("docs/guide/*.md")
          for b in re.findall(r"```cpp\n(.*?)```", open(p).read(), re.S)]
print(len(blocks), sum(" ".join(b.split()) in text for b in blocks))
PY
)
expect "there are blocks of C++" test "$blocks" -gt 3
expect "each is in an example or a test of C++, unchanged" test "$blocks" -eq "$found"
for example in examples/*.c examples/cpp/*.cpp; do
    name=${example#examples/}
    name=${name%.c*}
    expect "$name is run by a test" grep -q "\"$name\"" tests/cli/test_examples*.c
done
for page in docs/guide/*.md; do
    for link in $(grep -o '](\([A-Za-z0-9_./-]*\))' "$page" | tr -d '])('); do
        expect "$page: $link exists" test -e "docs/guide/$link"
    done
    expect "$page is named by docs/guide/start.md" \
        grep -q "($(basename "$page"))" docs/guide/start.md <(echo "(start.md)")
done
for page in $(grep -oh 'docs/guide/[a-z-]*\.md' examples/*.c README.md); do
    expect "$page exists" test -e "$page"
done
for example in $(grep -oh '`0[0-9]_[a-z]*\.c`' docs/guide/*.md README.md | tr -d '`'); do
    expect "$example exists" test -e "examples/$example"
done
for example in examples/*.c examples/cpp/*.cpp; do
    expect "README.md names $example" grep -q "($example)" README.md
    expect "$example has less than 200 lines" test "$(wc -l <"$example")" -lt 200
done
finish
