"""A plain training loop that says what it does:

    with assay.Training(target=("acc1", 0.75)) as training:
        model = build()
        training.start()                                   # all before this was preparation
        for batch in loader:
            loss = train(model, batch)
            training.step(loss=loss, samples=len(batch))
        training.evaluate(acc1=accuracy(model))

Leaving the block says that the training has ended; an exception in it leaves the log unfinished, as it should be.
"""
import time

from .perflog import PerfLog


class Training:
    def __init__(self, target=None, log=None, first_step=1):
        """`target`: a quality and the value to reach, such as ("acc1", 0.75); with ("loss", 2.0, "lower") below it."""
        self.log = log or PerfLog()
        self.target = target
        self.next_step = first_step
        self.qualities = {}
        self.started = False
        self._evaluation = None

    def __enter__(self):
        self.log.init_start()
        return self

    def start(self):
        if not self.started:
            self.log.init_end()
            self.log.train_start()
            self.started = True

    def step(self, at=None, **value):
        """A step has ended; of `samples` and `tokens` those of this rank since the step before."""
        self.start()
        self.log.step_end(self.next_step, at=at, **value)
        self.next_step += 1

    def begin_evaluation(self):
        self._evaluation = time.monotonic()

    def evaluate(self, time_s=None, **qualities):
        """An evaluation has ended. Without `time_s` it took the time since begin_evaluation()."""
        if time_s is None:
            time_s = time.monotonic() - self._evaluation if self._evaluation is not None else 0.0
        self._evaluation = None
        self.qualities.update(qualities)
        self.log.evaluate(self.next_step - 1, time_s, **qualities)

    def reached(self):
        """Whether the target is reached; None: there is none, or nothing was evaluated."""
        if self.target is None or self.target[0] not in self.qualities:
            return None
        value, goal = float(self.qualities[self.target[0]]), float(self.target[1])
        return value <= goal if self.target[2:] == ("lower",) else value >= goal

    def finish(self, **more):
        self.start()
        self.log.train_end()
        final = {f"final_{name}": value for name, value in self.qualities.items()}
        self.log.finished(converged=self.reached(), **final, **more)

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.finish()
        return False
