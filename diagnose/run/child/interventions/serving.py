"""Models that only answer, in another form: what PyTorch has for deployment on processors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..inspection import compiler_in_use
from ..unwarned import unwarned
from .base import Sites
from .evaluation import EvaluationIntervention
from .forwards import alike, tensors_in

_LEFT_ALONE = 2  # calls of a model before the other form is made: a backward may follow them
_BESIDE = 2  # calls that both forms answer, and the script gets the model's own
_LENGTH = 200  # of what is told of an error


@dataclass
class _Form:
    """``answers``: the other form, None before it is made; ``shapes``: of what it was made with."""

    calls: int = 0
    answers: Callable[..., Any] | None = None
    shapes: Any = None


class OtherForm(EvaluationIntervention):
    """Once it was held against the model itself, another form of it answers what has the same shapes."""

    tolerance: float  # of the largest number in an output

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._forms: weakref.WeakKeyDictionary[nn.Module, _Form] = weakref.WeakKeyDictionary()

    def make(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """The other form, which leaves the module as it is. May raise anything."""
        raise NotImplementedError

    def forward(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        form = self._forms.setdefault(module, _Form())
        if module.training:
            if form.answers is not None:
                self.refuse("The model goes back to training.")
            return run(*args, **kwargs)
        form.calls += 1
        if form.calls <= _LEFT_ALONE:
            return run(*args, **kwargs)
        try:  # nothing of the script's runs in here
            with torch.no_grad(), unwarned():
                answers = self._answering(form, module, args, kwargs)
                other = answers(*args, **kwargs) if answers else None
        except Exception as error:  # of torch's converters, which raise what they like
            said = " ".join((str(error) or type(error).__name__).split())[:_LENGTH]
            self.refuse(f"The other form of the model fails: {said}")
            answers = other = None
        if answers is not None and form.calls > _LEFT_ALONE + _BESIDE:
            self.count += 1
            return other
        own = run(*args, **kwargs)
        if answers is not None and not alike(tensors_in(own), tensors_in(other), self.tolerance):
            self.refuse(f"Its answers are off by more than {self.tolerance:.0%} of their largest number.")
        return own

    def _answering(
        self, form: _Form, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """The other form, made if need be; None where the model is to answer itself."""
        if form.answers is None:
            if compiler_in_use():
                self.refuse("The script uses torch.compile already.")
                return None
            form.answers, form.shapes = self.make(module, args, kwargs), _shapes((args, kwargs))
        return form.answers if _shapes((args, kwargs)) == form.shapes else None


class Quantize(OtherForm):
    """Weights of linear and recurrent layers in eight bits, their inputs quantized as they come."""

    tolerance = 0.05
    _KINDS = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell)

    def make(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        if any(tensor.device.type != "cpu" for tensor in module.parameters()):
            raise ValueError("dynamic quantization is for processors, and the model is on another device")
        if not any(isinstance(part, self._KINDS) for part in module.modules()):
            raise ValueError("it has no linear and no recurrent layer")
        quantized: Callable[..., Any] = torch.ao.quantization.quantize_dynamic(
            module, set(self._KINDS), dtype=torch.qint8
        )
        return quantized


class TorchScript(OtherForm):
    """Traced, frozen and optimised for inference."""

    tolerance = 0.01

    def make(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        if args and kwargs:
            raise ValueError("it is called with arguments by position and by name, which tracing refuses")
        given = {"example_kwarg_inputs": kwargs} if kwargs else {"example_inputs": args}
        traced = torch.jit.trace(module, strict=False, check_trace=False, **given)
        answers: Callable[..., Any] = torch.jit.optimize_for_inference(traced)
        return answers


class OnnxRuntime(OtherForm):
    """Exported to ONNX, and answered by ONNX Runtime on processors."""

    tolerance = 0.01

    def make(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        import onnxruntime

        if kwargs or not all(isinstance(one, torch.Tensor) and one.device.type == "cpu" for one in args):
            raise ValueError("it is not called with tensors of processors alone, by position")
        output = module(*args)
        if not isinstance(output, torch.Tensor):
            raise ValueError("its output is no single tensor")
        program = torch.onnx.export(module, args, dynamo=True, verbose=False)
        if program is None:
            raise ValueError("torch.onnx made nothing of it")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(
            program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        names = [given.name for given in session.get_inputs()]
        if len(names) != len(args):
            raise ValueError("the exported model takes other inputs")

        def answers(*tensors: torch.Tensor) -> torch.Tensor:
            given = {name: tensor.detach().numpy() for name, tensor in zip(names, tensors, strict=True)}
            return torch.from_numpy(session.run(None, given)[0])

        return answers


def _shapes(value: Any) -> list[tuple[Any, ...]]:
    return [(tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in tensors_in(value)]
