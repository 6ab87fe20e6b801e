"""An animated SVG of a terminal, from what script(1) has recorded (-O OUTPUT -T TIMING). It needs no script and loads
nothing: frames are groups that CSS shows one after the other. Where nothing is animated, the end is seen.

usage: terminal_svg.py OUTPUT TIMING SVG [FOLDER]
  FOLDER   left out of the paths that are shown below it
"""
import html
import sys

import pyte

COLUMNS = 100
ROWS = range(20, 49)  # fewest and most of them; as many as the summary at the end needs
CELL, LINE = 8.4, 18  # pixels
LONGEST = 0.35  # seconds that a frame is shown where nothing happens
LAST = 8.0  # seconds that the end is shown
COLORS = {"default": "#d8dee9", "black": "#4c566a", "red": "#ff6b6b", "green": "#8fd694", "brown": "#ffd166", "yellow": "#ffd166",
          "blue": "#82aaff", "magenta": "#c792ea", "cyan": "#89ddff", "white": "#eceff4"}


def recorded(output, timing):
    """Pieces of output with the seconds before each."""
    with open(output, "rb") as bytes_, open(timing, encoding="utf-8") as lines:
        if not bytes_.readline().startswith(b"Script started"):  # a line of script's own, which is not timed
            bytes_.seek(0)
        for line in lines:
            seconds, size = line.split()[-2:]
            yield float(seconds), bytes_.read(int(size))


def terminal(rows):
    screen = pyte.Screen(COLUMNS, rows)
    screen.set_mode(pyte.modes.LNM)
    return screen, pyte.ByteStream(screen)


def rows_needed(pieces):
    """Rows of a terminal on which the whole summary is seen at the end, from the heading of its table on."""
    screen, stream = terminal(300)
    for _, piece in pieces:
        stream.feed(piece)
    text = [line.rstrip() for line in screen.display]
    while text and not text[-1]:
        text.pop()
    heading = max((row for row, line in enumerate(text) if line.startswith("CASE ")), default=0)
    return min(max(len(text) - heading + 2, ROWS[0]), ROWS[-1])


def frames(pieces, rows):
    """What the screen shows, and for how long; changes within a tenth of a second are one."""
    screen, stream = terminal(rows)
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
    for row in range(screen.lines):
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


def line_svg(runs, folder):
    """The inside of a line's <text>; empty for an empty line."""
    spans, column = [], 0
    for text, color, bold in runs:
        if folder:
            text = text.replace(folder, "")
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            first = column + len(text) - len(text.lstrip())
            spans.append(f'<tspan x="{12 + first * CELL:.1f}" fill="{color}"{weight}>{html.escape(text.strip())}</tspan>')
        column += len(text)
    return "".join(spans)


def main(output, timing, svg, folder=""):
    shown = []
    pieces = list(recorded(output, timing))
    folder = folder.rstrip("/") + "/" if folder else ""
    for screen, seconds in frames(pieces, rows_needed(pieces)):
        if shown and shown[-1][0] == screen:
            shown[-1] = (screen, shown[-1][1] + seconds)
        else:
            shown.append((screen, seconds))
    total = sum(seconds for _, seconds in shown)
    height = 62 + LINE * max(row + 1 for screen, _ in shown for row in range(len(screen)) if any(t.strip() for t, *_ in screen[row]))
    width = 24 + COLUMNS * CELL
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, Menlo, Consolas, '
           f'DejaVu Sans Mono, monospace" font-size="14" xml:space="preserve">',
           f'<rect width="100%" height="100%" rx="8" fill="#1b2028"/>'
           '<circle cx="18" cy="16" r="5" fill="#ff5f57"/><circle cx="36" cy="16" r="5" fill="#febc2e"/>'
           '<circle cx="54" cy="16" r="5" fill="#28c840"/>']
    # Without animations, because nobody wants them or nobody knows them: the end.
    style = [f"text{{white-space:pre}}g{{visibility:hidden}}#f{len(shown) - 1}{{visibility:visible}}@media (prefers-reduced-motion:no-preference){{"]
    lines = {}  # each line of text is in the file once, whatever row of which frames it is in
    at = 0.0
    for number, (screen, seconds) in enumerate(shown):
        begin, end = 100 * at / total, 100 * (at + seconds) / total
        at += seconds
        hide = f"{end:.2f}%{{visibility:hidden}}" if number + 1 < len(shown) else ""
        style.append(f"#f{number}{{animation:k{number} {total:.1f}s step-end infinite}}@keyframes k{number}{{0%{{visibility:hidden}}"
                     f"{begin:.2f}%{{visibility:visible}}{hide}}}")
        uses = []
        for row, runs in enumerate(screen):
            line = line_svg(runs, folder)
            if line:
                uses.append(f'<use href="#l{lines.setdefault(line, len(lines))}" y="{48 + row * LINE}"/>')
        out.append(f'<g id="f{number}">{"".join(uses)}</g>')
    style.append("}")
    definitions = "".join(f'<text id="l{number}">{line}</text>' for line, number in lines.items())
    out.insert(1, f"<style>{''.join(style)}</style><defs>{definitions}</defs>")
    out.append("</svg>\n")
    with open(svg, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
