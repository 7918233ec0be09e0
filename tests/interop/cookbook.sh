#!/usr/bin/env bash
# Recipes of the official cookbook (PyPI), unchanged, against `tinkc serve`: supervised, RL,
# multi-turn RL, DPO, on-policy distillation, and a run that is killed and resumed. The model is
# the embedded one under the names that the recipes ask for; tokenizer and data are files here,
# and the recipes run where there is no network but loopback. Needs build/torch-venv and 0.6 GB.
# Four minutes on two cores of which others used half; no recipe may take more than 15.
. "$(dirname "$0")/lib.sh"
home=$PWD/build/cookbook-venv
names=(Qwen/Qwen3.5-9B-Base Qwen/Qwen3.5-9B Qwen/Qwen3.5-4B)

# PyTorch comes from build/torch-venv.
install() {
    [ ! -e "$home/ready" ] || return 0
    local torch packages
    torch=$(scripts/torch-venv.sh) || return 1
    rm -rf "$home"
    python3 -m venv "$home" || return 1
    packages=$(echo "$home"/lib/python*/site-packages)
    echo "$(dirname "$(dirname "$torch")")"/lib/python*/site-packages >"$packages/torch-venv.pth"
    "$home/bin/python" -m pip --disable-pip-version-check -q install \
        "tinker-cookbook[math-rl]==0.5.8" tinker==0.36.0 transformers==5.5.4 datasets==5.2.0 \
        huggingface-hub==1.33.0 chz==0.4.0 pyqwest==0.12.0 pandas==3.1.1 pyarrow==26.0.1 &&
        touch "$home/ready"
}

# Nothing but loopback is left. Without the right to that, a proxy that is not there.
if [ -z "${TINKC_COOKBOOK_ALONE:-}" ]; then
    install || exit 1
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
"$home/bin/python" tests/interop/cookbook_run.py "$url" "$server" "$work/home" || failed=1
serve_end || failed=1
exit $failed
