#!/usr/bin/env bash
# The official Python SDK, two pinned versions, unmodified, against `tinkc serve`: its
# library (server_sdk.py) with PyTorch for custom losses, and its command line.
set -u
cd "$(dirname "$0")/../.."
program=${TINKC_BUILD_DIR:-build}/tinkc
torch=$(scripts/torch-venv.sh) || exit 1
work=$(mktemp -d) || exit 1
server=
trap '[ -n "$server" ] && kill "$server"; rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1
unset TINKER_API_KEY TINKER_BASE_URL TINKER_TAGS TINKER_PROJECT_ID TINKER_CREDENTIAL_CMD

# A virtual environment with one version of the SDK, which sees the PyTorch of the other.
make_venv() {
    local home=build/sdk-venv/$1
    if [ ! -e "$home/ready" ]; then
        rm -rf "$home"
        python3 -m venv "$home" || return 1
        "$home/bin/python" -m pip --disable-pip-version-check -q install "tinker==$1" || return 1
        "$torch" -c 'import site; print(site.getsitepackages()[0])' \
            >"$("$home/bin/python" -c 'import site; print(site.getsitepackages()[0])')/torch.pth"
        touch "$home/ready"
    fi
}

start() {
    "$program" serve --port 0 --data "$work/data" >"$work/out" 2>"$work/err" &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/^listening on //p' "$work/out")
        [ -n "$url" ] && return 0
        sleep 0.05
    done
    cat "$work/err"
    return 1
}

# The SDK's own program: lists, a checkpoint's details, a download where that is a tar, delete.
check_cli() {
    local tinker=build/sdk-venv/$1/bin/tinker path
    export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop
    "$tinker" run list | grep -q 'train:0' || { echo "$1: run list"; return 1; }
    path=$("$tinker" --format json checkpoint list | grep -o 'tinker://[^"]*/weights/[^"]*' | head -n 1)
    [ -n "$path" ] || { echo "$1: checkpoint list"; return 1; }
    "$tinker" checkpoint info "$path" | grep -q weights/ || { echo "$1: checkpoint info"; return 1; }
    if [ "$1" = 0.25.0 ]; then
        "$tinker" checkpoint download "$path" -o "$work/got" >/dev/null &&
            ls "$work"/got/*/adapter_model.safetensors >/dev/null || { echo "$1: download"; return 1; }
    fi
    "$tinker" checkpoint delete -y "$path" >/dev/null || { echo "$1: checkpoint delete"; return 1; }
    ! "$tinker" --format json checkpoint list | grep -q "$path" || { echo "$1: still there"; return 1; }
    unset TINKER_BASE_URL TINKER_API_KEY
    echo "tinker $1: its commands agree"
}

failed=0
start || exit 1
for version in 0.25.0 0.36.0; do
    make_venv $version || exit 1
    timeout 600 "build/sdk-venv/$version/bin/python" -W ignore tests/interop/server_sdk.py \
        "$url" --torch || failed=1
    check_cli $version || failed=1
done
kill -TERM "$server" && wait "$server" || { echo "the server did not stop well"; failed=1; }
server=
exit $failed
