"""An animated SVG of a terminal, from what script(1) has recorded (-O OUTPUT -T TIMING). It needs no script and loads
nothing: frames are groups that CSS shows one after the other.

usage: terminal_svg.py OUTPUT TIMING SVG
"""
import html
import sys

import pyte

COLUMNS, ROWS = 100, 30
CELL, LINE = 8.4, 18  # pixels
LONGEST = 1.0  # seconds that a frame is shown where nothing happens
LAST = 6.0  # seconds that the end is shown
COLORS = {"default": "#d8dee9", "black": "#4c566a", "red": "#ff6b6b", "green": "#8fd694", "brown": "#ffd166", "yellow": "#ffd166",
          "blue": "#82aaff", "magenta": "#c792ea", "cyan": "#89ddff", "white": "#eceff4"}


def recorded(output, timing):
    """Pieces of output with the seconds before each."""
    with open(output, "rb") as bytes_, open(timing, encoding="utf-8") as lines:
        for line in lines:
            seconds, size = line.split()[-2:]
            yield float(seconds), bytes_.read(int(size))


def frames(pieces):
    """What the screen shows, and for how long; changes within a tenth of a second are one."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    screen.set_mode(pyte.modes.LNM)
    waited, shown = 0.0, None
    for seconds, piece in pieces:
        waited += min(seconds, LONGEST)
        if shown is not None and waited >= 0.1:
            yield shown, waited
            waited, shown = 0.0, None
        stream.feed(piece)
        shown = picture(screen)
    if shown is not None:
        yield shown, LAST


def picture(screen):
    """Lines of (text, color, bold)."""
    lines = []
    for row in range(ROWS):
        runs = []
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            style = (COLORS.get(cell.fg, f"#{cell.fg}" if len(cell.fg) == 6 else COLORS["default"]), cell.bold)
            if runs and runs[-1][1:] == style:
                runs[-1] = (runs[-1][0] + cell.data, *style)
            else:
                runs.append((cell.data, *style))
        lines.append(tuple(runs))
    return tuple(lines)


def line_svg(runs, row):
    spans, column = [], 0
    for text, color, bold in runs:
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            first = column + len(text) - len(text.lstrip())
            spans.append(f'<tspan x="{12 + first * CELL:.1f}" fill="{color}"{weight}>{html.escape(text.strip())}</tspan>')
        column += len(text)
    return f'<text y="{48 + row * LINE}">{"".join(spans)}</text>' if spans else ""


def main(output, timing, svg):
    shown = []
    for screen, seconds in frames(recorded(output, timing)):
        if shown and shown[-1][0] == screen:
            shown[-1] = (screen, shown[-1][1] + seconds)
        else:
            shown.append((screen, seconds))
    total = sum(seconds for _, seconds in shown)
    height = 62 + LINE * max(row + 1 for screen, _ in shown for row in range(ROWS) if any(t.strip() for t, *_ in screen[row]))
    width = 24 + COLUMNS * CELL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, Menlo, Consolas, '
           f'DejaVu Sans Mono, monospace" font-size="14" xml:space="preserve">',
           f'<rect width="100%" height="100%" rx="8" fill="#1b2028"/>'
           '<circle cx="18" cy="16" r="5" fill="#ff5f57"/><circle cx="36" cy="16" r="5" fill="#febc2e"/>'
           '<circle cx="54" cy="16" r="5" fill="#28c840"/>']
    style = ["g{visibility:hidden}"]
    at = 0.0
    for number, (screen, seconds) in enumerate(shown):
        begin, end = 100 * at / total, 100 * (at + seconds) / total
        at += seconds
        style.append(f"#f{number}{{animation:k{number} {total:.1f}s step-end infinite}}@keyframes k{number}{{0%{{visibility:hidden}}"
                     f"{begin:.3f}%{{visibility:visible}}{min(end, 99.999):.3f}%{{visibility:hidden}}}}")
        out.append(f'<g id="f{number}">' + "".join(line_svg(runs, row) for row, runs in enumerate(screen)) + "</g>")
    # Where animations are not wanted, the end.
    style.append(f"@media (prefers-reduced-motion){{g{{animation:none!important}}#f{len(shown) - 1}{{visibility:visible}}}}")
    out.insert(1, f"<style>{''.join(style)}</style>")
    out.append("</svg>\n")
    with open(svg, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
