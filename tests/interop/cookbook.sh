#!/usr/bin/env bash
# Recipes of the official cookbook (PyPI), unchanged, against `tinkc serve`: supervised, RL,
# multi-turn RL, DPO, on-policy distillation, and a run that is killed and resumed. The model is
# the embedded one under the names that the recipes ask for; tokenizer and data are files here,
# and the recipes run where there is no network but loopback. Needs build/torch-venv and 0.6 GB.
# Four minutes on two cores of which others used half; no recipe may take more than 15.
. "$(dirname "$0")/lib.sh"
names=(Qwen/Qwen3.5-9B-Base Qwen/Qwen3.5-9B Qwen/Qwen3.5-4B)

# Nothing but loopback is left. Without the right to that, a proxy that is not there.
if [ -z "${TINKC_COOKBOOK_ALONE:-}" ]; then
    cookbook_venv || exit 1
    export TINKC_COOKBOOK_ALONE=1
    if unshare --map-root-user --net true 2>/dev/null; then
        rm -rf "$work"
        exec unshare --map-root-user --net "$0"
    fi
    export https_proxy=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9 no_proxy=127.0.0.1
    echo "  no right to a network of its own: the proxy is a closed port"
else
    ip link set lo up || exit 1
    ! timeout 10 bash -c 'exec 3<>/dev/tcp/192.0.2.1/443' 2>/dev/null || exit 1
    echo "  network: $(ip -o link | awk '{ print $2 }' | tr -d '\n')"
fi
export HF_DATASETS_OFFLINE=1 HF_HOME=$work/hub TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1

aliases=()
for name in "${names[@]}"; do aliases+=(--alias "$name=tinkc/pebble-llama-2m"); done
mkdir "$work/home"
python3 tests/interop/cookbook_data.py models/pebble-llama-2m "$work/home" "${names[@]}" || exit 1
failed=0
serve "${aliases[@]}" || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop
"$cookbook/bin/python" tests/interop/cookbook_run.py "$url" "$server" "$work/home" || failed=1
serve_end || failed=1
exit $failed
