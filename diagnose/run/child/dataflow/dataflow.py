"""What the script's calls of torch depend on, for one step once all is recorded; and what the next five read
of it, or compute again: a step may end between a model's call and the use of its result, and begin with what
the one before has ended with.

A mode of torch's sees each call with the tensors that it is given and gives. From that is told: calls that
one line makes again and again though none needs the result of another (`at_once`), calls that ask for what an
earlier one has computed (`again`), for what is the same in each step (`constant`), or for what is the same of
a loader's sample whenever it comes (`of_samples`), calls of whose result little is read (`unread`), that is
kept and replaced by another before it is read (`replaced`), that is neither read nor trained (`dropped`), or
that counts nothing in a loss (`zeroed`), products of nearly empty matrices (`sparse`), of sparse matrices
kept by coordinates (`coordinates`), of rows that are there many times (`repeated`) and of batches of matrices
that are (`matrices`), solutions with the same matrix (`factored`), convolutions that reach beyond what they
are given (`beyond`), ones with a constant kernel that is a column times a row and wide pooling (`separable`),
ones with a long kernel (`long_kernel`), dense ones of channels by themselves (`depthwise`), rows that are
moved number by number (`by_number`), networks given equal rows (`equal_rows`), three matrices multiplied in
the costlier order (`order`), pictures enlarged before a convolution of one point (`enlarged`), buffers copied
whole to take in a few rows (`shifted`), attention of which a mask leaves few pairs (`masked`), layers of one
shape called in turn (`members`), ones in a loop whose input is in part known ahead of it (`known_parts`),
bidirectional networks of which one end is read (`one_end`), penalties on weights (`penalties`), calls by
which `torch.distributions` checks what it is given (`checks`), and those of normal distributions all of whose
covariances are 0 (`diagonal`).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter_ns
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode, _pop_mode_temporarily

from ..accelerator import is_capturing
from ..guard import attempt, guarded
from ..inspection import compiler_in_use, inside_a_mode, without_saved_tensors_hooks
from ..line_sums import Mendable, Sum
from ..patching import Patches
from ..places import Place, Places
from ..products.members_trial import left_of_members
from ..products.products import Products
from ..products.rounds_trial import left_of_rounds
from ..products.summed_rows import IN_PLACE
from ..products.tried import Allowance
from ..products.zeros import is_root_of_diagonal
from ..steps.clock import ENGINE
from ..tensors import tensors_in
from ..values import Call, Values
from .aliases import tell_of_variables
from .call_places import Activations, Site, apart, is_power_iteration, site_of_call
from .dataflow_facts import DataflowFacts
from .feeds import Feeds
from .known_parts import KnownParts
from .one_end import OneEnd
from .penalties import Made
from .sample_work import Origin, SampleWork, tell_of_batches, told_at
from .seen_step import TRIED_ROUNDS, Again, Cells, Group, SeenStep
from .shifted import Shifted
from .unread import METADATA, Reads

_CALLS_AT_MOST = 50_000  # of a step: of the others only the time is counted
_GROUPS_AT_MOST = 16_000
_STEPS, _EARLY = 6, 2  # in early ones values may be met that were made before
_LONG_NS = 2_000_000_000  # after which two steps are enough: somebody waits
_CELLS = ("gru_cell", "lstm_cell", "rnn_tanh_cell", "rnn_relu_cell")
# what a state stays the output of a cell by: shaped otherwise, or masked where a sequence is over
_STILL_A_STATE = re.compile(
    r"__getitem__|__get__|view|reshape|(un)?squeeze|flatten|transpose|expand|contiguous|detach|clone|to|chunk"
    r"|split|unbind|select|index_select|narrow|where|masked_fill|(__)?r?(mul|add|sub)(__)?|dropout"
)
Trial = Callable[[Call, int, Sequence[tuple[int, ...]]], float | None]
_UNTOLD = -1  # bits of what depends on more groups than are told apart


class Dataflow(TorchFunctionMode):
    """`begin` at the end of a step, then `step` at the end of each until it returns True."""

    what = "looking at the dataflow"
    _calls: int
    _cut: bool  # not all calls of the step are seen: who reads what is not known any more
    _steps: int
    _step: SeenStep
    _first: SeenStep  # the one whose calls are told
    _later: list[SeenStep]  # those after the early ones

    def __init__(
        self, places: Places, place_for: Callable[[str], tuple[Any, str]] = lambda _: ENGINE
    ) -> None:
        """``place_for("backward")``: where a wrapper of what runs backwards goes, as owner and name."""
        super().__init__()
        self._places, self._place_for, self._patches = places, place_for, Patches()
        self.facts: dict[str, Any] | None = None
        self._entered = self._looks = False
        self._first_calls: int | None = None  # how many calls the first step made; None while it goes on
        self._reads = Reads()
        self._made: list[tuple[Place, int, int]] = []  # of each call its line, ns, and ns if it is trained
        self._ways: list[tuple[Place, ...]] = []  # to it, innermost first

    def begin(self) -> bool:
        """Whether the next step is looked at: no compiled one, for which a mode makes another program, and
        none that ends inside a mode of the script's.
        """
        if compiler_in_use() or is_capturing() or inside_a_mode():
            return False
        self._forget()
        self._pid, self._began_ns = os.getpid(), perf_counter_ns()
        owner, name = self._place_for("backward")
        self._patches.replace(owner, name, self._following(getattr(owner, name)))
        tell_of_batches(self._patches, self._batch_came)
        tell_of_variables(self._patches, self._variable_made)
        asked = torch.overrides.has_torch_function
        self._patches.replace(torch.overrides, "has_torch_function", self._unnoticed(asked))
        self.__enter__()
        self._entered = self._looks = True
        return True

    def step(self) -> bool:
        """A step has ended. Whether it was the last one."""
        self._activations = Activations()  # a function that is over keeps its tensors no longer
        self._one_end.step()
        self._products.step()
        attempt("looking at what is kept", self._reads_of_step, None)
        is_first = self._first_calls is None
        if is_first:
            self._first_calls, self._first = len(self._made), self._step
        elif self._steps >= _EARLY and not self._cut:
            self._later.append(self._step)
        took_long = not is_first and perf_counter_ns() - self._began_ns > _LONG_NS
        is_last = took_long or self._cut or self._steps + 1 >= _STEPS
        if is_first or is_last:
            self.facts = attempt(self.what, self._told, self.facts)
        self._calls, self._step, self._steps = 0, SeenStep(), self._steps + 1
        self._values.new_step()
        self._segment += 1
        if self.facts is not None and not is_last:
            return False
        self.end()
        return True

    def end(self) -> None:
        """Harmless when repeated. A mode of the script's own on top of ours is left there: then ours does no
        more than call.
        """
        self._looks = False
        self._patches.restore()
        if self._entered and _get_current_function_mode() is self:
            self._entered = False
            self.__exit__(None, None, None)
        self._forget()

    def _forget(self) -> None:
        self._values = Values(lambda: (1 << self._group_count) - 1)
        # of the first call that asked for a value, by its number; its step, and what it took
        self._sites: dict[int, tuple[Site, int, int]] = {}
        self._bits: dict[tuple[Any, int], list[int]] = {}  # of groups, by key of the site and segment
        self._calls = self._group_count = self._segment = self._steps = 0
        self._cut = False
        self._step = self._first = SeenStep()
        self._allowance = Allowance()
        self._products = Products(self._allowance)  # of the first step
        self._later, self._shifted, self._feeds = [], Shifted(), Feeds()
        self._known, self._one_end = KnownParts(self._values), OneEnd()
        self._written: set[int] = set()  # values (by number) that were written to
        self._samples = SampleWork()
        self._tried: dict[Any, float | None] = {}
        self._states: set[int] = set()  # values (by number) that cells have given
        self._first_calls = None
        self._reads, self._made, self._ways = Reads(self._values.renumbered), [], []
        self._activations = Activations()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self._looks or os.getpid() != self._pid:
            return func(*args, **kwargs)
        self._calls += 1
        self._cut |= self._calls > _CALLS_AT_MOST
        call = None if self._cut else self._before(func, args, kwargs)
        called_ns = perf_counter_ns()
        result = func(*args, **kwargs)
        ns = perf_counter_ns() - called_ns
        if call is not None:
            self._after(call, result, ns)
        elif self._cut:
            self._add_unseen(func, ns)
        return result

    def _add_unseen(self, func: Callable[..., Any], ns: int) -> None:
        self._step.calls_ns += ns
        if func is Tensor.backward:
            self._step.backward_ns += ns

    def _following(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run_backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._looks and os.getpid() == self._pid:
                attempt(self.what, lambda: self._reads.backward(tensors_in(tensors)), None)
            return original(tensors, *args, **kwargs)

        return run_backward

    def _unnoticed(self, original: Callable[..., bool]) -> Callable[..., bool]:
        """Torch's transformer layers leave their fast path, which gives other numbers, where a mode is on."""

        def has_torch_function(arguments: Any) -> bool:
            if _get_current_function_mode() is not self:
                return original(arguments)
            with _pop_mode_temporarily():
                return original(arguments)

        return has_torch_function

    def _batch_came(self, tensors: list[Tensor]) -> None:
        if self._looks and os.getpid() == self._pid:
            self._samples.batch(self._values.of(tensor).number for tensor in tensors)

    def _variable_made(self, tensor: Tensor, variable: Tensor) -> None:
        if self._looks and _get_current_function_mode() is self and os.getpid() == self._pid:
            self._values.alias(tensor, variable)

    @guarded("looking at the dataflow")
    def _before(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Call | None:
        return Call(self._values, func, args, kwargs)

    @guarded("looking at the dataflow")
    def _after(self, call: Call, result: Any, ns: int) -> None:
        with without_saved_tensors_hooks():
            self._count(call, list(tensors_in(result)), ns)

    def _count(self, call: Call, results: list[Tensor], ns: int) -> None:
        self._step.calls_ns += ns
        if call.name == "backward":
            self._step.backward_ns += ns
            self._segment += 1  # what is trained one after the other is not to be done at once
        has_no_shape = any(result.is_nested for result in results)
        if call.name == "backward" or has_no_shape:
            self._reads.call(-1, "", call.numbers, [])
            return
        site = None if call.in_place or not results else self._site()
        bits = call.bits
        if site is not None:
            self._observe_call(call, site, results[0], ns)
            trained = results[0].requires_grad
            bits |= self._bit(call, call.bits, site, tuple(results[0].shape), ns, trained=trained)
            self._made.append((site.place, ns, ns if trained else 0))
            self._ways.append(tuple(frame.place for frame in site.frames))
        elif call.name == "__setitem__" and call.given:
            bits |= self._add_write(call, ns)
        elif call.name in IN_PLACE:
            self._add_moved(call, results[0], ns)
        elif call.in_place and self._first_calls is None:
            self._add_in_place(ns)
        if call.in_place:  # where, and of which rows, Python says
            bits |= self._values.host_bits
        self._values.given_back(call, results, bits)
        if call.name == "normalize" and call.in_place and is_power_iteration(__file__):
            self._values.written_alike(call)
        else:
            self._written |= call.written
        numbered = [(self._values.of(tensor).number, tensor) for tensor in results]
        self._observe_values(call, site, numbered, ns)
        name = call.name if site or not results else ""
        self._reads.call(
            len(self._made) - 1,
            name,
            call.numbers,
            numbered,
            call.arguments,
            call.options,
            in_place=call.in_place,
        )

    @guarded("looking at calls")
    def _observe_call(self, call: Call, site: Site, result: Tensor, ns: int) -> None:
        """Before what it gives has a number. What fails in here loses no call: others read its result."""
        is_first = self._first_calls is None
        self._add(call, site, result, ns)
        if is_first:
            self._products.add(call, site.place, result, ns)
        self._shifted.call(call, site.place, result, ns, is_first=is_first)
        if call.name in _CELLS:
            self._add_cell(call, site)
        if is_first:
            earlier = self._bits.get((site.key, self._segment), [])
            self._known.call(call, site.key, site.place, earlier, ns, trained=result.requires_grad)

    @guarded("looking at what calls give")
    def _observe_values(
        self, call: Call, site: Site | None, numbered: list[tuple[int, Tensor]], ns: int
    ) -> None:
        """``numbered``: the call's results, with their numbers. What fails in here loses no call, either."""
        self._feeds.call(
            call.numbers,
            [call.number] if call.in_place else [number for number, _ in numbered],
            self._ways[-1] if site is not None else (),
            is_trained=site is not None and numbered[0][1].requires_grad,
        )
        if call.name in _CELLS or (
            not self._states.isdisjoint(call.numbers) and _STILL_A_STATE.fullmatch(call.name)
        ):
            self._states.update(number for number, _ in numbered)
        origin = self._samples.call(call, numbered, self._steps)
        if site is not None and origin == Origin.OTHERS:
            self._step.of_others |= site.around
        elif site is not None and origin == Origin.SAMPLES and not _is_view_of(numbered[0][1], call.given):
            self._step.of_samples[tuple(frame.place for frame in site.frames)].add(ns, 0)
        by = self._made[-1] if site is not None else None
        self._one_end.call(call, numbered, by)
        if self._first_calls is None and numbered:
            self._step.lookups.call(call.name, call.given)
            number, result = numbered[0]
            self._products.made(call, result, [number for number, _ in numbered], by)
            self._known.made(call, number, result)
            self._add_penalty(call, site, result, number)
        elif self._first_calls is None and call.name not in METADATA:
            self._products.read_whole(call)

    def _site(self) -> Site | None:
        return site_of_call(self._places, __file__, self._activations)

    def _add(self, call: Call, site: Site, result: Tensor, ns: int) -> None:
        trained_ns = ns if result.requires_grad else 0
        self._add_to_line(call, site, ns, trained_ns)
        if site.checks:
            self._step.checks.setdefault(site.place, Sum()).add(ns, trained_ns)
        elif site.of_covariance:
            self._step.of_covariance.setdefault(site.place, Sum()).add(ns, trained_ns)
            is_diagonal = is_root_of_diagonal(call.name, call.given)
            if is_diagonal is not None:
                self._step.diagonal.add(is_diagonal)
        elif site.of_spectral_norm:
            return  # each call of the layer is to go on with it
        is_view = _is_view_of(result, call.given) and call.asked == call.number
        first, step, first_ns = self._sites.setdefault(call.asked, (site, self._steps, ns))
        if step < self._steps - 1 and not is_view and call.name != "__get__":
            self._step.constant.setdefault((site.place, call.number), Sum()).add(ns, trained_ns)
            return
        is_again = first is not site and call.computes and not is_view
        if is_again and step == self._steps:
            self._step.again.setdefault(apart(site, first), Again()).add(call.asked, ns, trained_ns, first_ns)
            self._step.computed_again.setdefault(site.place, Sum()).add(ns, trained_ns)
        elif is_again and site.way != first.way:
            self._step.again_later.setdefault(apart(site, first)[-1], Sum()).add(ns, trained_ns)
            self._step.computed_later.setdefault(site.place, Sum()).add(ns, trained_ns)

    def _add_to_line(self, call: Call, site: Site, ns: int, trained_ns: int) -> None:
        self._step.counted.add(ns, trained_ns)
        self._step.lines[site.place] += ns
        self._step.trained[site.place] += trained_ns
        for place in site.around:
            self._step.around[place] += ns
            if call.drawn:
                self._step.drawn.setdefault(place, Sum()).add(ns, trained_ns)

    def _add_cell(self, call: Call, site: Site) -> None:
        earlier = self._bits.get((site.key, self._segment), [])
        cells = self._step.cells.setdefault(site.key, Cells(site.around))
        cells.count += 1
        inputs, state = (self._values.of(tensor) for tensor in call.given[:2])
        is_output = state.number in self._states
        cells.free += not any((inputs.bits | (0 if is_output else state.bits)) >> bit & 1 for bit in earlier)

    def _add_write(self, call: Call, ns: int) -> int:
        """A part of a tensor is written, as a loop does row by row. It needs what it writes, and nothing of
        what was written before: all could be put together at once. Its bit.
        """
        site = self._site()
        if site is None:
            return 0
        trained = call.given[0].requires_grad
        self._add_to_line(call, site, ns, ns if trained else 0)
        shape = tuple(call.given[1].shape) if len(call.given) > 1 else ()
        return self._bit(call, call.other_bits, site, shape, ns, trained=trained)

    @guarded("looking at calls")
    def _add_moved(self, call: Call, result: Tensor, ns: int) -> None:
        site = self._site()
        if site is not None and self._first_calls is None:
            self._add_to_line(call, site, ns, ns if result.requires_grad else 0)
            self._products.add_moved(call, site.place, result, ns)

    def _add_in_place(self, ns: int) -> None:
        """To the time of its line, of which other calls are a part."""
        site = self._site()
        if site is not None:
            self._step.lines[site.place] += ns

    def _add_penalty(self, call: Call, site: Site | None, result: Tensor, number: int) -> None:
        squares, given = self._step.squares, call.given
        belongs = squares.call(call.name, call.arguments, call.options, given, call.numbers, result)
        if belongs is None:
            return
        is_free = site is None or number in call.numbers or _is_view_of(result, given)
        for made in squares.made(belongs, number, call.numbers, None if is_free else Made(*self._made[-1])):
            self._step.penalties.setdefault(made.place, Sum()).add(made.ns, made.trained_ns)

    def _bit(
        self, call: Call, needs: int, site: Site, shape: tuple[int, ...], ns: int, *, trained: bool
    ) -> int:
        """The bit of the group that the call belongs to: of those at the same instructions that depend on as
        many others of them, one after the other. ``needs``: the bits of what it depends on.
        """
        if needs == _UNTOLD:
            return 0
        where = (site.key, self._segment)
        bits = self._bits.setdefault(where, [])
        depth = next((at + 1 for at in reversed(range(len(bits))) if needs >> bits[at] & 1), 0)
        if depth == len(bits):
            if self._group_count >= _GROUPS_AT_MOST:
                return _UNTOLD
            bits.append(self._group_count)
            self._group_count += 1
        key = (*where, depth)
        group = self._step.groups.setdefault(key, Group(bits[depth], site, call.number, call.fixed))
        group.count += 1
        if group.count <= TRIED_ROUNDS[-1]:
            group.shapes.append(shape)
        group.ns += ns
        group.same_weights &= set(call.fixed) <= set(group.fixed)
        group.same_shape &= group.shapes[0] == shape
        group.trained &= trained
        group.varied |= call.number != group.number
        group.weights.add(tuple(call.numbers[1:]))
        if group.count in TRIED_ROUNDS and self._first_calls is None:
            if group.is_loop:
                group.loop = apart(site, group.site)[-1]
            if group.are_members:
                group.left = self._left(left_of_members, call, site, ns, group.shapes)
            elif group.is_loop:
                group.left = self._left(left_of_rounds, call, site, ns, group.shapes)
        # what goes on from round to round does so as Python has decided
        return 1 << group.bit | (self._values.decided_bits if depth else 0)

    def _left(
        self, trial: Trial, call: Call, site: Site, ns: int, shapes: Sequence[tuple[int, ...]]
    ) -> float | None:
        """Of groups at the same instructions, with tensors of the same shapes, the first is tried."""
        key = trial, site.key, tuple(shapes), tuple(tensor.shape for tensor in call.given)
        if key not in self._tried:
            tried = partial(self._allowance.share_left, lambda: trial(call, ns, shapes))
            self._tried[key] = attempt("trying calls at once", tried, None)
        return self._tried[key]

    def _reads_of_step(self) -> None:
        self._reads.step(with_backward=self._step.backward_ns > 0)

    def _unread(self) -> dict[str, dict[Place, Sum]]:
        """Of calls of the first step, by line: as much of a call's time as of its result is not read."""
        found: dict[str, dict[Place, Sum]] = {"unread": {}, "replaced": {}}
        alone: dict[str, set[int]] = {"dropped": set(), "zeroed": set()}
        for index, share, how in self._reads.unread():
            place, ns, trained_ns = self._made[index]
            if index >= (self._first_calls or 0):
                continue
            if how in alone:
                alone[how].add(index)
            else:
                found[how].setdefault(place, Sum()).add(round(ns * share), round(share * trained_ns))
        dropped = self._at_lines_that_lead_to(alone["dropped"], with_backward=False)
        zeroed = self._at_lines_that_lead_to(alone["zeroed"], with_backward=True)
        return found | {"dropped": dropped, "zeroed": zeroed}

    def _at_lines_that_lead_to(self, calls: set[int], *, with_backward: bool) -> dict[Place, Sum]:
        """Such calls of the first step, by the lines that lead to no others. ``with_backward``: one comes to
        them where they are trained.
        """
        sums: defaultdict[tuple[Place, ...], Sum] = defaultdict(Sum)
        others: set[Place] = set()
        for index, way in enumerate(self._ways[: self._first_calls]):
            if index in calls:
                _, ns, trained_ns = self._made[index]
                sums[way].add(ns, trained_ns if with_backward else 0)
            else:
                others.update(way)
        return told_at(sums, others)

    def _told(self) -> dict[str, Any]:
        unread = self._unread() if self._steps and not self._cut else None
        shifted = self._shifted.calls() if self._steps else None
        known = self._known.calls({key for key, cells in self._first.cells.items() if cells.are_free})
        told = DataflowFacts(
            self._first,
            self._later,
            self._products,
            unread,
            self._written,
            shifted,
            known,
            Mendable() if self._cut else self._one_end.calls(),
        ).told()
        return told | {"trained_on": [place._asdict() for place in sorted(self._feeds.lines())]}


def _is_view_of(result: Tensor, given: list[Tensor]) -> bool:
    """Or one of them itself. A result may also be a view of what the call itself has computed."""
    base = result._base
    return any(
        tensor is result or (base is not None and (tensor is base or tensor._base is base))
        for tensor in given
    )
