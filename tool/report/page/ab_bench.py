"""Section of an ab-bench document: paired ratios, times of each arm, every row."""
from __future__ import annotations

from html import escape
from typing import Any

from documents import Document, Row, number, text
from parts import Section, component, folded, heading, paragraph, plain_table, section_for, table_data

VERDICTS = ["SLOWER", "FASTER", "SAME", "INCONCLUSIVE"]
SAME_WITHIN = 0.01  # SAME needs the whole interval within this

COLUMNS = [
    ("op", "op", "code"),
    ("case", "case", "text"),
    ("call", "call", "number"),
    ("arm", "arm", "text"),
    ("against", "against", "text"),
    ("verdict", "verdict", "verdict"),
    ("ratio", "ratio", "ratio"),
    ("ratio_ci_low", "ratio low", "ratio"),
    ("ratio_ci_high", "ratio high", "ratio"),
    ("ns_median", "median", "ns"),
    ("ns_ci_low", "median low", "ns"),
    ("ns_ci_high", "median high", "ns"),
    ("device_ns_median", "device median", "ns"),
    ("device_ratio", "device ratio", "ratio"),
    ("p_adjusted", "adjusted p", "number"),
    ("blocks", "blocks", "number"),
    ("note", "note", "text"),
]
# Objects of the summary that say what has no times: (field, title).
LEFT_OUT = [
    ("not_measured", "Not measured"),
    ("unknown", "Operators without known arguments"),
    ("left_out_of_step", "Left out of the step"),
]


def ab_bench_sections(documents: list[Document]) -> list[Section]:
    return section_for("Speed", documents, _part)


def _part(document: Document) -> tuple[str, dict[str, Any]]:
    rows = [row for row in document.results if row.get("arm") != "aa"]
    floor, floor_words = _noise_floor(document)
    key = document.key
    comparisons = _comparisons(rows)
    times = _times(rows)
    data: dict[str, Any] = {f"{key}-rows": table_data(_columns(document.results), document.results)}
    html = heading(3, document.title) + _verdict_counts(rows) + paragraph(floor_words)
    html += heading(4, "Paired ratios")
    if comparisons:
        html += paragraph(
            "Time of an arm relative to another one, with its 95% interval; left of 1 is faster. The grey band is "
            "±1%, within which an interval is SAME; dotted lines are the noise floor."
        )
        data[f"{key}-forest"] = {"comparisons": comparisons, "floor": floor, "same": SAME_WITHIN}
        html += component("forest", f"{key}-forest", f"Forest plot of paired ratios, {document.title}")
    else:
        html += paragraph("No row has a ratio.", "absent")
    html += heading(4, "Distribution of times")
    if times:
        html += paragraph("Host time of a call. All cases together, one value a case, then one case by itself.")
        data[f"{key}-times"] = times
        html += component("times", f"{key}-times", f"Times of each arm, {document.title}")
    else:
        html += paragraph("No row has a time.", "absent")
    html += heading(4, "All rows") + component("table", f"{key}-rows", f"All rows, {document.title}")
    return html + _left_out(document, data), data


def _columns(rows: list[Row]) -> list[tuple[str, str, str]]:
    """Those that some row has a value for; op and verdict always."""
    return [c for c in COLUMNS if c[0] in ("op", "verdict") or any(row.get(c[0]) is not None for row in rows)]


def _noise_floor(document: Document) -> tuple[float | None, str]:
    floor = number(document.summary, "noise_floor")
    if floor is not None:
        return floor, f"Noise floor {floor:.1%}, from the A/A control; nothing below it is claimed."
    control = [number(row, "ratio") for row in document.results if row.get("arm") == "aa"]
    distances = [abs(ratio - 1) for ratio in control if ratio is not None]
    if distances:
        return max(distances), f"Noise floor {max(distances):.1%}: the largest ratio of the {len(distances)} A/A rows."
    return None, "The noise floor was not recorded."


def _verdict_counts(rows: list[Row]) -> str:
    """Verdicts of each pair of arms; counted here, so that documents of any version show the same."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.get("arm") and row.get("verdict"):
            of_pair = counts.setdefault(_comparison(row), dict.fromkeys(VERDICTS, 0))
            verdict = text(row["verdict"])
            of_pair[verdict] = of_pair.get(verdict, 0) + 1
    names = list(dict.fromkeys(name for of_pair in counts.values() for name in of_pair))
    table = [[escape(pair), *[str(of_pair.get(name, 0)) for name in names]] for pair, of_pair in counts.items()]
    return plain_table("Verdicts", ["arms", *names], table) if table else ""


def _left_out(document: Document, data: dict[str, Any]) -> str:
    html = ""
    for field, title in LEFT_OUT:
        found = document.summary.get(field)
        if isinstance(found, dict) and found:
            key = f"{document.key}-{field}"
            rows = [{"name": name, "why": why} for name, why in found.items()]
            data[key] = table_data([("name", "op", "code"), ("why", "why", "text")], rows)
            html += folded(f"{title} ({len(rows)})", component("table", key, f"{title}, {document.title}"))
    return html


def _comparison(row: Row) -> str:
    return f"{text(row.get('arm')) or '?'} against {text(row.get('against')) or 'its counterpart'}"


def _comparisons(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows [label, ratio, low, high, verdict] of each pair of arms, sorted by ratio."""
    pairs: dict[str, list[list[Any]]] = {}
    for row in rows:
        ratio = number(row, "ratio")
        if ratio is None or ratio <= 0:
            continue
        low, high = number(row, "ratio_ci_low"), number(row, "ratio_ci_high")
        pairs.setdefault(_comparison(row), []).append([_label(row), ratio, low, high, text(row.get("verdict"))])
    return [{"name": name, "rows": sorted(found, key=lambda row: row[1])} for name, found in pairs.items()]


def _times(rows: list[Row]) -> list[list[Any]]:
    """[label, arm, median, low, high, samples or None], each op, case and arm once: an arm has a row a counterpart."""
    times: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        median = number(row, "ns_median")
        if median is None or median <= 0:
            continue
        listed = row.get("samples") if isinstance(row.get("samples"), list) else []
        samples = [value for value in listed if isinstance(value, (int, float)) and value > 0] or None
        arm = text(row.get("arm")) or "?"
        found = [_label(row), arm, median, number(row, "ns_ci_low"), number(row, "ns_ci_high"), samples]
        kept = times.setdefault((found[0], arm), found)
        kept[5] = kept[5] or samples
    return list(times.values())


def _label(row: Row) -> str:
    case, call = text(row.get("case")), row.get("call")
    return text(row.get("op")) + (f" #{call}" if call else "") + (f" ({case})" if case else "")
