"""Numbers for values: two tensors with the same number hold the same, computed in the same way.

The number stands for the function, the numbers of what it was given, and the modes that it runs in
(value numbering: Alpern, Wegman & Zadeck 1988). Whatever is not known for sure (random numbers, what was
written to unseen, what came from the host) gets a number of its own. No version tells what others write to a
tensor's memory: of what no call has made some of its numbers are compared from step to step (a norm writes to
its statistics, an alias by `.data`), and all of them each time it is met where NumPy or another process has
the memory too.
"""

from __future__ import annotations

import re
import sys
import weakref
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .guard import attempt
from .host_arrays import HostArrays
from .tensors import tensors_in

_RANDOM = re.compile(
    r"rand|dropout|bernoulli|multinomial|normal|uniform|poisson|exponential|gumbel|rrelu|empty"
)
_RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
# of what drops some of the numbers that it computes, the positions of the share that it drops, and of whether
# it trains
_DROPOUT_AT: dict[str, tuple[int, int | None]] = {
    "scaled_dot_product_attention": (4, None),
    "multi_head_attention_forward": (10, 13),
    **dict.fromkeys(_RECURRENT, (5, 6)),
}
_FROM_HOST = {"tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "scalar_tensor", "Tensor"}
_TO_HOST = {"item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__index__"}
# what takes as many rows as its tensor's numbers say, and what asks how many there are
_SELECTS = {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive"}
_SIZES = {"__len__", "size", "numel", "nelement"}
_IN_PLACE = re.compile(
    r".*[^_]_|__setitem__|__i(add|sub|mul|matmul|(true|floor)?div|mod|pow|and|x?or|[lr]shift)__"
)
_FILLS = {"fill_", "zero_"}  # whatever was there
_PLAIN = (int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.memory_format)
_DATA: tuple[Any, ...] = (torch.Tensor.data.__get__, torch.Tensor.data.__set__)  # type: ignore[attr-defined]
_SHAPE: tuple[Any, ...] = (torch.Tensor.shape.__get__,)  # type: ignore[attr-defined]
_GRADIENT: tuple[Any, ...] = (torch.Tensor.grad.__get__,)  # type: ignore[union-attr]

_SAMPLED = 4096  # numbers of a tensor, to see whether it is what it was
_SUMMED_BYTES = 1 << 26  # of memory that others have too, all of whose numbers are looked at
_ANY_TIME = -1  # a step that no sample is of: it is to be taken anew


class _Unknown(Exception):
    """A value that has no number."""


class Sample(NamedTuple):
    """Some of a tensor's numbers, or the checksum of all, as they were in this step."""

    step: int
    numbers: torch.Tensor

    def is_like(self, other: Sample | None) -> bool:
        return other is not None and torch.equal(self.numbers, other.numbers)


class Value(NamedTuple):
    """Of a living tensor at a version. ``bits``: what it depends on, as the one who asks counts that;
    ``made``: by a call that was seen.
    """

    tensor: weakref.ref[torch.Tensor]
    version: int
    number: int
    bits: int
    made: bool
    selected: bool = False  # how many rows it has depends on what another tensor holds
    drawn: bool = False  # it depends on numbers drawn at random, and on nothing that is trained
    sample: Sample | None = None  # of what no call has made


class Values:
    """Of all tensors met. `all_bits()`: those of everything up to now."""

    def __init__(self, all_bits: Callable[[], int]) -> None:
        self._all_bits = all_bits
        self._of_tensor: dict[int, Value] = {}
        self._numbers: dict[Any, int] = {}
        # by id, tensors whose data was taken out: nothing counts its versions
        self._untrusted: dict[int, weakref.ref[torch.Tensor]] = {}
        self.renumbered: set[int] = (
            set()
        )  # of tensors that have another number since, by no call that was seen
        self._last = self._step = 0
        self.host_bits = 0  # of what Python has read
        self.arrays = HostArrays()
        self.decided_bits = 0  # of what it has read to decide by: truth, and how many rows were selected

    def of(self, tensor: torch.Tensor) -> Value:
        known, version = self._of_tensor.get(id(tensor)), _version(tensor)
        if known is not None and known.tensor() is tensor:
            is_current = known.version == version and not self._is_untrusted(tensor)
            if is_current and (known.sample is None or known.sample.step == self._step):
                return known
            if is_current and (sample := self._sample(tensor)) and sample.is_like(known.sample):
                return self._remembered(tensor, known._replace(sample=sample))
            self.renumbered.add(known.number)
            bits = self._all_bits() if known.made else known.bits
            return self.keep(tensor, self.new_number(), bits, made=known.made)
        # weights and what else was there depend on nothing; a batch may come from what was read before
        if isinstance(tensor, torch.nn.Parameter):
            return self.keep(tensor, self.new_number(), 0, made=False)
        known_bits = self._read_before(tensor) if tensor.is_leaf else None
        bits = (
            known_bits if known_bits is not None else self.host_bits if tensor.is_leaf else self._all_bits()
        )
        return self.keep(tensor, self.new_number(), bits, made=known_bits is not None)

    def new_step(self) -> None:
        self._step += 1
        self.arrays.new_step()

    def _sample(self, tensor: torch.Tensor) -> Sample | None:
        return attempt("looking at numbers", lambda: _sample_of(tensor, self._step), None)

    def _remembered(self, tensor: torch.Tensor, value: Value) -> Value:
        self._of_tensor[id(tensor)] = value
        return value

    def bits_from_host(self, source: Any) -> int:
        """What Python has read that a tensor made of this may depend on."""
        known = self._read_before(source)
        return self.host_bits if known is None else known

    def _read_before(self, source: Any) -> int | None:
        return attempt("looking at arrays", lambda: self.arrays.bits_of(source), None)

    def _is_untrusted(self, tensor: torch.Tensor) -> bool:
        untrusted = self._untrusted.get(id(tensor))  # or another one, which is gone
        return untrusted is not None and untrusted() is tensor

    def keep(
        self,
        tensor: torch.Tensor,
        number: int,
        bits: int,
        *,
        made: bool,
        selected: bool = False,
        drawn: bool = False,
    ) -> Value:
        is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        has_memory = tensor.layout == torch.strided and not (tensor.is_nested or is_wrapped)
        may_change = not made and has_memory and tensor.device.type == "cpu"
        sample = self._sample(tensor) if may_change else None
        value = Value(weakref.ref(tensor), _version(tensor), number, bits, made, selected, drawn, sample)
        return self._remembered(tensor, value)

    def new_number(self) -> int:
        self._last += 1
        return self._last

    def number_of(self, key: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.new_number()
        return number

    def given_back(self, call: Call, tensors: list[torch.Tensor], bits: int) -> None:
        """What a call has made or written to."""
        if call.touches_data:
            self._untrusted[id(call.given[0])] = weakref.ref(call.given[0])
        if call.name == "__set__":
            return
        if call.reads_to_host:
            if bits & ~self.host_bits:
                attempt("looking at arrays", lambda: self.arrays.look(sys._getframe(), self.host_bits), None)
            self.host_bits |= bits
        if call.decides:
            self.decided_bits |= bits
        for at, tensor in enumerate(tensors):
            if not any(tensor is given for given in call.given):
                number = self.number_of((call.number, at)) if at else call.number
                selected = call.selects(tensor)
                self.keep(tensor, number, bits, made=True, selected=selected, drawn=call.drawn)
        if call.has_out:
            written = zip(call.tensors_written, call.values_written, strict=True)
            for at, (tensor, before) in enumerate(written):
                number = self.number_of((call.number, at)) if at else call.number
                self.keep(tensor, number, bits | before.bits, made=True, drawn=call.drawn)
        elif call.in_place and call.given:
            self.keep(call.given[0], call.number, bits, made=call.is_of_this_step, drawn=call.drawn)
            for tensor in call.others_written:
                self.keep(tensor, self.new_number(), bits, made=call.is_of_this_step)

    def alias(self, tensor: torch.Tensor, other: torch.Tensor) -> None:
        """The other is the same memory, of which both count the versions."""
        value = self.of(tensor)
        if not self._is_untrusted(tensor):
            self._remembered(other, value._replace(tensor=weakref.ref(other)))

    def written_alike(self, call: Call) -> None:
        """What the call has written to counts as what it was."""
        for value in call.values_written:
            tensor = value.tensor()
            if tensor is not None:
                self.keep(tensor, value.number, value.bits, made=value.made)


class Call:
    """A call before it is made, for what it is given may be written to.

    ``given``: its tensors; ``numbers``: of their values; ``bits``: what they depend on; ``other_bits``: what
    all but the first do; ``fixed``: the numbers of those that were not made by a call seen; ``written``: of
    those that it writes to, which are named by `out` (``has_out``) or come first. ``is_new``: what it gives
    is another value each time. ``number``: of its value; ``asked``: of what it asks for, the same for all
    gradients that one pass through a graph gives. ``drawn``: it depends on numbers drawn at random, and on
    nothing that is trained. ``decides``: Python reads truth, or how many rows were selected.
    """

    def __init__(self, values: Values, func: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.name = getattr(func, "__name__", "")
        self.arguments, self.options = args, kwargs
        self._out = kwargs.get("out")  # torch.norm hands None on
        self.has_out = self._out is not None
        self.in_place = bool(_IN_PLACE.fullmatch(self.name)) or self.has_out
        self.touches_data = func in _DATA
        self.given = list(tensors_in((args, kwargs)))
        of_given = [values.of(tensor) for tensor in self.given]
        pairs = zip(self.given, of_given, strict=True)
        self._selected_rows = {tensor.shape[:1] for tensor, value in pairs if value.selected}
        counts_rows = bool(self._selected_rows) and (self.name in _SIZES or func in _SHAPE)
        self.decides = counts_rows or self.name == "__bool__"
        self.reads_to_host = counts_rows or self.name in _TO_HOST
        self.bits = values.bits_from_host(args[0] if args else None) if self.name in _FROM_HOST else 0
        self.other_bits = 0
        for value in of_given[1:]:
            self.other_bits |= value.bits
        self.bits |= self.other_bits | (of_given[0].bits if of_given else 0)
        self.numbers = [value.number for value in of_given]
        self.fixed = tuple(value.number for value in of_given if not value.made)
        self.tensors_written = self._written_to() if self.in_place else []
        self.values_written = [values.of(tensor) for tensor in self.tensors_written]
        # all that a fused optimizer is given: it does not count versions up (torch 2.13)
        self.others_written = self.given[1:] if self.name.startswith("_fused_") else []
        self.is_of_this_step = not of_given or of_given[0].made
        self.computes = bool(of_given) and self.name != "__get__"
        of_drawn = self._is_random or any(value.drawn for value in of_given)
        self.drawn = of_drawn and not any(tensor.requires_grad for tensor in self.given)
        self.is_new = self._is_random or self.name in _FROM_HOST or func in _GRADIENT
        if self.is_new:
            self.number = values.new_number()
        elif self.name in _FILLS and self.given:
            filled = self.given[0]
            self.number = _number(values, (func, filled.shape, filled.dtype, filled.device), args[1:], kwargs)
        else:
            self.number = _number(values, (func, *_modes()), args, kwargs)
        self.asked = self.number
        if func is torch.autograd.grad:
            self.asked = _number(values, "gradients", args[:1], kwargs.get("grad_outputs"))

    @property
    def mixes_rows(self) -> bool:
        """Each row of its result depends on all rows that it is given."""
        if self.name != "batch_norm":
            return False
        return bool(self.arguments[5] if len(self.arguments) > 5 else self.options.get("training"))

    @property
    def written(self) -> set[int]:
        return {value.number for value in self.values_written}

    @property
    def _is_random(self) -> bool:
        """Dropout in evaluation, or of nothing, is not."""
        share, trains = self._dropout()
        if trains is False or (isinstance(share, (int, float)) and share == 0):
            return False
        return bool(_RANDOM.search(self.name)) or (self.name in _DROPOUT_AT and share is not None)

    def _dropout(self) -> tuple[Any, Any]:
        """The share that is dropped, or a tensor of them, which nobody may ask; and whether the call trains.
        None where it does not say.
        """
        share = self.options.get("dropout_p", self.options.get("p"))
        trains, given = self.options.get("training"), self.arguments
        share_at, trains_at = _DROPOUT_AT.get(self.name, (None, None))
        if self.name in _RECURRENT and len(given) > 3 and not isinstance(given[3], bool):
            given = given[1:]  # packed sequences come with their sizes
        if share_at is not None and len(given) > share_at:
            share = given[share_at]
        if trains_at is not None and len(given) > trains_at:
            trains = given[trains_at]
        return share, trains

    def selects(self, result: torch.Tensor) -> bool:
        """Whether how many rows it gives depends on what a tensor holds, or it keeps the rows of one that
        does.
        """
        masked = self.name == "__getitem__" and any(mask.dtype is torch.bool for mask in self.given[1:])
        return masked or self.name in _SELECTS or result.shape[:1] in self._selected_rows

    def _written_to(self) -> list[torch.Tensor]:
        """With what they are views of."""
        tensors = list(tensors_in(self._out)) if self.has_out else self.given[:1]
        return tensors + [tensor._base for tensor in tensors if tensor._base is not None]

    @property
    def dimension(self) -> Any:
        """The second argument of functions that may be told a dimension there; 0 where it is left out."""
        return self.options.get("dim", self.options.get("axis", (*self.arguments[1:2], 0)[0]))


def _number(values: Values, what: Any, *arguments: Any) -> int:
    try:
        return values.number_of((what, *(_key(values, one) for one in arguments)))
    except (_Unknown, TypeError):  # or what cannot be a key
        return values.new_number()


def _key(values: Values, argument: Any) -> Any:
    """Stands for an argument. Raises _Unknown."""
    if isinstance(argument, torch.Tensor):
        return ("tensor", values.of(argument).number)
    if argument is None or argument is Ellipsis or isinstance(argument, _PLAIN):
        return (type(argument), argument)
    if isinstance(argument, list | tuple):
        return tuple(_key(values, one) for one in argument)
    if isinstance(argument, dict):
        return tuple((name, _key(values, one)) for name, one in argument.items())
    if isinstance(argument, slice):
        return ("slice", _key(values, (argument.start, argument.stop, argument.step)))
    raise _Unknown


def _modes() -> tuple[Any, ...]:
    """What else a call's result depends on."""
    kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    casts = tuple((kind, torch.get_autocast_dtype(kind)) for kind in kinds)
    return torch.is_grad_enabled(), torch.get_default_dtype(), casts


def _sample_of(tensor: torch.Tensor, step: int) -> Sample:
    storage, numbers, count = tensor.untyped_storage(), tensor.detach(), tensor.numel()
    others_have_it = storage.is_shared() or not storage.resizable()  # as NumPy
    if others_have_it and tensor.nbytes <= _SUMMED_BYTES:
        written = numbers.contiguous().flatten().view(torch.uint8).numpy()
        return Sample(_ANY_TIME, torch.tensor(zlib.crc32(written.data)))
    at = torch.linspace(0, max(count - 1, 0), min(count, _SAMPLED), dtype=torch.float64).long()
    return Sample(_ANY_TIME if others_have_it else step, numbers.take(at))


def _version(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # made in inference mode: it counts none
        return -1
