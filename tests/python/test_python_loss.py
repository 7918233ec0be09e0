#!/usr/bin/env python3
"""Custom losses of the Python package against a real server: what a callback may do, what becomes
of its exceptions and references, and who holds the interpreter lock meanwhile."""

import gc
import signal
import sys
import threading

import support
import tinkc
from tinkc import training as training_module


class CustomLoss(support.ServerCase):
    def setUp(self):
        self.model = self.training()
        self.data = [tinkc.Datum([1, 2, 3], target_tokens=[2, 3, 4], weights=[1.0, 1.0, 0.0])]

    def test_result(self):
        threads, inputs = [], []

        def loss(items):
            threads.append(threading.current_thread())
            inputs.append(items[0].input("weights").tolist())
            for item in items:
                for i in range(len(item.gradient)):
                    item.gradient[i] = -1.0
            return -sum(items[0].logprobs), {"mine": 2.5}

        result = self.model.forward_backward_custom(self.data, loss).result()
        self.assertAlmostEqual(result.metrics["loss:sum"], -sum(result.output(0)), places=4)
        self.assertEqual(result.metrics["mine"], 2.5)
        self.assertEqual(inputs, [[1.0, 1.0, 0.0]])
        self.assertIsNot(threads[0], threading.main_thread())

    def test_exceptions(self):
        """What the function raises ends the operation, is raised by result(), and the model
        can be used afterwards."""

        def short(items):
            items[0].gradient.pop()
            return 0.0

        def raises(error):
            def loss(items):
                raise error

            return loss

        for function, kind in (
            (raises(ZeroDivisionError("x")), ZeroDivisionError),
            (raises(SystemExit(3)), tinkc.Error),
            (lambda items: "text", TypeError),
            (lambda items: None, TypeError),
            (lambda items: (0.0, {"a\0": 1.0}), ValueError),
            (short, ValueError),
            (lambda: 0.0, TypeError),
        ):
            with self.assertRaises(kind):
                self.model.forward_backward_custom(self.data, function).result()
        with self.assertRaises(tinkc.Error) as caught:  # a gradient that is not finite

            def infinite(items):
                items[0].gradient[0] = float("inf")
                return 0.0

            self.model.forward_backward_custom(self.data, infinite).result()
        self.assertEqual(caught.exception.code, tinkc.Code.E_INVALID)
        self.assertEqual(len(self.model.forward(self.data).result()), 1)

    def test_references(self):
        """Nothing refers to the function, its items or its exception in the end."""

        def good(items):
            kept.append(items[0])
            return 0.0

        def bad(items):
            raise KeyError(items)

        kept = []
        before = [sys.getrefcount(good), sys.getrefcount(bad)]
        for _ in range(20):
            self.model.forward_backward_custom(self.data, good).result()
            self.assertRaises(KeyError, self.model.forward_backward_custom(self.data, bad).result)
            self.model.optim_step().result()  # the server waits for the missing half no longer
        item = kept[-1]
        with self.assertRaises(tinkc.Error):
            item.input("weights")  # that was for the callback only
        self.assertEqual(len(item.logprobs), 3)
        del kept[:], item
        gc.collect()
        self.assertEqual([sys.getrefcount(good), sys.getrefcount(bad)], before)
        self.assertEqual(self.service._losses, {})
        self.assertEqual(len(training_module._Loss.waiting), 0)

    def test_not_called(self):
        """A function whose operation fails before it is called is forgotten, too."""
        before = sys.getrefcount(self.test_not_called.__func__)
        error = self.model.forward_backward_custom([], self.test_not_called.__func__).exception()
        self.assertEqual(error.code, tinkc.Code.E_INVALID)
        del error
        gc.collect()
        self.assertEqual(sys.getrefcount(self.test_not_called.__func__), before)

    def test_waiting_releases_the_lock(self):
        """A thread waits in C without limit; the callback waits for a third thread, which sets
        the event only when the callback runs. Were the interpreter lock held anywhere, nobody
        could go on, and the time limit of the test would end it."""
        running, go, seen = threading.Event(), threading.Event(), []

        def loss(items):
            running.set()
            go.wait()
            return 1.0

        def third():
            running.wait()
            seen.append("third")
            go.set()

        def wait():
            future = self.model.forward_backward_custom(self.data, loss)
            seen.append(future.result().metrics["loss:sum"])

        threads = [threading.Thread(target=work) for work in (third, wait)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, ["third", 1.0])

    def test_signal_ends_a_wait(self):
        """A signal handler runs while the main thread waits, as for Ctrl-C. Its exception can come
        wherever that thread is: so it is sent only when all that must be undone would be."""
        running, ready, go = threading.Event(), threading.Event(), threading.Event()

        class Stop(Exception):
            pass

        def handler(*_):
            raise Stop

        def loss(items):
            running.set()
            go.wait()
            return 1.0

        def send():
            running.wait()
            ready.wait()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

        before = signal.signal(signal.SIGUSR1, handler)
        thread = threading.Thread(target=send)
        thread.start()
        future = self.model.forward_backward_custom(self.data, loss)
        try:
            with self.assertRaises(Stop):
                ready.set()
                future.result()
        finally:
            go.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(future.result().metrics["loss:sum"], 1.0)

    def test_timeout(self):
        go = threading.Event()

        def loss(items):
            go.wait()
            return 1.0

        future = self.model.forward_backward_custom(self.data, loss)
        with self.assertRaises(tinkc.Timeout) as caught:
            future.result(timeout=0)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertFalse(future.done())
        self.assertIn("forward_backward_custom", future.explain())
        self.assertRaises(TimeoutError, future.exception, 0.01)
        go.set()
        self.assertIsNone(future.exception())


if __name__ == "__main__":
    support.main()
