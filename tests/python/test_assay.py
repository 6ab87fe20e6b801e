"""The Python package: what it writes is read by what it reads, and by Assay's own rules of the format."""
import contextlib
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import types
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
sys.dont_write_bytecode = True

import assay  # noqa: E402
from assay import huggingface, lightning  # noqa: E402

OLD_RUN = SOURCE / "tests/fixtures/run-0.1"


class Written:
    """A log whose lines a test reads."""

    def __init__(self, rank=0):
        self.reading, writing = os.pipe()
        self.log = assay.PerfLog(rank=rank, fd=writing)

    def events(self):
        os.close(self.log.fd)
        with open(self.reading, encoding="utf-8") as lines:
            out = []
            for line in lines:
                assert line.startswith("[PerfLog] ") and len(line) <= 4096, line
                out.append(json.loads(line[10:], parse_constant=lambda name: self.fail(name)))
            return out

    @staticmethod
    def fail(name):
        raise AssertionError(f"{name} is no JSON")

    def names(self):
        return [event["event"] for event in self.events()]


class PerfLogTest(unittest.TestCase):
    def test_a_step_has_its_place_rank_and_both_clocks(self):
        written = Written(rank=3)
        written.log.step_end(12, loss=2.5, samples=32)
        (event,) = written.events()
        self.assertEqual(list(event), ["event", "value", "step", "metadata"])
        self.assertEqual(event["value"], {"loss": 2.5, "samples": 32})
        self.assertEqual(event["step"], 12)
        self.assertEqual(event["metadata"]["file"], "test_assay.py")
        self.assertEqual(event["metadata"]["rank"], 3)
        self.assertGreater(event["metadata"]["time_ms"], 10**12)
        self.assertIn("mono_us", event["metadata"])

    def test_a_loop_is_logged_with_its_own_place(self):
        written = Written()
        with assay.Training(log=written.log) as training:
            training.step(samples=1)
        self.assertEqual({event["metadata"]["file"] for event in written.events()}, {"test_assay.py"})

    def test_an_array_of_several_numbers_stays_out_and_ends_no_training(self):
        class Array:
            def item(self):
                raise ValueError("can only convert an array of size 1")

        written = Written()
        written.log.step_end(1, loss=Array(), samples=1)
        self.assertEqual(written.events()[0]["value"], {"samples": 1})

    def test_numbers_that_json_has_not_are_named(self):
        written = Written()
        written.log.step_end(1, loss=math.nan, samples=1, lr=math.inf)
        (event,) = written.events()
        self.assertEqual(event["value"], {"loss": None, "samples": 1, "lr": None, "nonfinite": ["loss", "lr"]})

    def test_values_that_are_not_known_are_left_out(self):
        written = Written()
        written.log.step_end(1, loss=None, samples=1)
        self.assertEqual(written.events()[0]["value"], {"samples": 1})

    def test_numbers_of_other_libraries_are_numbers(self):
        written = Written()
        written.log.step_end(1, loss=types.SimpleNamespace(item=lambda: 0.5), model=object())
        self.assertEqual(written.events()[0]["value"], {"loss": 0.5})

    def test_a_line_is_never_longer_than_is_written_at_once(self):
        written = Written()
        written.log.step_end(1, loss=1.0, **{f"layer{i}": 0.123456789 for i in range(500)})
        (event,) = written.events()
        self.assertEqual(event["value"]["loss"], 1.0)
        self.assertGreater(event["value"]["dropped_fields"], 100)

    def test_a_closed_log_does_not_end_the_training(self):
        written = Written()
        written.events()
        written.log.step_end(1, loss=1.0)
        self.assertEqual(written.log.failed, 1)


class TrainingTest(unittest.TestCase):
    def test_a_loop_is_a_whole_log(self):
        written = Written()
        with assay.Training(target=("acc1", 0.7), log=written.log) as training:
            training.start()
            for loss in (2.0, 1.0):
                training.step(loss=loss, samples=8)
            training.begin_evaluation()
            training.evaluate(acc1=0.75)
        events = written.events()
        self.assertEqual([event["event"] for event in events],
                         ["INIT_START", "INIT_END", "TRAIN_START", "STEP_END", "STEP_END", "EVALUATE", "TRAIN_END",
                          "FINISHED"])
        self.assertEqual([event["step"] for event in events[3:6]], [1, 2, 2])
        self.assertEqual(events[-1]["value"], {"converged": True, "final_acc1": 0.75})

    def test_what_failed_is_not_finished(self):
        written = Written()
        with contextlib.suppress(RuntimeError), assay.Training(log=written.log) as training:
            training.step(loss=1.0)
            raise RuntimeError("out of memory")
        self.assertEqual(written.names(), ["INIT_START", "INIT_END", "TRAIN_START", "STEP_END"])

    def test_without_a_target_nothing_converges(self):
        written = Written()
        with assay.Training(log=written.log) as training:
            training.evaluate(0.5, acc1=0.1)
        self.assertNotIn("converged", written.events()[-1]["value"])

    def test_a_lower_target(self):
        training = assay.Training(target=("loss", 2.0, "lower"), log=Written().log)
        training.qualities["loss"] = 1.9
        self.assertTrue(training.reached())


class LightningTest(unittest.TestCase):
    """With a stand-in for its Trainer: Debian has no package of Lightning."""

    def test_a_step_of_the_optimizer_is_a_step(self):
        written = Written()
        callback = lightning.AssayCallback(loss_every=1, log=written.log)
        trainer = types.SimpleNamespace(global_step=0, sanity_checking=True, callback_metrics={})
        callback.setup(trainer, None, "fit")
        callback.on_validation_start(trainer, None)
        callback.on_validation_end(trainer, None)  # of the sanity check: not one of ours
        trainer.sanity_checking = False
        callback.on_train_start(trainer, None)
        batch = {"x": types.SimpleNamespace(shape=(4, 3))}
        for index in range(4):  # two batches a step
            trainer.global_step = (index + 1) // 2
            callback.on_train_batch_end(trainer, None, {"loss": 1.5}, batch, index)
        trainer.callback_metrics = {"val_acc": 0.5}
        callback.on_validation_start(trainer, None)
        callback.on_validation_end(trainer, None)
        callback.on_fit_end(trainer, None)
        events = written.events()
        self.assertEqual([event["event"] for event in events],
                         ["INIT_START", "INIT_END", "TRAIN_START", "STEP_END", "STEP_END", "EVALUATE", "TRAIN_END",
                          "FINISHED"])
        self.assertEqual([event["value"]["samples"] for event in events[3:5]], [8, 8])
        self.assertEqual(events[3]["value"]["loss"], 1.5)
        self.assertEqual(events[-1]["value"], {"final_val_acc": 0.5})

    def test_sizes_of_batches(self):
        tensor = types.SimpleNamespace(shape=(16, 8))
        for batch in (tensor, [tensor, tensor], {"a": tensor}, ((tensor,), 1), list(range(16))):
            self.assertEqual(lightning.batch_size_of(batch), 16)


class HuggingFaceTest(unittest.TestCase):
    """With a stand-in for its Trainer, which calls back in this order: Debian has no package of transformers."""

    def test_the_loss_that_comes_later_is_of_its_step(self):
        written = Written()
        callback = huggingface.AssayCallback(target=("eval_accuracy", 0.9), tokens_per_sample=128, log=written.log)
        args = types.SimpleNamespace(train_batch_size=8, gradient_accumulation_steps=2)
        state = types.SimpleNamespace(global_step=0)
        callback.on_train_begin(args, state, None)
        for loss in (3.0, None):
            callback.on_step_begin(args, state, None)
            state.global_step += 1
            callback.on_step_end(args, state, None)
            if loss:
                callback.on_log(args, state, None, logs={"loss": loss, "learning_rate": 0.1})
        callback.on_evaluate(args, state, None, metrics={"eval_accuracy": 0.95, "eval_runtime": 2.0, "epoch": 1.0,
                                                         "eval_samples_per_second": 9.0})
        callback.on_train_end(args, state, None)
        events = written.events()
        self.assertEqual([event["event"] for event in events],
                         ["INIT_START", "INIT_END", "TRAIN_START", "STEP_END", "STEP_END", "EVALUATE", "TRAIN_END",
                          "FINISHED"])
        self.assertEqual(events[3]["value"], {"samples": 16, "tokens": 2048, "loss": 3.0, "lr": 0.1})
        self.assertNotIn("loss", events[4]["value"])
        self.assertEqual(events[5]["value"], {"eval_accuracy": 0.95, "time": 2.0})
        self.assertEqual(events[-1]["value"], {"converged": True, "final_eval_accuracy": 0.95})

    def test_a_training_that_goes_on_counts_on(self):
        written = Written()
        callback = huggingface.AssayCallback(log=written.log)
        args = types.SimpleNamespace(train_batch_size=1, gradient_accumulation_steps=1)
        state = types.SimpleNamespace(global_step=500)
        callback.on_train_begin(args, state, None)
        callback.on_step_end(args, state, None)
        callback.on_train_end(args, state, None)
        self.assertEqual(written.events()[3]["step"], 501)


class PackageTest(unittest.TestCase):
    def test_it_has_the_version_of_assay(self):
        self.assertEqual(assay.__version__, (SOURCE / "VERSION").read_text().split()[0])


class ResultsTest(unittest.TestCase):
    def test_a_run_of_an_earlier_version_is_read(self):
        run = assay.Run(OLD_RUN)
        self.assertIn(run.verdict, ("VALID", "INVALID", "INCOMPLETE"))
        rows = list(run.metrics_rows())
        self.assertTrue(rows)
        self.assertEqual(set(rows[0]), {"run", "suite", "case", "round", "metric", "value", "unit", "better", "origin",
                                        "headline", "verdict"})
        self.assertTrue(any(row["headline"] for row in rows))

    def test_steps_and_telemetry_of_every_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            node = pathlib.Path(folder) / "c/round1/vm_noderank0"
            node.mkdir(parents=True)
            (pathlib.Path(folder) / "result.json").write_text(json.dumps(
                {"schema_version": 1, "run_id": "run1", "suite": "s", "validity": "VALID",
                 "cases": [{"name": "c", "rounds": [{"round": 1, "metrics": {}}]}]}))
            line = '0: [PerfLog] {"event": "STEP_END", "value": {"loss": %s}, "step": %d, "metadata": {"time_ms": 5000}}\n'
            (node / "rank1.out.log.head").write_text(line % ("2.5", 1))
            (node / "rank1.out.log").write_text("hello\n" + line % ("NaN", 2) + '[PerfLog] {"event": "STEP_E')
            (node / "telemetry.csv").write_text("mono_ns,wall_ns,source,util\n1,2000000000,node,0.5\n1,torn")
            run = assay.Run(folder)
            steps = list(run.steps_rows())
            self.assertEqual([(row["rank"], row["step"], row["host"]) for row in steps], [(1, 1, "vm"), (1, 2, "vm")])
            self.assertEqual(steps[0]["time_s"], 5)
            self.assertTrue(math.isnan(steps[1]["loss"]))
            self.assertEqual([row["util"] for row in run.telemetry_rows()], [0.5])

    def test_what_is_no_run_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaisesRegex(assay.NotARun, "assay report", assay.Run, folder)
            result = pathlib.Path(folder) / "result.json"
            for text, words in (("{", "no JSON"), ("[]", "no result of Assay"),
                                ('{"cases": [], "schema_version": 9}', "schema 9")):
                result.write_text(text)
                self.assertRaisesRegex(assay.NotARun, words, assay.Run, folder)

    def test_frames(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("needs package python3-pandas")
        table = assay.Run(OLD_RUN).metrics()
        self.assertIn("value", table.columns)
        self.assertGreater(len(table[table.headline]), 0)
        with tempfile.TemporaryDirectory() as results:
            shutil.copytree(OLD_RUN, pathlib.Path(results) / "run1")
            self.assertEqual(len(assay.metrics(results)), len(table))


if __name__ == "__main__":
    unittest.main()
