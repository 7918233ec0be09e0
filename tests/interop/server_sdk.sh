#!/usr/bin/env bash
# The official Python SDK, two pinned versions, unmodified, against `tinkc serve`: its
# library (server_sdk.py) with PyTorch for custom losses, futures of samples
# (server_futures.py), and its command line.
. "$(dirname "$0")/lib.sh"
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
serve || exit 1
for version in 0.25.0 0.36.0; do
    scripts/sdkenv.py $version --torch >/dev/null || exit 1
    timeout 600 "build/sdk-venv/$version/bin/python" -W ignore tests/interop/server_sdk.py \
        "$url" --torch || failed=1
    if [ "$version" != 0.25.0 ]; then
        timeout 300 "build/sdk-venv/$version/bin/python" -W ignore \
            tests/interop/server_futures.py "$url" || failed=1
    fi
    check_cli $version || failed=1
done
serve_end || failed=1
exit $failed
