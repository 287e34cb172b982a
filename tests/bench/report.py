"""Tables in Markdown and charts in SVG."""
import math
import statistics

COLORS = {"ours": "#c0392b", "nsd": "#2980b9", "knot": "#27ae60",
          "bind": "#8e44ad", "yadifa": "#d68910", "pdns": "#16a085",
          "newer": "#1a5276", "echo": "#7f8c8d",
          "echo-size": "#34495e", "octets": "#c0392b", "TCP:": "#2980b9",
          "nothing:": "#27ae60", "nothing": "#8e44ad",
          "ECDSA": "#7f8c8d", "RSA-2048": "#2980b9",
          "Falcon-512": "#27ae60", "ML-DSA-44": "#d68910",
          "SLH-DSA-128s": "#8e44ad"}


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def quantile(values, part):
    """The smallest that so large a part is not above."""
    ordered = sorted(values)
    return ordered[max(0, min(len(ordered), math.ceil(len(ordered) * part))
                       - 1)] if ordered else None


def spread(values):
    """Half of the range over the median, in percent."""
    mid = median(values)
    if not mid or len(values) < 2:
        return 0
    return (max(values) - min(values)) / 2 / mid * 100


def table(head, rows):
    out = ["| " + " | ".join(head) + " |",
           "|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|"]
    for row in rows:
        out.append("| " + " | ".join(str(c) for c in row) + " |")
    return "\n".join(out) + "\n"


def nice_steps(top, count=5):
    if top <= 0:
        return [0, 1]
    raw = top / count
    scale = 10 ** (len(str(int(raw))) - 1) if raw >= 1 else 1
    while scale > raw:
        scale /= 10
    for m in (1, 2, 2.5, 5, 10):
        if m * scale >= raw:
            step = m * scale
            break
    steps, at = [], 0
    while at < top + step * 0.999:
        steps.append(at)
        at += step
    return steps


def decades(values):
    """Powers of ten around values, which are above 0: at least two."""
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    return [10.0 ** power for power in range(first, last + 1)]


def short(value):
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:g}"


def exact(value):
    """A value as a text, without what a product of fractions leaves."""
    return value if isinstance(value, str) else f"{value:.12g}"


def line_chart(path, title, xlabel, ylabel, series, ticks=None, bands=(),
               dashed=(), powers=False):
    """series: {label: [(x, y), ...]}; a label's first word picks its
    colour, a label that ends in " 2", or is in dashed, is dashed. ticks: the
    values of x that there are, drawn equally far from each other, and said to be.
    bands: (from, to), grey. powers: y has a logarithmic axis. Each point has its label
    and figures as a title, which tests/lint/charts reads."""
    right = 60 + max([80] + [7 * len(label) for label in series])
    width, height, left, bottom, top = 580 + right, 420, 70, 50, 40
    points = [p for line in series.values() for p in line]
    if not points:
        return
    shown = series
    if ticks:
        series = {label: [(ticks.index(x), y) for x, y in line]
                  for label, line in series.items()}
        xs = range(len(ticks))
        if len({b - a for a, b in zip(ticks, ticks[1:])}) > 1:
            xlabel += " (not to scale)"
    else:
        xs = nice_steps(max(p[0] for p in points))
    heights = [p[1] for p in points]
    ys = decades(heights) if powers else nice_steps(max(heights))

    def place(x, y):
        part = math.log(y / ys[0]) / math.log(ys[-1] / ys[0]) if powers \
            else y / ys[-1]
        return (left + x / xs[-1] * (width - left - right),
                height - bottom - part * (height - top - bottom))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="22" font-size="15">{title}</text>']
    for first, last in bands:
        (x0, y0), (x1, y1) = place(first, ys[0]), place(last, ys[-1])
        out.append(f'<rect x="{x0:.1f}" y="{y1:.1f}" width="{x1 - x0:.1f}" '
                   f'height="{y0 - y1:.1f}" fill="#eee"/>')
    for y in ys:
        x0, yy = place(0, y)
        x1, _ = place(xs[-1], y)
        out.append(f'<path d="M{x0:.1f} {yy:.1f}H{x1:.1f}" stroke="#ddd"/>'
                   f'<text x="{x0 - 6:.1f}" y="{yy + 4:.1f}" '
                   f'text-anchor="end">{short(y)}</text>')
    for x in xs:
        xx, y0 = place(x, ys[0])
        out.append(f'<text x="{xx:.1f}" y="{y0 + 18:.1f}" '
                   f'text-anchor="middle">'
                   f'{exact(ticks[x]) if ticks else short(x)}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 10}" '
               f'text-anchor="middle">{xlabel}</text>')
    out.append(f'<text transform="translate(16 {height / 2}) rotate(-90)" '
               f'text-anchor="middle">{ylabel}</text>')
    for i, (label, line) in enumerate(series.items()):
        color = COLORS.get(label.split()[0].rstrip(","), "#333")
        dash = ' stroke-dasharray="6 4"' if label.endswith(" 2") \
            or label in dashed else ""
        path_text = "L".join("%.1f %.1f" % place(*p) for p in sorted(line))
        out.append(f'<path d="M{path_text}" fill="none" stroke="{color}" '
                   f'stroke-width="2"{dash}/>')
        for p, (x, y) in zip(line, shown[label]):
            out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s">'
                       "<title>%s: %s, %s</title></circle>"
                       % (*place(*p), color, label, x, f"{y:.6g}"))
        y = top + 10 + 18 * i
        x = width - right + 12
        out.append(f'<path d="M{x} {y}h22" stroke="{color}" '
                   f'stroke-width="2"{dash}/>'
                   f'<text x="{x + 28}" y="{y + 4}">{label}</text>')
    out.append("</svg>")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def bar_chart(path, title, unit, values):
    """values: {label: number}"""
    width, row, left = 720, 26, 120
    height = 60 + row * len(values)
    top = max(values.values())
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="20" y="24" font-size="15">{title}</text>']
    for i, (label, value) in enumerate(values.items()):
        y = 42 + row * i
        size = value / top * (width - left - 130)
        color = COLORS.get(label.split()[0], "#333")
        out.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">'
                   f'{label}</text><rect x="{left}" y="{y}" '
                   f'width="{size:.1f}" height="{row - 6}" fill="{color}"/>'
                   f'<text x="{left + size + 6:.1f}" y="{y + 14}">'
                   f'{value:,.0f} {unit}</text>')
    out.append("</svg>")
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")
