#!/usr/bin/env bash
# `checkpoint push-hf` of tinkc and of the official program, each into a simulated model hub
# (tests/interop/hub_stand_in.py): the repositories are the same to the byte, and so is what the
# programs say, but for what docs/cli-differences.md lists.
. "$(dirname "$0")/lib.sh"
version=0.25.0
export COLUMNS=400 LC_ALL=C.UTF-8

home=$PWD/build/sdk-venv/$version
scripts/sdkenv.py $version >/dev/null || exit 1
serve || exit 1

TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop "$home/bin/python" -W ignore - <<'PYTHON' \
    >"$work/path" || ended || exit 1
import tinker
service = tinker.ServiceClient()
training = service.create_lora_training_client(base_model="tinkc/pebble-llama-2m", rank=8)
print(training.save_weights_for_sampler("sampler").result().path)
PYTHON

python3 -B tests/interop/push_hf.py --ours "$build/tinkc" --official "$home/bin/tinker" \
    --server "$url" --path "$(cat "$work/path")" --work "$work" "$@"
failed=$?
serve_end || failed=1
exit $failed
