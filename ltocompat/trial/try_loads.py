"""Trial loads of modules on this machine's GPUs: the bytes as stored, so that the driver picks."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Self

from msgspec.structs import replace

from ltocompat.files.fatbin import StoredModule
from ltocompat.model.errors import Malformed
from ltocompat.model.image import Module
from ltocompat.model.signature import ModuleSignature, module_signature
from ltocompat.model.trial_answer import TrialKey, TrialOutcome, Trials, load_key
from ltocompat.model.verdict import Route
from ltocompat.rules.engine.routes import possible_routes
from ltocompat.rules.selection import pick_for_driver
from ltocompat.scan.describe import ReadOptions, describe
from ltocompat.scan.extract_bytes import cut
from ltocompat.trial.load_pool import LoadPool
from ltocompat.trial.load_values import LoadAnswer, LoadedDriver, LoadOutcome, LoadRequest
from ltocompat.trial.logs import first_line
from ltocompat.trial.module_trial import TryModules
from ltocompat.trial.trial_run import TrialRun


class LoadTrial(ExitStack):
    """Tries the driver of this machine; use it as a context manager, which ends its processes.

    Args:
        target: name of this machine's deploy target.
        trial_run: the CPU time of all trials of this run.
    """

    def __init__(self, target: str, trial_run: TrialRun | None = None) -> None:
        super().__init__()
        self._target = target
        self._pool = LoadPool(trial_run=trial_run)

    def __enter__(self) -> Self:
        """Start the driver.

        Raises:
            Missing: there is no driver, it does not start, or it shows no GPU.
        """
        self.enter_context(self._pool)
        return self

    def for_file(self) -> TryModules:
        """Return a trial of the modules of one file.

        It returns the driver's answers to each module, none for modules that it would not load.
        """
        return lambda modules: [self._try(stored, module) for stored, module in modules]

    def _try(self, stored: StoredModule, module: Module) -> Trials:
        signature = module_signature(module)
        data = _bytes(stored)
        # What a device link used up is loaded together with other regions, which only a program
        # does.
        relinked = any(image.prelinked for image in signature.images)
        if Route.LOAD not in possible_routes(signature) or relinked or data is None:
            return {}
        found: dict[TrialKey, TrialOutcome] = {}
        driver = self._pool.driver
        for gpu in driver.gpus:
            key = load_key(self._target, gpu.arch)
            if key in found:
                continue
            kernels = _kernels(stored, signature, gpu.arch.number)
            name, file = str(module.place), stored.place.path
            request = LoadRequest(name, data, kernels, gpu.index, file=file)
            watch = self._pool.trial_run.watch(f"{name}: {gpu.name}", len(data))
            (answer,) = self._pool.run([request], watch)
            found[key] = _outcome(driver, answer)
        return found


def _bytes(stored: StoredModule) -> bytes | None:
    if stored.region is not None:
        return stored.region.all()
    with suppress(Malformed):
        return cut(stored.images[0]).data
    return None


def _kernels(stored: StoredModule, signature: ModuleSignature, gpu: int) -> tuple[str, ...]:
    """The kernels of the image that the driver would pick: asking for each makes it load them."""
    pick = pick_for_driver(signature, gpu)
    if not pick.images:
        return ()
    image, _ = describe(
        stored.images[signature.images.index(pick.images[0])], ReadOptions(kernels=True)
    )
    return image.kernels or ()


def _outcome(driver: LoadedDriver, answer: LoadAnswer) -> TrialOutcome:
    loading = "lazily" if driver.lazy else "eagerly"
    outcome = TrialOutcome(f"CUDA {driver.cuda} driver", str(answer.outcome), loading=loading)
    if answer.outcome is LoadOutcome.LOADED:
        return outcome
    if answer.outcome is not LoadOutcome.REFUSED:
        return replace(outcome, reason=answer.why_ended, cpu_seconds=answer.cpu_seconds)
    log = first_line(answer.log)
    at = f" at kernel {answer.kernel}" if answer.kernel else ""
    name = f" {answer.code_name}" if answer.code_name else ""
    text = f"error {answer.code}{name}{at}"
    return replace(outcome, cause=str(answer.code), reason=f"{text}: {log}" if log else text)
