#!/usr/bin/env bash
# The Python line with which `make demo` ends and the Python program of README.md, as they are but
# for the port, with both pinned versions of the official SDK.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/docs/demo_lines.sh
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore
demo_run "${TINKC_BUILD_DIR:-build}" || exit 1
demo_serve || exit 1
awk '/^```python$/ { on = 1; next } /^```/ { on = 0 } on' README.md |
    sed "s|http://127.0.0.1:8000|$url|" >"$work/readme.py"
failed=0
for version in 0.25.0 0.36.0; do
    home=build/sdk-venv/$version
    scripts/sdkenv.py $version >/dev/null || exit 1
    said=$(PATH=$PWD/$home/bin:$PATH timeout 300 bash -c "$(demo_line python3)")
    case $said in
    "I am Pebble, a very small language model."*) echo "tinker $version: $said" ;;
    *) echo "tinker $version said: $said" && failed=1 ;;
    esac
    said=$(timeout 300 "$home/bin/python" "$work/readme.py")
    case $said in
    "I am a stone that learns."*) echo "tinker $version, README.md: $said" ;;
    *) echo "tinker $version said: $said" && failed=1 ;;
    esac
done
exit $failed
