#!/usr/bin/env bash
# lm-eval (PyPI) over tasks in local files, without the network: log-probabilities and greedy text through
# /v1/completions of `tinkc serve` and of `tinkc gateway` against transformers in the same process, on tiny models.
# Needs build/torch-venv and 0.7 GB; about two minutes.
. "$(dirname "$0")/lib.sh"
home=$PWD/build/lmeval-venv
export HF_DATASETS_OFFLINE=1 HF_HOME=$work/hf TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1 TQDM_DISABLE=1

# PyTorch and transformers come from build/torch-venv.
install() {
    [ ! -e "$home/ready" ] || return 0
    local torch packages
    torch=$(scripts/torch-venv.sh) || return 1
    rm -rf "$home"
    python3 -m venv "$home" || return 1
    packages=$(echo "$home"/lib/python*/site-packages)
    echo "$(dirname "$(dirname "$torch")")"/lib/python*/site-packages >"$packages/torch-venv.pth"
    "$home/bin/python" -m pip --disable-pip-version-check -q install "lm_eval[api]==0.4.13" datasets==5.2.0 &&
        touch "$home/ready"
}

install || exit 1
command=("$home/bin/python" -W ignore tests/interop/lmeval_compare.py "$build/tinkc" "$work")
if unshare -rn ip link set lo up 2>/dev/null; then
    unshare -rn bash -c 'ip link set lo up && exec "$@"' alone "${command[@]}"
else
    echo "the network cannot be taken away here"
    "${command[@]}"
fi
