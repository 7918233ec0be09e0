"""The SDK's program, each command and each option."""

import datetime
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

from stage import KEY, Refused, environment, local, probe

sys.path.insert(0, str(Path(__file__).parent.parent))
from hub_stand_in import TOKEN, Hub  # noqa: E402

LIMIT = 100  # seconds: less than the deadline of a probe

local("a group of commands", "tinker", "tinker auth", "tinker billing", "tinker checkpoint",
      "tinker model", "tinker run", "tinker session")


class Ended(Exception):
    """The program failed; its output is the text."""


# A process that has imported the program and starts one fresh process for each command: the
# imports take seconds.
STARTER = multiprocessing.get_context("forkserver")
STARTER.set_forkserver_preload(["tinker", "tinker.cli.__main__", "tinker.cli.commands.checkpoint"])


def program(words, env, files):
    """In a fresh process: what the program's script does."""
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(files):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.stdin = open(0)
    sys.argv = ["tinker", *words]
    from tinker.cli.__main__ import main
    main()


def tinker(m, *words, home=None, stdin="", key=KEY, env=None):
    """Runs the program; returns its output, or raises what it said."""
    home = Path(home or m.work / "home")
    home.mkdir(exist_ok=True)
    values = {"HOME": str(home), "TINKER_BASE_URL": m.url, "COLUMNS": "400", **(env or {})}
    if key is not None:
        values["TINKER_API_KEY"] = key
    m.count += 1
    files = [m.work / f"{kind}{m.count}" for kind in ("stdin", "stdout", "stderr")]
    files[0].write_text(stdin)
    child = STARTER.Process(target=program, args=(words, environment(**values), files))
    child.start()
    child.join(LIMIT)
    if child.exitcode is None:
        child.kill()
        raise Ended(f"no end after {LIMIT} seconds")
    out, said = (path.read_text() for path in files[1:])
    # Its HTTP library sometimes aborts while the interpreter ends, after all work.
    if child.exitcode == 0 or child.exitcode == -6 and "Error" not in out + said:
        return out
    said = said.strip() or out.strip()
    if "Traceback" not in said and "Usage:" not in said and "Error" in said:
        raise Refused(" ".join(said.split()))
    raise Ended(said[-2000:])


def read(m, *words, **options):
    return json.loads(tinker(m, "--format", "json", *words, **options))


@probe("tinker --format -f")
def _(m):
    assert m.training.model_id in tinker(m, "-f", "table", "run", "list")
    assert read(m, "run", "list")["runs"]


@probe("tinker version")
def _(m):
    import tinker as sdk
    assert sdk.__version__ in tinker(m, "version")
    script = Path(sys.executable).parent / "tinker"
    done = subprocess.run([script, "version"], capture_output=True, text=True, timeout=LIMIT)
    assert sdk.__version__ in done.stdout, done


# ---- runs, sessions, models ----

@probe("tinker run list")
def _(m):
    runs = read(m, "run", "list")["runs"]
    assert runs[0]["training_run_id"], runs


@probe("tinker run list --limit")
def _(m):
    m.training, m.new_training()
    assert len(read(m, "run", "list", "--limit", "1")["runs"]) == 1


@probe("tinker run list --columns -c")
def _(m):
    assert m.training.model_id in tinker(m, "run", "list", "--columns", "id,model")


@probe("tinker run info")
def _(m):
    assert m.training.model_id in json.dumps(read(m, "run", "info", m.training.model_id))


@probe("tinker session export-trace")
def _(m):
    tinker(m, "session", "export-trace", m.session_id, "--output", str(m.work / "trace.json"))


local("where the file goes", "tinker session export-trace --output -o",
      "tinker session export-trace --url-only", "tinker session export-trace --force")


@probe("tinker model list", covers="SUBSTRING")
def _(m):
    assert "pebble" in tinker(m, "model", "list")
    assert "pebble" in tinker(m, "model", "list", "PEBBLE")


# ---- checkpoints ----

@probe("tinker checkpoint list")
def _(m):
    assert m.state in json.dumps(read(m, "checkpoint", "list", "--limit", "0"))


@probe("tinker checkpoint list --run-id")
def _(m):
    other = m.new_training().save_state(m.name()).result().path
    run = m.state.split("/")[2]
    text = json.dumps(read(m, "checkpoint", "list", "--run-id", run))
    assert m.state in text and other not in text, text


@probe("tinker checkpoint list --limit")
def _(m):
    m.state, m.weights
    assert len(read(m, "checkpoint", "list", "--limit", "1")["checkpoints"]) == 1


@probe("tinker checkpoint info")
def _(m):
    assert "weights/" in json.dumps(read(m, "checkpoint", "info", m.state))


@probe("tinker checkpoint publish")
def _(m):
    tinker(m, "checkpoint", "publish", m.state)
    assert m.checkpoint(m.state)["public"] is True


@probe("tinker checkpoint unpublish")
def _(m):
    m.rest.publish_checkpoint_from_tinker_path(m.state).result()
    tinker(m, "checkpoint", "unpublish", m.state)
    assert m.checkpoint(m.state)["public"] is False


@probe("tinker checkpoint set-ttl", covers="--ttl --remove")
def _(m):
    path = m.training.save_state(m.name()).result().path
    tinker(m, "checkpoint", "set-ttl", path, "--ttl", "3600")
    assert m.checkpoint(path)["expires_at"]
    tinker(m, "checkpoint", "set-ttl", path, "--remove")
    assert not m.checkpoint(path)["expires_at"]


def saved(m, *kinds):
    """A run with a checkpoint of each kind."""
    training = m.new_training()
    calls = {"weights": "save_state", "sampler_weights": "save_weights_for_sampler"}
    return training.model_id, [getattr(training, calls[k])(m.name()).result().path for k in kinds]


def left(m, run):
    return {c["tinker_path"] for c in m.raw(f"training_runs/{run}/checkpoints")["checkpoints"]}


@probe("tinker checkpoint delete", covers="--yes CHECKPOINT_PATHS")
def _(m):
    run, (first, second, third) = saved(m, "weights", "weights", "sampler_weights")
    tinker(m, "checkpoint", "delete", first, second, "-y")
    assert left(m, run) == {third}


@probe("tinker checkpoint delete --run-id")
def _(m):
    run, _ = saved(m, "weights", "sampler_weights")
    tinker(m, "checkpoint", "delete", "--run-id", run, "-y")
    assert left(m, run) == set()


@probe("tinker checkpoint delete --type")
def _(m):
    run, (kept, _) = saved(m, "weights", "sampler_weights")
    tinker(m, "checkpoint", "delete", "--run-id", run, "--type", "sampler_weights", "-y")
    assert left(m, run) == {kept}


def dated(option, kept_by, removed_by):
    @probe(f"tinker checkpoint delete {option}")
    def _(m):
        run, paths = saved(m, "weights")
        day = datetime.date.today()
        for shift, expected in ((kept_by, set(paths)), (removed_by, set())):
            when = str(day + datetime.timedelta(days=shift))
            try:
                tinker(m, "checkpoint", "delete", "--run-id", run, option, when, "-y")
            except Refused:  # "nothing matches" may be an error of the program
                assert expected
            assert left(m, run) == expected, (option, when)


dated("--before", -7, 7)
dated("--after", 7, -7)


def downloadable(m):
    """0.36 downloads training weights; before it, any weights as an archive."""
    return m.state


@probe("tinker checkpoint download", covers="--output")
def _(m):
    out = m.work / f"got{m.name()}"
    out.mkdir()
    tinker(m, "checkpoint", "download", downloadable(m), "--output", str(out))
    files = {p.name: p.stat().st_size for p in out.rglob("*") if p.is_file()}
    assert files.get("adapter_model.safetensors") and files.get("adapter_config.json"), files


@probe("tinker checkpoint download --force")
def _(m):
    out = m.work / f"got{m.name()}"
    out.mkdir()
    words = ("checkpoint", "download", downloadable(m), "--output", str(out))
    tinker(m, *words)
    try:
        tinker(m, *words)
    except Refused:
        tinker(m, *words, "--force")
        return
    raise AssertionError("files were written twice without --force")


@probe("tinker checkpoint push-hf", covers="--repo --public --revision --commit-message "
       "--create-pr --allow-pattern --ignore-pattern --no-model-card")
def _(m):
    with Hub(lenient=True) as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        tinker(m, "checkpoint", "push-hf", downloadable(m), "--repo", "someone/thing", env=env)
        assert not hub.problems, hub.problems
        names = {n for repo in hub.repos.values() for files in repo.branches.values() for n in files}
        assert {"adapter_config.json", "adapter_model.safetensors"} <= names, names


# ---- accounts ----

@probe("tinker billing usage", covers="--csv --sessions-csv")
def _(m):
    m.state
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
    day = datetime.timedelta(days=1)
    window = [(now + d).strftime("%Y-%m-%dT%H:%M:%SZ") for d in (-day, day)]
    assert "checkpoint" in json.dumps(read(m, "billing", "usage", *window))
    assert "checkpoint" in tinker(m, "billing", "usage", *window, "--csv", "-")


@probe("tinker billing checkpoint-storage", covers="--csv")
def _(m):
    m.state
    assert read(m, "billing", "checkpoint-storage")["data"]


@probe("tinker billing checkpoint-storage --project-id")
def _(m):
    m.state
    assert not read(m, "billing", "checkpoint-storage", "--project-id", "no-such-project")["data"]


@probe("tinker auth login")
def _(m):
    assert "Logged in" in tinker(m, "auth", "login", home=m.work / "login", stdin=KEY + "\n",
                                 key=None)


@probe("tinker auth logout")
def _(m):
    home = m.work / "logout"
    folder = home / ".tinker"
    folder.mkdir(parents=True)
    details = {"org_details": {"name": "o"}, "user_details": {"email": "e@example.com"}}
    record = {"type": "manual", "key": KEY, "name": "n", "note": "", "details": details}
    path = folder / "credentials.json"
    path.write_text(json.dumps({"version": 1, "default": "1", "keys": {"1": record}}))
    os.chmod(path, 0o600)
    tinker(m, "auth", "logout", home=home, key=None)
    assert KEY not in path.read_text()


@probe("tinker auth status")
def _(m):
    assert "yes" in tinker(m, "auth", "status")


@probe("tinker auth whoami")
def _(m):
    assert "urn" in tinker(m, "auth", "whoami")


local("how the key is entered", "tinker auth login --no-browser", "tinker auth login --api-key")
