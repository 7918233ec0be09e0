#!/usr/bin/env bash
# The official command line program, unmodified, against `tinkc serve`: runs and checkpoints
# are listed, shown, published, given a time to live, downloaded and deleted.
. "$(dirname "$0")/lib.sh"
version=0.25.0
failed=0

home=build/sdk-venv/$version
scripts/sdkenv.py $version >/dev/null || exit 1
serve || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop

cli() { timeout 120 "$home/bin/tinker" --format json "$@" || ended; }

# expect WHAT PYTHON COMMAND...: the JSON output of the command is `d`, PYTHON must be true.
expect() {
    local what=$1 test=$2
    shift 2
    if ! "$@" >"$work/json" 2>"$work/log" ||
        ! python3 -c "import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not ($test))" "$work/json"; then
        echo "the official CLI: $what"
        cat "$work/json" "$work/log"
        failed=1
    fi
}

"$home/bin/python" -W ignore - <<'PYTHON' >"$work/run" || ended || exit 1
import tinker
service = tinker.ServiceClient()
training = service.create_lora_training_client(base_model="tinkc/pebble-llama-2m", rank=8)
for name in ("one", "two", "three"):
    training.save_state(name).result()
path = training.save_weights_for_sampler("sampler").result().path
print(path.split("/")[2])
PYTHON
run=$(cat "$work/run")

expect "run list" "[r['training_run_id'] for r in d['runs']] == ['$run']" cli run list
expect "run info" "'$run' in json.dumps(d)" cli run info "$run"
expect "checkpoint list" "len(d['checkpoints']) == 4" cli checkpoint list
expect "checkpoint list of a run" "len(d['checkpoints']) == 4" cli checkpoint list --run-id "$run"
expect "checkpoint list --limit" "len(d['checkpoints']) == 2" cli checkpoint list --limit 2
expect "checkpoint info" "'weights/one' in json.dumps(d)" \
    cli checkpoint info "tinker://$run/weights/one"
cli checkpoint publish "tinker://$run/weights/one" >/dev/null 2>&1 || { echo "publish"; failed=1; }
cli checkpoint unpublish "tinker://$run/weights/one" >/dev/null 2>&1 || { echo "unpublish"; failed=1; }
cli checkpoint set-ttl "tinker://$run/weights/one" --ttl 3600 >/dev/null 2>&1 || { echo "set-ttl"; failed=1; }
cli checkpoint set-ttl "tinker://$run/weights/one" --remove >/dev/null 2>&1 || { echo "set-ttl --remove"; failed=1; }
mkdir "$work/got"
cli checkpoint download "tinker://$run/sampler_weights/sampler" -o "$work/got" >"$work/log" 2>&1 ||
    { echo "download"; cat "$work/log"; failed=1; }
for file in adapter_config.json adapter_model.safetensors; do
    cmp "$work"/got/*/$file "$work"/data/checkpoints/*/sampler_weights/sampler.*/$file || failed=1
done
expect "checkpoint delete" "d['deleted_count'] == 2" \
    cli checkpoint delete "tinker://$run/weights/one" "tinker://$run/weights/two" -y
expect "checkpoint list after it" "len(d['checkpoints']) == 2" cli checkpoint list
cli run info nobody >/dev/null 2>&1 && { echo "a run that is not there was shown"; failed=1; }

serve_end || failed=1
[ $failed -eq 0 ] && echo "the official CLI $version: runs and checkpoints agree"
exit $failed
