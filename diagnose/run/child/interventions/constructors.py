"""Other arguments for a constructor than those the script gives."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .base import Intervention, Sites


class ConstructorIntervention(Intervention):
    """Replaces arguments, positional ones too.

    If torch then refuses, the object is made as the script would have it.
    """

    def __init__(self, sites: Sites, wanted: dict[str, Any]) -> None:
        super().__init__(sites)
        self.wanted = wanted
        self.constructing = False  # constructors call those of their bases, which may be wrapped too

    def replacements(self, instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        """What to replace in `arguments`, which has the defaults too.

        Empty, after `pass_over`: leave this one alone.
        """
        raise NotImplementedError

    def reusable(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Those of `arguments` that constructing uses up, in a form of which a second call can be made."""
        return {}

    def constructed(self, instance: Any, replaced: dict[str, Any], own: dict[str, Any]) -> None:
        """Called with each object that was made with other arguments, with these, and what they would be by
        the script.
        """

    def differing(self, arguments: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
        """What of `wanted` the script does not have already."""
        changes = {name: value for name, value in wanted.items() if arguments[name] != value}
        if not changes:
            self.pass_over("It is already so.")
        return changes

    def rewriting(self, original: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(original)

        @functools.wraps(original)  # frameworks make objects anew from the signature
        def __init__(instance: Any, /, *args: Any, **kwargs: Any) -> None:
            if self.constructing or self.refused or not self.sites.include(sys._getframe(1)):
                return original(instance, *args, **kwargs)
            try:
                bound = signature.bind(instance, *args, **kwargs)
            except TypeError:  # the script's own mistake
                return original(instance, *args, **kwargs)
            self.constructing = True
            try:
                self._construct(original, instance, signature, bound.arguments)
            finally:
                self.constructing = False

        return __init__

    def _construct(
        self,
        original: Callable[..., None],
        instance: Any,
        signature: inspect.Signature,
        arguments: dict[str, Any],
    ) -> None:
        given = arguments
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
        try:
            given = arguments | self.reusable(arguments)
            replaced = self.replacements(instance, defaults | given)
        except Exception as error:  # arguments such as torch does not take either, most likely
            self.pass_over(f"Its arguments are not understood: {error}")
            replaced = {}
        if not replaced:
            return _call(original, signature, given)
        attributes = dict(vars(instance))
        try:
            _call(original, signature, given | self.reusable(given) | replaced)
        except Exception as error:
            self.pass_over(f"torch refuses it: {error}")
            vars(instance).clear()  # of what is half made
            vars(instance).update(attributes)
            return _call(original, signature, given)
        self.count += 1
        self.constructed(instance, replaced, {name: (defaults | given)[name] for name in replaced})


def _call(function: Callable[..., None], signature: inspect.Signature, arguments: dict[str, Any]) -> None:
    ordered = {name: arguments[name] for name in signature.parameters if name in arguments}
    bound = inspect.BoundArguments(signature, ordered)
    function(*bound.args, **bound.kwargs)
