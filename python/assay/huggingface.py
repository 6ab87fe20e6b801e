"""Hugging Face's Trainer:  Trainer(..., callbacks=[assay.huggingface.AssayCallback()])"""
from .perflog import now
from .training import Training

try:
    from transformers import TrainerCallback
except ImportError:  # for tests and documents; a Trainer brings it
    TrainerCallback = object

# What Trainer adds to the numbers of an evaluation that are not its quality.
NOT_QUALITY = ("_runtime", "_samples_per_second", "_steps_per_second", "_jit_compilation_time")


class AssayCallback(TrainerCallback):
    """A STEP_END for every step of the optimizer, an EVALUATE for every evaluation.

    The Trainer tells the loss after the step, in on_log, and only every `logging_steps`: a step is written with
    the time of its end when the next event comes, with the loss where there was one by then. Samples are those of
    full batches. `tokens_per_sample`: for tokens per second, where all samples have one length.
    """

    def __init__(self, target=None, tokens_per_sample=None, log=None):
        self.training = Training(target=target, log=log)
        self.tokens_per_sample = tokens_per_sample
        self.pending = None  # a step that has ended: its number, its moment, its values
        self.training.log.init_start()

    def on_train_begin(self, args, state, control, **kwargs):
        self.training.next_step = state.global_step + 1
        self.training.start()

    def on_step_end(self, args, state, control, **kwargs):
        self._write()
        samples = args.train_batch_size * args.gradient_accumulation_steps
        value = {"samples": samples}
        if self.tokens_per_sample:
            value["tokens"] = samples * self.tokens_per_sample
        self.pending = (now(), value)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if self.pending and logs and "loss" in logs:
            self.pending[1].update(loss=logs["loss"], lr=logs.get("learning_rate"))
            self._write()

    def on_step_begin(self, args, state, control, **kwargs):
        self._write()

    def on_epoch_end(self, args, state, control, **kwargs):
        self._write()

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self._write()
        metrics = dict(metrics or {})
        seconds = next((value for name, value in metrics.items() if name.endswith("_runtime")), 0.0)
        qualities = {name: value for name, value in metrics.items()
                     if name != "epoch" and not name.endswith(NOT_QUALITY)}
        self.training.evaluate(seconds, **qualities)

    def on_train_end(self, args, state, control, **kwargs):
        self._write()
        self.training.finish()

    def _write(self):
        if self.pending:
            at, value = self.pending
            self.pending = None
            self.training.step(at=at, **value)
