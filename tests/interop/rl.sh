#!/usr/bin/env bash
# `tinkc rl` beside the official cookbook's recipe of reinforcement learning (math_rl, arithmetic):
# the same questions, rewards, start and server, three runs each. The reward after the same number
# of episodes, wall time and CPU time of the client. Then the gap between sampler and trainer that
# `tinkc rl` reports, computed again from its rollouts with the official SDK. 14 minutes at a load of 15 on
# two cores, nearly all of it the cookbook's.
. "$(dirname "$0")/lib.sh"
cookbook_venv || exit 1
export HF_DATASETS_OFFLINE=1 HF_HOME=$work/hub TOKENIZERS_PARALLELISM=false OMP_NUM_THREADS=1
name=Qwen/Qwen3.5-9B
failed=0
mkdir "$work/home"
python3 tests/interop/cookbook_data.py models/pebble-llama-2m "$work/home" $name || exit 1
serve --alias "$name=tinkc/pebble-llama-2m" || exit 1
export TINKER_BASE_URL=$url TINKER_API_KEY=tml-interop
"$cookbook/bin/python" tests/interop/rl_compare.py "$build/tinkc" "$work/home" || failed=1
serve_end || failed=1
exit $failed
