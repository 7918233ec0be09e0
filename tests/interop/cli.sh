#!/usr/bin/env bash
# tinkc and the official command line program side by side on the same server: what both have
# says the same. JSON: same keys, same values; tables: same columns, rows and titles; the only
# differences are those of docs/cli-differences.md, which tests/interop/cli_compare.py knows.
. "$(dirname "$0")/lib.sh"
version=0.25.0
export COLUMNS=400 LC_ALL=C.UTF-8

home=$PWD/build/sdk-venv/$version
scripts/sdkenv.py $version >/dev/null || exit 1
serve || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop

"$home/bin/python" -W ignore - <<'PYTHON' >"$work/run" || ended || exit 1
import tinker
service = tinker.ServiceClient(user_metadata={"note": "h\u00e9"})
training = service.create_lora_training_client(base_model="tinkc/pebble-llama-2m", rank=8,
                                               user_metadata={"name": "a \"b\" \u00e9"})
datum = tinker.Datum(model_input=tinker.ModelInput.from_ints([5, 6, 7]),
                     loss_fn_inputs={"target_tokens": [6, 7, 8], "weights": [1.0, 1.0, 1.0]})
training.forward_backward([datum], "cross_entropy").result()
for name in ("one", "two", "three", "four", "five"):
    training.save_state(name).result()
training.save_weights_for_sampler("sampler").result()
other = service.create_lora_training_client(base_model="tinkc/pebble-llama-2m", rank=4)
other.save_state("one").result()
path = training.save_weights_for_sampler("last").result().path
print(path.split("/")[2])
PYTHON

python3 -B tests/interop/cli_compare.py --ours "$build/tinkc" --official "$home/bin/tinker" \
    --run "$(cat "$work/run")" --work "$work"
failed=$?
serve_end || failed=1
exit $failed
