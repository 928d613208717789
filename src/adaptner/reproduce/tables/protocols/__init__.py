"""What fills each published table: one file per group of papers with the same corpora."""

from __future__ import annotations

from adaptner.reproduce.tables.protocol import Protocol, find_table
from adaptner.reproduce.tables.protocols import biomedical, jia2019, metaner, pdaln

PROTOCOLS: dict[str, Protocol] = {
    protocol.table: protocol
    for module in (biomedical, metaner, jia2019, pdaln)
    for protocol in module.PROTOCOLS
}


def protocol_of(name: str) -> Protocol:
    """Returns the protocol of a published table in any spelling, such as "hgda/3" or "HGDA Table 3".

    The protocol of a table that we cannot fill has a ``reason`` and nothing to run.
    """
    paper, table = find_table(name)
    table_name = f"{paper.name}/{table.id}"
    if table_name in PROTOCOLS:
        return PROTOCOLS[table_name]
    if all(row.method is None for row in table.rows):
        reason = "facts about corpora, not results of a method"
    else:
        reason = "derived by the paper from its other figures, or shown in a drawing only"
    return Protocol(table_name, reason=reason)
