"""``adaptner bases``: the pretrained models that can be adapted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from adaptner.cli import options
from adaptner.cli.common import emit_json, out

if TYPE_CHECKING:
    from adaptner.models.installed import InstalledBase


def bases(as_json: options.JsonFlag = False) -> None:
    """List the installed bases: those of the package and your own.

    To give a base of your own a name, copy or link its folder into the folder shown in the last
    line. `--base` takes such a name or the path of any base.

    Example: adaptner bases
    """
    from adaptner.models.installed import base_folders, installed_bases

    installed = installed_bases()
    if as_json:
        emit_json([_as_json(base) for base in installed])
        return
    if installed:
        out.print(_as_table(installed), soft_wrap=False)
    else:
        out.print("no base is installed; `adaptner adapt` makes one from the package's corpora")
    out.print(f"your own: {base_folders()[0]}", soft_wrap=True)


def _as_json(base: InstalledBase) -> dict[str, Any]:
    manifest = base.manifest
    return {
        "name": base.name,
        "folder": str(base.folder),
        "method": manifest.method if manifest else None,
        "domains": [d.name for d in manifest.domains] if manifest else [],
        "megabytes": round(base.megabytes, 1),
        "problem": base.problem or None,
    }


def _as_table(bases: list[InstalledBase]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("method")
    table.add_column("pretrained on")
    table.add_column("MB", justify="right")
    for base in bases:
        size = f"{base.megabytes:.1f}"
        if base.manifest is None:
            table.add_row(base.name, "cannot be used", base.problem, size)
        else:
            domains = ", ".join(d.name for d in base.manifest.domains) or "raw text"
            table.add_row(base.name, base.manifest.method, domains, size)
    return table
