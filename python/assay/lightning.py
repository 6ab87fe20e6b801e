"""PyTorch Lightning:  Trainer(callbacks=[assay.lightning.AssayCallback()])"""
import time

from .training import Training

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    try:
        from pytorch_lightning.callbacks import Callback
    except ImportError:  # for tests and documents; a Trainer brings one of them
        Callback = object


def batch_size_of(batch):
    """Samples of a batch: the first dimension of the first tensor in it, else its length."""
    if hasattr(batch, "shape") and len(batch.shape) > 0:
        return int(batch.shape[0])
    if isinstance(batch, dict):
        return batch_size_of(next(iter(batch.values()))) if batch else 0
    if isinstance(batch, (list, tuple)):
        return batch_size_of(batch[0]) if batch and not isinstance(batch[0], (int, float, str)) else len(batch)
    return len(batch) if hasattr(batch, "__len__") else 0


class AssayCallback(Callback):
    """A STEP_END for every step of the optimizer, an EVALUATE for every validation.

    `batch_size`: a number, or a function of a batch, where the first dimension does not say it.
    `loss_every`: reading the loss waits for the device, so that it is read every so many steps.
    `target`: see Training.
    """

    def __init__(self, batch_size=None, loss_every=10, target=None, log=None):
        self.training = Training(target=target, log=log)
        self.batch_size = batch_size
        self.loss_every = loss_every
        self.samples = 0
        self.optimizer_steps = 0
        self.validating_since = None

    def setup(self, trainer, pl_module, stage=None):
        if stage in (None, "fit"):
            self.training.log.init_start()

    def on_train_start(self, trainer, pl_module):
        self.optimizer_steps = trainer.global_step
        self.training.next_step = trainer.global_step + 1
        self.training.start()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, *unused):
        size = self.batch_size(batch) if callable(self.batch_size) else self.batch_size or batch_size_of(batch)
        self.samples += size
        if trainer.global_step == self.optimizer_steps:
            return  # gradients are accumulated
        self.optimizer_steps = trainer.global_step
        loss = None
        if self.loss_every and self.training.next_step % self.loss_every == 0:
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        self.training.step(loss=loss, samples=self.samples)
        self.samples = 0

    def on_validation_start(self, trainer, pl_module):
        self.validating_since = time.monotonic()

    def on_validation_end(self, trainer, pl_module):
        if getattr(trainer, "sanity_checking", False) or self.validating_since is None:
            return
        self.training.evaluate(time.monotonic() - self.validating_since, **dict(trainer.callback_metrics))
        self.validating_since = None

    def on_fit_end(self, trainer, pl_module):
        self.training.finish()
