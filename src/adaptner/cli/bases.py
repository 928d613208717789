"""``adaptner bases``: what there is to adapt from."""

from __future__ import annotations

from adaptner.cli.common import JsonFlag, emit_json, out


def bases(as_json: JsonFlag = False) -> None:
    """List the installed bases: those of the package and those in your own folder.

    A base of your own gets a name by being put (or linked) into the folder that the last line
    names; `--base` takes the name or any folder.

    Example: adaptner bases
    """
    from rich import box
    from rich.table import Table

    from adaptner.models.installed import base_folders, installed_bases

    found = installed_bases()
    if as_json:
        emit_json(
            [
                {
                    "name": base.name,
                    "folder": str(base.folder),
                    "method": base.manifest.method if base.manifest else None,
                    "domains": [d.name for d in base.manifest.domains] if base.manifest else [],
                    "megabytes": round(base.megabytes, 1),
                    "problem": base.problem or None,
                }
                for base in found
            ]
        )
        return
    if found:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for title in ("name", "method", "learnt from", "MB"):
            table.add_column(
                title, no_wrap=title == "name", justify="right" if title == "MB" else "left"
            )
        for base in found:
            known = base.manifest
            learnt = (
                ", ".join(d.name for d in known.domains) or "raw text" if known else base.problem
            )
            method = known.method if known else "cannot be used"
            table.add_row(base.name, method, learnt, f"{base.megabytes:.1f}")
        out.print(table, soft_wrap=False)
    else:
        out.print("no base is installed; `adaptner adapt` makes one from the package's corpora")
    out.print(f"your own: {base_folders()[0]}", soft_wrap=True)
