"""scripts/sdkdiff.py and scripts/sdk-drift.py on made-up recordings; nothing is installed.

Run by test_docs_drift.sh. Each case states the changes that must be found, and that nothing else
is: a difference that the robot does not see would let a release pass unnoticed.
"""

import contextlib
import copy
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
import sdkdiff  # noqa: E402

SESSION = "00000000-0000-4000-8000-000000000001"


def request(path, body=None, method="POST", headers=(), **more):
    names = {"Content-Type": "application/json", "User-Agent": "any", **dict.fromkeys(headers, "x")}
    return {"method": method, "path": f"/api/v1/{path}", "headers": names, "body": body, **more}


def found(old, new):
    return sorted((c.owner, c.text) for c in sdkdiff.requests(
        {"a/case": {"requests": old}}, {"a/case": {"requests": new}}))


def surface(**parts):
    empty = {"version": "0", "exports": [], "calls": {}, "types": {}, "errors": {}, "messages": {},
             "commands": {}, "variables": [], "requires": []}
    return {**empty, **parts}


def texts(old, new):
    return sorted(f"{c.owner}: {c.text}" for c in sdkdiff.surfaces(surface(**old), surface(**new)))


class Requests(unittest.TestCase):
    def test_the_same(self):
        one = [request("asample", {"a": 1, "list": [{"b": 2}]})]
        self.assertEqual(found(one, copy.deepcopy(one)), [])

    def test_new_key_and_gone_key(self):
        old, new = request("asample", {"a": 1, "b": 2}), request("asample", {"a": 1, "c": {"d": 3}})
        self.assertEqual(found([old], [new]), [
            ("POST asample", "`b` is no longer sent"), ("POST asample", '`c`: {"d": 3}')])

    def test_only_the_topmost_new_key(self):
        old, new = request("x", {"p": {}}), request("x", {"p": {"q": {"r": 1}}})
        self.assertEqual(found([old], [new]), [("POST x", '`p.q`: {"r": 1}')])

    def test_keys_of_the_caller(self):
        old, new = request("x", {"user_metadata": {}}), request("x", {"user_metadata": {"a": "b"}})
        self.assertEqual(found([old], [new]), [])

    def test_new_key_of_any_element(self):
        old = request("x", {"data": [{"a": 1}, {"a": 2}]})
        new = request("x", {"data": [{"a": 1}, {"a": 2, "b": 3}]})
        self.assertEqual(found([old], [new]), [("POST x", "`data.b`: 3")])

    def test_new_key_of_protobuf_and_query(self):
        old = request("x", None, protobuf={"a": 1}, params={"limit": "1"})
        new = request("x", None, protobuf={"a": 1, "v2": 7}, params={"limit": "1", "kind": "k"})
        self.assertEqual(found([old], [new]), [("POST x", "`?kind`: k"), ("POST x", "`v2`: 7")])

    def test_new_and_gone_request(self):
        old = request(f"training_runs/{SESSION}:train:0/checkpoints/weights/1/archive", method="GET")
        new = request(f"sessions/{SESSION}/finish", {"reason": 1})
        changes = list(sdkdiff.requests({"a": {"requests": [old]}}, {"b": {"requests": [new]}}))
        self.assertEqual({(c.owner, c.text, c.terms) for c in changes}, {
            ("POST sessions/{id}/finish", "new: `reason`", ("sessions/{id}/finish", "reason")),
            ("GET training_runs/{id}/checkpoints/{checkpoint}/archive", "no longer sent",
             ("training_runs/{id}/checkpoints/{checkpoint}/archive",))})

    def test_header(self):
        old, new = request("x"), request("x", headers=["X-Sdk-Method"])
        self.assertEqual(found([old], [new]), [("x-sdk-method", "new: POST x")])
        self.assertEqual(found([new], [old]), [("x-sdk-method", "no longer sent: POST x")])

    def test_headers_of_the_machine(self):
        old, new = request("x"), request("x", headers=["X-Stainless-Lang", "Host"])
        self.assertEqual(found([old], [new]), [])

    def test_changed_default(self):
        old, new = request("x", {"a": {"beta": 0.95}}), request("x", {"a": {"beta": 0.9}})
        self.assertEqual(found([old], [new]), [("POST x", "`a.beta`: 0.95 became 0.9")])

    def test_order(self):
        one, two = request("x", {}), request("y", {})
        self.assertEqual(found([one, two], [two, one]), [("a/case", "x, y became y, x")])
        self.assertEqual(found([one, one, two], [one, two]), [("a/case", "x, x, y became x, y")])


class Answers(unittest.TestCase):
    def changes(self, old, new):
        return sorted(c.text for c in sdkdiff.answers("T", old, new))

    def test_read_key(self):
        old = [{"body": {"a": 1, "b": 2}, "decoded": {"a": 1}}]
        new = [{"body": {"a": 1, "b": 2}, "decoded": {"a": 1, "b": 2}}]
        self.assertEqual(self.changes(old, new), ["`b`"])
        self.assertEqual(self.changes(new, old), ["no longer `b`"])
        self.assertEqual(self.changes(new, new), [])

    def test_accepted_and_refused(self):
        good, bad = [{"body": {}, "decoded": {}}], [{"body": {}, "error": "E"}]
        self.assertEqual(self.changes(bad, good), ["accepts {}"])
        self.assertEqual(self.changes(good, bad), ["refuses {}"])

    def test_other_value(self):
        old, new = ([{"body": {}, "decoded": {"n": n}}] for n in (1, 2))
        self.assertEqual(self.changes(old, new), ["`n` of {}: 1 became 2"])

    def test_outcome(self):
        old, new = ([{"name": "402_json", "seen": {"exception": e}}] for e in ("A", "BillingError"))
        change, = sdkdiff.outcomes("status", old, new)
        self.assertEqual((change.owner, change.terms), ("status 402", ("402", "BillingError")))

    def test_facts(self):
        old = {"facts": [{"name": "who", "result": {"user": "u"}}, {"name": "left", "error": "E"}]}
        new = {"facts": [{"name": "who", "result": {"user": "u", "org": "o"}},
                         {"name": "handle", "result": "h"}]}
        self.assertEqual(sorted((c.owner, c.text) for c in sdkdiff.facts(old, new)), [
            ("handle", "new: h"), ("left", "gone"), ("who", "`org`: o")])

    def test_goldens(self):
        old = {"reductions": ["hash_old", "sum"], "sets": [{"in": "a_b", "result": 1}]}
        new = {"reductions": ["hash2", "sum"], "sets": [{"in": "a_b", "result": 2}]}
        self.assertEqual(sorted(c.terms for c in sdkdiff.goldens("reducers", old, new)),
                         [("a_b",), ("hash2",), ("hash_old",)])


class Surfaces(unittest.TestCase):
    def test_calls(self):
        old = {"C.a": {"parameters": {"x": {"type": "int"}, "gone": {}}}, "C.b": {"parameters": {}}}
        new = {"C.a": {"parameters": {"x": {"type": "str"}, "k": {"default": "0"}},
                       "deprecated": "use b"},
               "C.c": {"parameters": {"p": {}}}, "C.c_async": {"parameters": {"p": {}}}}
        self.assertEqual(texts({"calls": old}, {"calls": new}), [
            "C.a: `gone` is gone", "C.a: `k=0` is new", "C.a: `x`: type int became type str",
            "C.a: deprecated", "C: `b` is gone", "C: `c(p)` is new"])

    def test_types(self):
        old = {"A": {"fields": {"x": {"default": "1"}}}, "L": {"values": ["a", "b"]},
               "U": {"alias": "Union[A]"}, "G": {"fields": {}}}
        new = {"A": {"fields": {"x": {"default": "2"}, "y": {}}}, "L": {"values": ["a", "c"]},
               "U": {"alias": "Union[A, B]"}, "B": {"fields": {"n": {}}}}
        self.assertEqual(texts({"types": old}, {"types": new}), [
            "A: `x`: default 1 became default 2", "A: `y` is new", "B: new: `n`", "G: gone",
            "L: value `b` is gone", "L: value `c` is new", "U: Union[A] became Union[A, B]"])

    def test_the_rest(self):
        old = {"messages": {"M": {"1": "a int"}}, "commands": {"run list": {"--limit": {}}},
               "errors": {"E": []}, "variables": ["V"], "requires": ["p>=1"]}
        new = {"messages": {"M": {"1": "a int", "2": "b str"}},
               "commands": {"run list": {"--limit": {}, "--all": {}}, "auth login": {}},
               "errors": {}, "variables": [], "requires": ["p>=2"], "exports": ["X"]}
        self.assertEqual(texts(old, new), [
            "M: `2 b str` is new", "auth login: new", "environment: `V` is gone",
            "exceptions: `E` is gone", "exports of `tinker`: `X` is new",
            "requirements: `p>=1` is gone", "requirements: `p>=2` is new",
            "run list: `--all` is new"])

    def test_the_same(self):
        one = {"calls": {"C.a": {"parameters": {"x": {}}}}, "types": {"A": {"fields": {"x": {}}}}}
        self.assertEqual(texts(one, copy.deepcopy(one)), [])


class Explained(unittest.TestCase):
    change = sdkdiff.Change("request", "POST asample", "`topk`: 0", ("asample", "topk"))

    def test_all_terms_in_one_row(self):
        self.assertTrue(sdkdiff.explained(self.change, ["| `asample` | `topk` (0) | recorded |"]))
        self.assertFalse(sdkdiff.explained(self.change, ["| `asample` |", "| `topk` |"]))

    def test_whole_words(self):
        self.assertFalse(sdkdiff.explained(self.change, ["| `asample` | `topk_sample` |"]))


class Robot(unittest.TestCase):
    """sdk-drift.py with two made-up versions; 2.0 sends one key more than 1.0."""

    def setUp(self):
        spec = importlib.util.spec_from_file_location("sdk_drift", SCRIPTS / "sdk-drift.py")
        self.drift = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.drift)
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        work = Path(self.home.name)
        for version, body in (("1.0", {}), ("2.0", {"shiny": 1}), ("3.0", {"shiny": 1})):
            path = work / "wire" / version / "requests" / "a" / "case.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"requests": [request("x", {"sdk": version, **body})]}))
        self.page = self.drift.PAGE = work / "page.md"
        self.page.write_text("| request | how known |\n")
        self.drift.Versions.surface = lambda _, version: surface(version=version)
        self.newer = []
        self.drift.newer_than = lambda version: self.newer

    def run_robot(self, *words):
        before, sys.argv = sys.argv, ["sdk-drift.py", "--recordings",
                                      str(Path(self.home.name) / "wire"), *words]
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                code = self.drift.main()
        finally:
            sys.argv = before
        return code, out.getvalue()

    def test_nothing_new(self):
        code, out = self.run_robot()
        self.assertEqual(code, 0)
        self.assertIn("nothing newer", out)

    def test_unexplained(self):
        code, out = self.run_robot("--versions", "1.0,2.0")
        self.assertEqual(code, 1)
        self.assertIn("| 2.0 | request | `POST x` | `shiny`: 1 |\n", out)

    def test_explained(self):
        self.page.write_text("| `x` | `shiny` if set | recorded |\n")
        code, out = self.run_robot("--versions", "1.0,2.0")
        self.assertEqual((code, "(explained)" in out), (0, True))

    def test_no_change(self):
        self.assertEqual(self.run_robot("--versions", "2.0,3.0")[0], 0)

    def test_a_failing_case_is_a_change(self):
        class Failing(self.drift.Versions):
            def recording(self, version):
                return super().recording(version)[0], {"requests/a/b": "TypeError: no"}

        self.drift.Versions = Failing
        code, out = self.run_robot("--versions", "2.0,3.0")
        self.assertEqual(code, 1)
        self.assertIn("TypeError: no", out)

    def prove(self):
        self.drift.PROOF = ("1.0", "2.0")
        versions = self.drift.Versions(Path(self.home.name) / "wire", self.home.name, False)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            return self.drift.prove(versions), out.getvalue()

    def test_the_proof_wants_every_recorded_row(self):
        self.page.write_text("| `x` | `shiny` | recorded |\n| `y` | `other` | recorded |\n")
        code, out = self.prove()
        self.assertEqual(code, 1)
        self.assertIn("not found: | `y` | `other` | recorded |", out)
        self.page.write_text("| `x` | `shiny` | recorded |\n| `y` | `other` | read |\n")
        self.assertEqual(self.prove()[0], 0)

    def test_the_proof_wants_every_name_of_a_recorded_row(self):
        self.page.write_text("| `x` | `shiny`, `never_sent` | recorded |\n")
        code, out = self.prove()
        self.assertEqual(code, 1)
        self.assertIn("not found: `never_sent`", out)


if __name__ == "__main__":
    unittest.main(verbosity=0)
