#!/usr/bin/env python3
"""The Python package against a real server: samples, training, lists, await, closing, fork."""

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import threading
import warnings

import support
import tinkc
from tinkc import service as service_module


class Sampling(support.ServerCase):
    def test_sample(self):
        samples = self.sampling.sample(self.prompt, 3, max_tokens=5, seed=7).result()
        self.assertEqual(len(samples), 3)
        for sequence in samples:
            self.assertEqual(len(sequence.tokens), len(sequence.logprobs))
            self.assertIn(sequence.stop_reason, ("stop", "length"))
            self.assertTrue(all(value <= 0 for value in sequence.logprobs))
        again = self.sampling.sample(list(self.prompt), 3, max_tokens=5, seed=7).result()
        self.assertEqual([s.tokens.tolist() for s in again], [s.tokens.tolist() for s in samples])
        self.assertEqual(samples[-1].tokens, samples[2].tokens)
        with self.assertRaises(IndexError):
            samples[3]

    def test_views_outlive_the_result(self):
        tokens = self.sampling.sample(self.prompt, max_tokens=4).result()[0].tokens
        gc.collect()
        self.assertEqual(len(tokens.tolist()), len(tokens))

    def test_options(self):
        samples = self.sampling.sample(
            self.prompt,
            max_tokens=2,
            prompt_logprobs=True,
            topk_prompt_logprobs=3,
            topk_sample_logprobs=2,
            temperature=0.0,
        ).result()
        self.assertEqual(len(samples.prompt_logprobs), len(self.prompt))
        self.assertNotEqual(samples.prompt_logprobs[0], samples.prompt_logprobs[0])  # NaN
        self.assertEqual([len(row) for row in samples.prompt_topk()[1:]], [3] * (len(self.prompt) - 1))
        likeliest = [row[0][0] for row in samples[0].topk()]
        self.assertEqual(likeliest, samples[0].tokens.tolist())
        values = self.sampling.compute_logprobs(self.prompt).result()
        self.assertEqual(values.tolist()[1:], samples.prompt_logprobs.tolist()[1:])

    def test_stop(self):
        greedy = dict(max_tokens=12, temperature=0.0)
        whole = self.sampling.sample(self.prompt, **greedy).result()[0].tokens.tolist()
        at = next(i for i, token in enumerate(whole) if i and token not in whole[:i])
        for stop in ([whole[at]], self.tokenizer.decode([whole[at]]), [self.tokenizer.decode([whole[at]])]):
            cut = self.sampling.sample(self.prompt, stop=stop, **greedy).result()[0]
            self.assertEqual(cut.tokens.tolist(), whole[: at + 1])
            self.assertEqual(cut.stop_reason, "stop")

    def test_invalid(self):
        for given in (dict(max_tokens=0), dict(temperature=-1.0), dict(top_p=2.0)):
            error = self.sampling.sample(self.prompt, **given).exception()
            self.assertEqual(error.code, tinkc.Code.E_INVALID)
            self.assertIn(next(iter(given)), error.message)
        with self.assertRaises(ValueError):
            self.sampling.sample(self.prompt, seed=-1)
        with self.assertRaises(TypeError):
            self.sampling.sample(self.prompt, max_tokens="many")

    def test_stream(self):
        with self.sampling.stream(self.prompt, max_tokens=4, seed=1) as stream:
            events = list(stream)
        self.assertEqual(events[-1].kind, tinkc.StreamKind.DONE)
        self.assertEqual(events[-1].total_tokens, len(events) - 1)
        with self.assertRaises(tinkc.Error):
            next(stream)
        whole = self.sampling.sample(self.prompt, max_tokens=4, seed=1).result()[0]
        self.assertEqual([e.token_id for e in events[:-1]], whole.tokens.tolist())

        async def pull():
            return [e.token_id async for e in self.sampling.stream(self.prompt, max_tokens=4, seed=1)]

        self.assertEqual(asyncio.run(pull())[:-1], whole.tokens.tolist())

    def test_error_of_the_server(self):
        with self.assertRaises(tinkc.Error) as caught:
            self.service.rest.run("no-such-run").result()
        error = caught.exception
        self.assertEqual((error.code, error.status), (tinkc.Code.E_NOT_FOUND, 404))
        self.assertFalse(error.retryable)
        failed = self.sampling.sample([999999], max_tokens=1).exception()
        self.assertEqual((failed.code, failed.category), (tinkc.Code.E_REQUEST, tinkc.Category.USER))
        self.assertIn(self.sampling.session_id, failed.request_id)
        self.assertIn(failed.request_id, str(failed))


class Await(support.ServerCase):
    def test_await_many(self):
        async def main():
            futures = [self.sampling.sample(self.prompt, max_tokens=2, seed=i) for i in range(100)]
            return await asyncio.gather(*futures)

        for _ in range(2):  # each run has its own event loop
            self.assertEqual([len(samples) for samples in asyncio.run(main())], [1] * 100)

    def test_await_error(self):
        async def main():
            await self.service.rest.run("no-such-run")

        with self.assertRaises(tinkc.Error) as caught:
            asyncio.run(main())
        self.assertEqual(caught.exception.status, 404)

    def test_await_twice(self):
        async def main():
            future = self.sampling.sample(self.prompt, max_tokens=2)

            async def wait():
                return await future

            first, second = await asyncio.gather(wait(), wait())
            return first is second and (await future) is first and future.result() is first

        self.assertTrue(asyncio.run(main()))

    def test_cancel(self):
        """A task that is cancelled cancels its operation; another waiter keeps it."""
        training, started, go = self.training(), threading.Event(), threading.Event()
        datum = tinkc.Datum([1, 2], target_tokens=[2, 3])

        def loss(items):
            started.set()
            go.wait()
            return 0.0

        async def main(waiters):
            future = training.forward_backward_custom([datum], loss)

            async def wait():
                return await future

            tasks = [asyncio.create_task(wait()) for _ in range(waiters)]
            await asyncio.get_running_loop().run_in_executor(None, started.wait)
            tasks[0].cancel()
            results = [await asyncio.gather(task, return_exceptions=True) for task in tasks[:1]]
            is_done = future.done()
            go.set()
            results += [await asyncio.gather(task, return_exceptions=True) for task in tasks[1:]]
            return future, is_done, [result[0] for result in results]

        future, is_done, results = asyncio.run(main(1))
        self.assertTrue(is_done)
        self.assertIsInstance(results[0], asyncio.CancelledError)
        self.assertIsInstance(future.exception(), tinkc.Cancelled)
        started.clear(), go.clear()
        future, is_done, results = asyncio.run(main(2))
        self.assertFalse(is_done)
        self.assertIsInstance(results[1], tinkc.FwdBwd)

    def test_one_loop_only(self):
        training, go = self.training(), threading.Event()
        datum = tinkc.Datum([1, 2], target_tokens=[2, 3])

        def loss(items):
            go.wait()
            return 0.0

        future = training.forward_backward_custom([datum], loss)

        async def begin():
            async def wait():
                await future

            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            return task

        loop = asyncio.new_event_loop()
        task = loop.run_until_complete(begin())

        async def second():
            await future

        with self.assertRaises(RuntimeError):
            asyncio.run(second())
        go.set()
        loop.run_until_complete(task)
        loop.close()

    def test_lists(self):
        training = self.training()
        paths = [training.save_state(f"list-{i}").result() for i in range(3)]

        async def main():
            return [c.path async for c in self.service.rest.checkpoints()]

        self.assertLessEqual(set(paths), set(asyncio.run(main())))


class Training(support.ServerCase):
    DATUM = dict(target_tokens=[2, 3, 4], weights=[1.0, 0.0, 1.0])

    def test_step(self):
        training, datum = self.training(), tinkc.Datum([1, 2, 3], **self.DATUM)
        first = training.step([datum], adam=tinkc.Adam(1e-2)).result()
        for _ in range(5):
            last = training.step([datum], adam=tinkc.Adam(1e-2)).result()
        self.assertLess(last.loss, first.loss)
        self.assertEqual(len(first.result), 1)
        self.assertEqual(first.result.shape(0), (3,))
        self.assertIn("logprobs", first.result.names(0))
        logprobs = first.result.output(0)
        del first
        gc.collect()
        self.assertEqual(len(logprobs.tolist()), 3)
        forward = training.forward([datum]).result()
        passed = training.forward_backward([datum]).result()
        self.assertEqual(passed.output(0).tolist(), forward.output(0).tolist())
        self.assertIsInstance(training.optim_step().result(), dict)
        with self.assertRaises(tinkc.Error) as caught:
            forward.output(1)
        self.assertEqual(caught.exception.code, tinkc.Code.E_MISSING)

    def test_config(self):
        """Settings of a loss arrive: a bound that clips everything changes the loss."""
        training = self.training()
        datum = tinkc.Datum.from_rollout([1, 2], [3, 4], [-20.0, -20.0], 1.0)
        plain = training.forward([datum], "ppo").result().loss
        narrow = dict(clip_low_threshold=0.0, clip_high_threshold=0.5)
        self.assertGreater(training.forward([datum], "ppo", narrow).result().loss, plain)

    def test_checkpoints(self):
        training = self.training()
        path = training.save_state("one", metadata={"k": "v"}, ttl_seconds=3600).result()
        rest = self.service.rest
        found = [c for c in rest.checkpoints() if c.path == path][0]
        self.assertEqual(found.type, tinkc.CheckpointType.TRAINING)
        self.assertEqual(found.metadata, {"k": "v"})
        self.assertGreater(found.expires, found.time)
        self.assertEqual(found.time.utcoffset().total_seconds(), 0)
        run = rest.run(training.model_id).result()
        self.assertEqual((run.id, run.lora_rank), (training.model_id, 2))
        self.assertIn(path, [c.path for c in rest.run_checkpoints(run.id).result().items])
        self.assertIn(run.id, [each.id for each in rest.runs()])
        self.assertEqual(len(list(rest.runs(limit=1))), 1)
        self.assertIn(self.service.session_id, list(rest.sessions()))
        self.assertEqual(rest.weights_info(path).result().lora_rank, 2)
        training.load_state(path, with_optimizer=True).result()
        with self.service.create_training_from_state(path).result() as other:
            self.assertEqual(other.info().result().lora_rank, 2)
            other.unload().result()
        rest.set_checkpoint_ttl(path, None).result()
        rest.delete_checkpoint(path).result()
        self.assertNotIn(path, [c.path for c in rest.checkpoints()])

    def test_download(self):
        training, seen = self.training(), []
        path = training.save_weights_for_sampler("down").result()
        with tempfile.TemporaryDirectory() as home:
            target = os.path.join(home, "files")
            done = self.service.rest.download(path, target, progress=seen.append)
            self.assertEqual(done.files, len(os.listdir(target)))
            self.assertTrue(seen)

            def refuse(progress):
                raise LookupError("enough")

            with self.assertRaises(LookupError):
                self.service.rest.download(path, os.path.join(home, "again"), progress=refuse)
            self.assertEqual(os.listdir(home), ["files"])

    def test_await_blocking_calls(self):
        """Tokenizers and downloads with await: the loop goes on meanwhile."""
        path = self.training().save_weights_for_sampler("down").result()
        rest, loop_ran = self.service.rest, threading.Event()

        async def both(home):
            first, second, third = await asyncio.gather(
                self.sampling.tokenizer_async(),
                self.training().tokenizer_async(),
                self.service.tokenizer_async(support.MODEL),
            )
            self.assertEqual(len(first), len(second))
            self.assertEqual(len(first), len(third))
            with self.assertRaises(tinkc.Error):
                await self.service.tokenizer_async(support.MODEL, "/nonexistent")

            def wait_for_loop(progress):
                self.assertTrue(loop_ran.wait(60))

            asyncio.get_running_loop().call_soon(loop_ran.set)
            target = os.path.join(home, "files")
            done = await rest.download_async(path, target, progress=wait_for_loop)
            self.assertEqual(done.files, len(os.listdir(target)))

        with tempfile.TemporaryDirectory() as home:
            asyncio.run(both(home))

    def test_cancelled_download(self):
        """The call has ended when the task has, and has left nothing."""
        path = self.training().save_weights_for_sampler("down").result()
        began, go_on = threading.Event(), threading.Event()

        def hold(progress):
            began.set()
            self.assertTrue(go_on.wait(60))

        async def cancel(home):
            loop = asyncio.get_running_loop()
            task = loop.create_task(
                self.service.rest.download_async(path, os.path.join(home, "files"), progress=hold)
            )
            await loop.run_in_executor(None, began.wait, 60)
            task.cancel()
            loop.call_soon(lambda: loop.call_soon(go_on.set))
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(os.listdir(home), [])

        with tempfile.TemporaryDirectory() as home:
            asyncio.run(cancel(home))

    def test_save_and_sample(self):
        training = self.training()
        with training.save_and_sample().result() as sampling:
            self.assertEqual(sampling.base_model().result(), support.MODEL)
            self.assertEqual(len(sampling.sample(self.prompt, max_tokens=2).result()), 1)


class Closing(support.ServerCase):
    def open(self):
        return tinkc.Service(self.server.url, "tml-test")

    def test_use_after_close(self):
        with self.open() as service:
            sampling = service.create_sampling(support.MODEL).result()
            training = service.create_training(support.MODEL, rank=2).result()
        self.assertTrue(service.closed)
        with self.assertRaises(tinkc.Error) as caught:
            service.models()
        self.assertEqual(caught.exception.code, tinkc.Code.E_STATE)
        self.assertIsInstance(sampling.sample(self.prompt).exception(), tinkc.Cancelled)
        self.assertIsInstance(training.unload().exception(), tinkc.Cancelled)
        for each in (training, sampling, service, training, sampling, service):
            each.close()
        with self.assertRaises(tinkc.Error):
            sampling.sample(self.prompt)

    def test_any_order(self):
        service = self.open()
        sampling = service.create_sampling(support.MODEL).result()
        future = sampling.sample(self.prompt, max_tokens=2)
        sampling.close()
        self.assertEqual(len(future.result()), 1)
        pages, begun = service.rest.runs(), service.rest.sessions()
        next(begun)
        sampling = service.create_sampling(support.MODEL).result()
        stream = sampling.stream(self.prompt)
        service.close()
        for each in (pages, begun, stream):
            with self.assertRaises(tinkc.Error):
                list(each)
            each.close()

    def test_forgotten(self):
        """Clients keep their service open; what nobody refers to is closed, with a warning."""
        sampling = self.open().create_sampling(support.MODEL).result()
        gc.collect()
        self.assertEqual(len(sampling.sample(self.prompt, max_tokens=2).result()), 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del sampling
            gc.collect()
        self.assertEqual([w.category for w in caught], [ResourceWarning])

    def test_forgotten_future(self):
        """A future that nobody waits for, and one that is kept without its client."""
        with self.open() as service:
            sampling = service.create_sampling(support.MODEL).result()
            sampling.sample(self.prompt, max_tokens=2)
            last = sampling.sample(self.prompt, max_tokens=2)
            del sampling
            gc.collect()
            self.assertEqual(len(last.result()), 1)

    def test_closed_by_another_thread(self):
        """Threads sample while another closes: each call works, or fails with an error."""
        service = self.open()
        sampling, outcomes = service.create_sampling(support.MODEL).result(), []
        some = threading.Event()

        def work():
            while True:
                try:
                    sampling.sample(self.prompt, max_tokens=1).result()
                    some.set()
                except tinkc.Error as error:
                    outcomes.append(error.code)
                    return

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        some.wait()
        sampling.close()
        service.close()
        for thread in threads:
            thread.join()
        # the server refuses what reaches it after the end of the session
        ends = {tinkc.Code.E_STATE, tinkc.Code.E_CANCELLED, tinkc.Code.E_NOT_FOUND}
        self.assertLessEqual(set(outcomes), ends)
        self.assertEqual(len(outcomes), 4)

    def test_last_reference_in_a_callback(self):
        """A service cannot be closed in its own callback: it is closed later."""
        holder = {"training": self.open().create_training(support.MODEL, rank=2).result()}
        datum, done, dropped = tinkc.Datum([1, 2], target_tokens=[2, 3]), threading.Event(), threading.Event()

        def loss(items):
            dropped.wait()
            holder.clear()
            gc.collect()
            done.set()
            return 0.0

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            holder["future"] = holder["training"].forward_backward_custom([datum], loss)
            dropped.set()
            done.wait()
            self.assertEqual(len(service_module._orphans), 1)
            with self.open() as service:  # closes it
                service.health().result()
        self.assertEqual(service_module._orphans, [])

    def test_error_is_told(self):
        """The server learns that an exception ended the session."""
        with self.assertRaises(LookupError):
            with self.open() as service:
                service.create_sampling(support.MODEL).result()
                session = service.session_id
                raise LookupError("what went wrong")
        self.assertTrue(session)

    def test_fork(self):
        """In a forked child every operation of an inherited handle fails; the child ends, and
        the parent goes on."""
        future = self.sampling.sample(self.prompt, max_tokens=2)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                error = self.sampling.sample(self.prompt).exception()
                again = self.service.rest.run("x").exception()
                if (error.code, again.code) == (tinkc.Code.E_STATE, tinkc.Code.E_STATE):
                    gc.collect()
                    self.service.close()
                    with tinkc.Service(self.server.url, "tml-test") as own:
                        own.health().result()
                    status = 0
            except BaseException as error:
                print("child:", repr(error), flush=True)
            os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(future.result()), 1)
        self.assertEqual(len(self.sampling.sample(self.prompt, max_tokens=1).result()), 1)

    def test_exit_without_closing(self):
        """A program that ends with work under way ends at once, and well."""
        code = (
            "import tinkc, sys\n"
            f"s = tinkc.Service({self.server.url!r}, 'tml-test', log=print, log_level='debug')\n"
            f"sampling = s.create_sampling({support.MODEL!r}).result()\n"
            "futures = [sampling.sample([1, 2], max_tokens=50) for _ in range(50)]\n"
            "print('submitted')\n"
        )
        environment = dict(os.environ, PYTHONPATH=str(support.ROOT / "bindings/python"))
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("submitted", done.stdout)
        self.assertIn("create_session: 200", done.stdout)  # of the log


if __name__ == "__main__":
    support.main()
