"""Classes of what saving_test.py and sharing_test.py save and send: pickle finds them by name, in child processes too."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import torch


class Marked(torch.Tensor):
    """A subclass with an attribute of its own."""

    mark: Any


class MarkedParameter(torch.nn.Parameter):
    mark: Any


class Pair(torch.Tensor):
    """A wrapper: no memory of its own, two tensors in its __dict__."""

    left: torch.Tensor
    right: torch.Tensor

    @staticmethod
    def __new__(cls, left: torch.Tensor, right: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, left.shape, dtype=left.dtype, device=left.device)

    def __init__(self, left: torch.Tensor, right: torch.Tensor) -> None:
        self.left, self.right = left, right

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten.clone.default or function is torch.ops.aten.detach.default:
            return Pair(function(args[0].left), function(args[0].right))
        raise NotImplementedError(str(function))


# torch.save({"x": x, "column": x[:, 1]}) of flagos 0.1.0 as of December 2026, where x = torch.arange(6.0).view(2, 3).
_COMPRESSED = (
    "c-o~@%Wl&^6dl{C6HLhqP)ZlwVpK>SJI^9WvA_$wAPuS%v9a95jV+v*u_xgnAw@!|)E#BP67d!A8HhbQ7Kjz%515Ht*LG+qaFxl(_C4nw-#OPUl}"
    "P}QN`bk^f;`aOu4#>pjh>G5;*-a=BB#NlNKELL5bzxe1D-*uiyVw7Y9nOX9;dm+?#Qxx8Zw5S<7#7(gEY@~k~rDJnR?%Vj1S=y+tJZO|0V|$GeQ9"
    "_b%?M%TkkvGrT|%$MKHOo0+m*oeV9@imD-2r4!T{(wv8^boT0}(aC?Sp^zK?+#6j*_8=gmSxeYILSWJZzM}r|un^=d*m<cmhAww!;w^d4|r!c27Q"
    "<y(63CTqSFSX(2QL&{aQy-f5*MDLdS*=qWSO8qmz~Y|c4s@iA4cEge6`4KiV~Oy6{PE=#d0}cH-zun`@E!F}(`~Ci92i5S$WrWR&J@)$5zu@Jztg"
    "w`y-+|7Gy?&<&ynGfPAl@wf2n&MwuO*w5Dn8?U$2lOVi#&igWC~TZU~CJ`5yv&)=3lpZQ&nY6TIGU5k-a9-ws#sgO!DfGGIMW6ddo>vr3XUQt9)%"
    "{?4EKzXrq;1I%9DGh7Qh;Dt`CuUS1sF8*aNN|l;eFEtvKQmI}kSId$hRt2frkQ%kRC{-&04zX4ih)VC?a)!q`_?b$Ihz)dxM<P3?JpLVtqr(GGh#"
    ">D!;Itu%lY~vY8X-9hlgv#{oF{C=T!bf2gZTl7!^5sgN8oR15c6&v8}>mag5?<ycUc@9KAyD*_)Q4>d*ifJmc4##Gv-EsOvd(4l)u*#{*H08M@iP"
    "d_P=0DtdB{~^8MUjju&1i"
)
OLD_FILE = zlib.decompress(base64.b85decode(_COMPRESSED))
