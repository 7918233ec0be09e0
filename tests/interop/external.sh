#!/usr/bin/env bash
# Weights out and in. Out: the command line program of the official SDK 0.36, unmodified, exports
# and downloads a training checkpoint from `tinkc serve`, with the same bytes as our program. In: an
# adapter that PEFT trained is uploaded, sampled, trained on and downloaded again.
. "$(dirname "$0")/lib.sh"
version=0.36.0
failed=0

home=build/sdk-venv/$version
scripts/sdkenv.py $version >/dev/null || exit 1
torch=$(scripts/torch-venv.sh) || exit 1
serve || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop

# ---- out ----

"$home/bin/python" -W ignore - <<'PYTHON' >"$work/paths" || ended || exit 1
import tinker
from tinker import types
service = tinker.ServiceClient()
training = service.create_lora_training_client(
    base_model="tinkc/pebble-llama-2m", rank=8, user_metadata={"colour": "green"})
datum = types.Datum(
    model_input=types.ModelInput.from_ints([5, 6, 7]),
    loss_fn_inputs={"target_tokens": [6, 7, 8], "weights": [1.0, 1.0, 1.0]})
training.forward_backward([datum], "cross_entropy").result()
training.optim_step(types.AdamParams(learning_rate=1e-2)).result()
print(training.save_state("one", user_metadata={"step": "1"}).result().path)
print(training.save_weights_external("two").result().path)
PYTHON
{ read -r state && read -r exported; } <"$work/paths" || exit 1

for path in "$state" "$exported"; do
    rm -rf "$work/theirs" "$work/ours"
    mkdir "$work/theirs"
    SECONDS=0
    timeout 120 "$home/bin/tinker" checkpoint download "$path" -o "$work/theirs" >"$work/log" 2>&1 ||
        ended || { echo "the official download of $path"; cat "$work/log"; failed=1; }
    [ $SECONDS -lt 100 ] || { echo "the official download of $path took $SECONDS s"; failed=1; }
    "$build/tinkc" checkpoint download "$path" -o "$work/ours" >"$work/log" 2>&1 ||
        { echo "our download of $path"; cat "$work/log"; failed=1; }
    for file in adapter_config.json adapter_model.safetensors; do
        cmp "$work"/theirs/*/$file "$work"/ours/*/$file || failed=1
    done
done
"$build/tinkc" checkpoint list --format json >"$work/list"
python3 - "$work/list" <<'PYTHON' || { echo "the list of checkpoints"; cat "$work/list"; failed=1; }
import json, sys
found = {c["checkpoint_id"]: c for c in json.load(open(sys.argv[1]))["checkpoints"]}
assert sorted(found) == ["external_weights/two", "weights/one"], sorted(found)  # no export is left
assert found["weights/one"]["user_metadata"] == {"step": "1"}
assert found["external_weights/two"]["checkpoint_type"] == "external"
PYTHON

# ---- in ----

# Of the server's alpha, and of another one, which the server evens out with a factor of B.
for alpha in 32 12; do
    rm -rf "$work/adapter" "$work/back"
    "$torch" -W ignore tests/interop/external_peft.py make models/pebble-llama-2m "$work/adapter" $alpha ||
        exit 1
    uploaded=$("$build/tinkc" checkpoint upload "$work/adapter" -m tinkc/pebble-llama-2m) ||
        { echo "upload with alpha $alpha"; exit 1; }
    "$build/tinkc" checkpoint download "$uploaded" -o "$work/back" >/dev/null ||
        { echo "download of the upload with alpha $alpha"; failed=1; }
    "$home/bin/python" -W ignore - "$uploaded" >"$work/sampled" <<'PYTHON' || ended || { echo "use of the upload with alpha $alpha"; failed=1; }
import sys, tinker
from tinker import types
service = tinker.ServiceClient()
path = sys.argv[1]
prompt = types.ModelInput.from_ints([5, 6, 7, 8])
sampling = service.create_sampling_client(model_path=path)
answer = sampling.sample(prompt, 1, types.SamplingParams(max_tokens=16, temperature=0.0)).result()
print(" ".join(str(t) for t in answer.sequences[0].tokens))
print(" ".join(str(p) for p in sampling.compute_logprobs(prompt).result()[1:]))
training = service.create_training_client_from_state(path)
datum = types.Datum(
    model_input=types.ModelInput.from_ints([5, 6, 7]),
    loss_fn_inputs={"target_tokens": [6, 7, 8], "weights": [1.0, 1.0, 1.0]})
first = training.forward_backward([datum], "cross_entropy").result()
training.optim_step(types.AdamParams(learning_rate=1e-3)).result()
second = training.forward_backward([datum], "cross_entropy").result()
assert second.metrics["loss:sum"] < first.metrics["loss:sum"], (first.metrics, second.metrics)
PYTHON
    "$torch" -W ignore tests/interop/external_peft.py compare models/pebble-llama-2m "$work/adapter" \
        "$work"/back/* "$work/sampled" || { echo "alpha $alpha"; failed=1; }
done

serve_end || failed=1
[ $failed -eq 0 ] && echo "external weights: the official CLI $version and PEFT agree"
exit $failed
