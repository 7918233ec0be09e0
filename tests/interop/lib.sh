# Shared by the suites that start `tinkc serve`: run in the source root, with $build (absolute),
# $work (a temporary directory) and the functions below. Not a suite itself.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=$(realpath "${TINKC_BUILD_DIR:-build}")
work=$(mktemp -d) || exit 1
server='' url='' peer='' # peer: a server of another kind
trap '[ -z "$server$peer" ] || kill $server $peer; rm -rf "$work"' EXIT
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1 NO_PROXY=127.0.0.1
unset TINKER_API_KEY TINKER_BASE_URL TINKER_TAGS TINKER_PROJECT_ID TINKER_CREDENTIAL_CMD

# make_venv HOME PACKAGE...: a virtual environment with packages of PyPI, made once.
make_venv() {
    local home=$1
    shift
    [ ! -e "$home/ready" ] || return 0
    rm -rf "$home"
    python3 -m venv "$home" &&
        "$home/bin/python" -m pip --disable-pip-version-check -q install "$@" &&
        touch "$home/ready"
}

# The clients of OpenAI's and Anthropic's APIs.
make_agents_venv() {
    make_venv build/agents-venv openai==3.51.0 anthropic==2.10.0 litellm==1.83.0 mcp==2.3.0 tokenizers==0.23.3
}

# cookbook_venv: the official cookbook in $cookbook. PyTorch comes from build/torch-venv.
cookbook=$PWD/build/cookbook-venv
cookbook_venv() {
    [ ! -e "$cookbook/ready" ] || return 0
    local torch packages
    torch=$(scripts/torch-venv.sh) || return 1
    rm -rf "$cookbook"
    python3 -m venv "$cookbook" || return 1
    packages=$(echo "$cookbook"/lib/python*/site-packages)
    echo "$(dirname "$(dirname "$torch")")"/lib/python*/site-packages >"$packages/torch-venv.pth"
    "$cookbook/bin/python" -m pip --disable-pip-version-check -q install \
        "tinker-cookbook[math-rl]==0.5.8" tinker==0.36.0 transformers==5.5.4 datasets==5.2.0 \
        huggingface-hub==1.33.0 chz==0.4.0 pyqwest==0.12.0 pandas==3.1.1 pyarrow==26.0.1 &&
        touch "$cookbook/ready"
}

# To be called after a run of the official SDK that failed: true when it was aborted, which its HTTP
# library (pyqwest) sometimes does while the interpreter ends, after all work.
ended() { [ $? -eq 134 ]; }

# serve OPTION...: starts a server with its data in $work/data; sets $server and $url when it
# listens.
serve() {
    : >"$work/out"
    "$build/tinkc" serve --port 0 --data "$work/data" "$@" >"$work/out" 2>"$work/err" &
    server=$!
    until url=$(sed -n 's/^listening on //p' "$work/out") && [ -n "$url" ]; do
        kill -0 "$server" 2>/dev/null || {
            cat "$work/err"
            server=
            return 1
        }
        sleep 0.05
    done
}

# Ends it; false when it did not end well.
serve_end() {
    local pid=$server
    server=
    kill -TERM "$pid" && wait "$pid" || { echo "the server did not stop well"; return 1; }
}
