"""A device without hardware: its tensors compute on the CPU, but do not mix with tensors of the CPU.

There is no GPU where the tests run. PyTorch's fake tensors hold no numbers, so they cannot follow code that
looks at values (``nonzero``, ``tolist``, ``float(loss)``). These tensors say that they are on PyTorch's
``meta`` device, hold their numbers in a tensor of the CPU, and an operation on tensors of both kinds raises
as it would with CUDA. So whole training runs work, and their results can be compared with those of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

PRETEND = torch.device("meta")  # autograd runs it in the CPU's thread and asks for no driver
_TO_ANOTHER_DEVICE = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)
# CUDA takes indices from the CPU for its own tensors, but not the reverse
_INDEXING = (
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_put.default,
    torch.ops.aten.index_put_.default,
    torch.ops.aten._index_put_impl_.default,
)


class MisplacedTensor(RuntimeError):
    """An operation met tensors of both devices."""


class PretendTensor(Tensor):
    """Says that it is on ``PRETEND``; ``content`` is on the CPU."""

    content: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, content: Tensor) -> PretendTensor:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            content.shape,
            strides=content.stride(),
            storage_offset=content.storage_offset(),
            dtype=content.dtype,
            device=PRETEND,
        )

    def __init__(self, content: Tensor) -> None:
        self.content = content

    def tolist(self) -> Any:
        return self.content.tolist()

    def __repr__(self) -> str:
        return f"PretendTensor({self.content!r})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


class _PretendMode(TorchDispatchMode):
    """Catches what creates tensors on the device."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


class _TensorsWithNumbers(TorchFunctionMode):
    """Keeps the numbers of ``torch.tensor``, ``new_tensor`` and lists as indices: PyTorch drops them when it
    makes tensors on ``meta``. Assigning ``data`` assigns the content too."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and kwargs.get("device") == PRETEND:
            del kwargs["device"]
            return func(*args, **kwargs).to(PRETEND)
        if func is Tensor.new_tensor and isinstance(args[0], PretendTensor):
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(PRETEND)
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[0], PretendTensor):
            args = (args[0], _without_lists(args[1]), *args[2:])
        if func == Tensor.data.__set__ and isinstance(args[1], PretendTensor):
            args[0].content = args[1].content
        return func(*args, **kwargs)


def _without_lists(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_without_lists(part) for part in index)
    return torch.tensor(index) if isinstance(index, list) else index


@contextmanager
def pretend_device() -> Iterator[torch.device]:
    with _PretendMode(), _TensorsWithNumbers():
        yield PRETEND


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    flat, spec = tree_flatten((args, kwargs))
    far = [x for x in flat if isinstance(x, PretendTensor)]
    near = [x for x in flat if isinstance(x, Tensor) and not isinstance(x, PretendTensor)]
    asked = kwargs.get("device")
    asked = None if asked is None else torch.device(asked)
    if asked == PRETEND and isinstance(kwargs.get("generator"), torch.Generator):
        raise MisplacedTensor(f"{func}: a generator of the CPU draws for another device")
    if far and func not in _TO_ANOTHER_DEVICE:
        _check(func, args, near)
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
        flat, spec = tree_flatten((args, kwargs))
    plain = [x.content if isinstance(x, PretendTensor) else x for x in flat]
    plain_args, plain_kwargs = tree_unflatten(plain, spec)
    result = func(*plain_args, **plain_kwargs)
    if func is torch.ops.aten._to_copy.default and asked is not None:
        return PretendTensor(result) if asked == PRETEND else result
    if not far and asked != PRETEND:
        return result
    if func is torch.ops.aten.copy_.default:
        return args[0]
    # what an operation wrote into and gives back is the tensor it was given
    known = {id(x.content): x for x in far}

    def placed(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        return known[id(x)] if id(x) in known else PretendTensor(x)

    return tree_map(placed, result)


def _check(func: Any, args: Any, near: list[Tensor]) -> None:
    if func in _INDEXING and isinstance(args[0], PretendTensor):
        values = args[2:] if len(args) > 2 else ()
        near = [x for x in values if isinstance(x, Tensor) and not isinstance(x, PretendTensor)]
    wrong = [x for x in near if x.ndim]  # a number may come from the CPU
    if wrong:
        shapes = ", ".join(str(tuple(x.shape)) for x in wrong)
        raise MisplacedTensor(f"{func}: tensors of the CPU ({shapes}) with those of a device")
