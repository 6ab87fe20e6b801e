#!/usr/bin/env python3
"""The texts of Assay that people read, as its sources hold them, and their translations.

    scripts/messages.py --check      every text of the covered folders has a translation with the same
                                     placeholders, and every translation is of a text
    scripts/messages.py --missing    the entries to add to conf/lang/zh_CN, empty

docs/dev/messages.md says how a text is written so that it can be translated.
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGE = ROOT / 'conf/lang/zh_CN'
UNTRANSLATED = ROOT / 'conf/lang/untranslated.txt'
# What is complete. The texts of other folders are translated as far as the table has them.
COVERED = ['src/accounts', 'src/agent', 'src/aisbench', 'src/baseline', 'src/catalog', 'src/client',
           'src/cloud', 'src/code', 'src/commands', 'src/compare', 'src/config', 'src/core', 'src/database', 'src/door',
           'src/engine', 'src/entry', 'src/evidence', 'src/explain', 'src/exports', 'src/history', 'src/http',
           'src/importer', 'src/jobs', 'src/judge', 'src/lang', 'src/launch', 'src/live', 'src/oidc',
           'src/pack', 'src/page', 'src/plan', 'src/platform', 'src/probe', 'src/push', 'src/pyliteral', 'src/rendezvous',
           'src/report', 'src/rest', 'src/serve', 'src/site', 'src/slurm', 'src/store', 'src/telemetry',
           'src/tester', 'src/transfer', 'src/workload']

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"(?P<delimiter>[^(\s]*)\((?P<raw>.*?)\)(?P=delimiter)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|'(?P<character>(?:[^'\\\n]|\\.)*)'"
    r'|\#[ \t]*include[^\n]*'
    r'|\n|[ \t]+|::|->|\+\+|[-+*/|&=!<>]=|&&|\|\||<<|>>|\w+|.', re.S)
BRACKETS = {'(': ')', '{': '}', '[': ']'}
SEPARATORS = {',', ';', '?', ':', '=', 'return', '<<', '&&', '||', '==', '!=', '<', '>', '+=', 'case', 'throw'}
ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', '0': '\0', 'x': '\x1b'}
WORDS = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z]|[a-z] [A-Za-z]{2,}|[a-z]{2,} \{|\} [a-z]{2,}")
CODE = re.compile(r'</?[a-z]|::|\\d|\[\^|SELECT |INSERT |UPDATE |DELETE |CREATE |WHERE |PRAGMA |ORDER BY |CASE WHEN|\b(?:TEXT|INTEGER|REAL|DESC|KEY)\b|^AND \(?[a-z_]+ (?:=|<>)|/dev/null|\w:(?:text|int|time|num)\b|^# (?:HELP|TYPE) |charset=|^attachment;|-src \S|[a-z]+\(\)|^/|^--\w+$|\*\(\?')


def unescape(text):
    return re.sub(r'\\(.)', lambda m: ESCAPES.get(m[1], m[1]), text)


def tokens_of(source):
    """[line, kind, text] of a C++ source without blanks and comments; adjacent literals are one."""
    line, out = 1, []
    for token in TOKEN.finditer(source):
        text = token[0]
        if token['text'] is not None or token['raw'] is not None:
            text = unescape(token['text']) if token['text'] is not None else token['raw']
            if out and out[-1][1] == 'literal':
                out[-1][2] += text
            else:
                out.append([line, 'literal', text])
        elif token['character'] is not None:
            out.append([line, 'literal', unescape(token['character'])])
        elif not text.isspace() and not text.startswith(('//', '/*', '#')):
            out.append([line, 'token', text])
        line += token[0].count('\n')
    return out


def literals(source):
    """(line, text) of what a C++ source says: "no " + name + " is here" is "no {} is here"."""
    out = []

    def finish(terms):
        """One expression: terms that '+' joins."""
        shown = []
        for term in terms:
            words = [token[2] for token in term if token[1] == 'token']
            texts = [token for token in term if token[1] == 'literal']
            plain = texts and (not words or words in (['std', '::', 'string', '(', ')'],
                                                      ['std', '::', 'string_view', '(', ')']))
            shown.append(texts[0] if plain and len(texts) == 1 else None)
        known = [text for text in shown if text]
        if known:
            out.append((known[0][0], ''.join(text[2] if text else '{}' for text in shown)))

    def read(tokens, at, closing):
        terms, term = [], []
        while at < len(tokens):
            token = tokens[at]
            if token[1] == 'token' and token[2] in BRACKETS:
                term.append(token)
                at, inner = read(tokens, at + 1, BRACKETS[token[2]])
                term += inner
                continue
            at += 1
            if token[1] == 'token' and token[2] == closing:
                finish(terms + [term])
                # What std::string("…") holds is read with what it is added to.
                return at, ([t for t in term if t[1] == 'literal'] if not terms else []) + [token]
            if token[1] == 'token' and token[2] in SEPARATORS:
                finish(terms + [term])
                terms, term = [], []
            elif token[1] == 'token' and token[2] == '+':
                terms.append(term)
                term = []
            else:
                term.append(token)
        finish(terms + [term])
        return at, []

    read(tokens_of(source), 0, None)
    return out


def counted(source):
    """The plurals that counted() makes: ("{} round", "{} rounds")."""
    for one, many in re.findall(r'\bcounted\([^"]*?"([^"]+)"(?:,\s*"([^"]+)")?\)', source):
        yield '{} ' + one, '{} ' + (many or one + 's')


def normalized(text):
    """A text as the table has it: without what only joins it to others."""
    text = text.strip(' \n\r\t,;:.…→')
    if text.startswith('(') and (text.count('(') > text.count(')') or text.endswith(')')):
        text = text[1:].rstrip(')') if text.count('(') <= 1 else text
    if text.count(')') > text.count('('):
        text = text.rstrip(')')
    if text.count('(') > text.count(')') and text.endswith('('):
        text = text.rstrip('( ')
    return text.strip(' \n\t,;:.')


def texts_of(literal):
    """The texts that a literal shows: of each line, what stands after its first column."""
    for line in literal.split('\n'):
        line = re.sub(r'\x1b\[?[\d;{}]*m?', '', line)
        if '<' in line and re.search(r'</?[a-z]', line):
            for part in re.split(r'<[^>]*>?|^[^<]*>', line):
                yield normalized(part)
            continue
        columns = re.split(r'(?<=\S) {2,}(?=\S)', line.strip())
        if line.strip().startswith('assay ') and len(columns) == 1:
            continue
        yield normalized(columns[-1] if len(columns) == 2 else line)


def is_text(text):
    # "cpu_util * 2" is a formula, "STEP_ENDs of a rank" is not.
    first = text.split(' ')[0]
    return bool(WORDS.search(text)) and not CODE.search(text) and ('_' not in first or first[:2].isupper())


def asset_texts(source):
    source = re.sub(r'<(style|script)\b.*?</\1>', '', source, flags=re.S)
    source = re.sub(r'\{\{\{.*?\}\}\}|\{\{[#/\\].*?\}\}', '', source)
    source = re.sub(r'\{\{.*?\}\}', '{}', source)
    shown = re.findall(r'(?:title|aria-label|placeholder|alt)="([^"]*)"', source)
    for part in re.split(r'<[^>]*>', source) + shown:
        yield normalized(' '.join(part.split()))


def rule_texts():
    import yaml
    for file in sorted((ROOT / 'conf/rules').glob('*.yaml')):
        for rule in yaml.safe_load(file.read_text())['rules']:
            for key in ('reason', 'advice', 'absent'):
                if key in rule and rule[key] != '{detail}':
                    yield file, rule[key]


def collect():
    """{text: (file, line, plural)} of the covered folders."""
    found = {}
    for file, text in rule_texts():
        found.setdefault(text, (file.relative_to(ROOT), 0, ''))
    for folder in COVERED:
        for file in sorted((ROOT / folder).rglob('*')):
            name = file.relative_to(ROOT)
            if file.suffix == '.html':
                for text in asset_texts(file.read_text()):
                    if WORDS.search(text):
                        found.setdefault(text, (name, 0, ''))
            if file.suffix not in ('.cpp', '.h'):
                continue
            source = file.read_text()
            for one, many in counted(source):
                found.setdefault(one, (name, 0, many))
            for line, literal in literals(source):
                for text in texts_of(literal):
                    if is_text(text):
                        found.setdefault(text, (name, line, ''))
    return found


def read_po(file):
    """{msgid: (line, plural, translation)}."""
    entries, now, field = {}, {}, None
    for number, line in enumerate(file.read_text().split('\n') + ['msgid ""'], 1):
        line = line.strip()
        keyword = re.match(r'(msgid_plural|msgid|msgstr(?:\[0\])?) "', line)
        if keyword:
            field = keyword[1]
            if field == 'msgid':
                if now.get('msgid'):
                    entries[now['msgid']] = (now['line'], now.get('msgid_plural', ''), now.get('msgstr', ''))
                now = {'line': number}
            field = 'msgstr' if field.startswith('msgstr') else field
            now[field] = ''
            line = line[len(keyword[0]) - 1:]
        if line.startswith('"') and line.endswith('"') and len(line) > 1:
            now[field] += unescape(line[1:-1])
        elif line and not line.startswith('#'):
            raise SystemExit(f'{file.relative_to(ROOT)}:{number}: not a line of a .po file: {line}')
    return entries


def table():
    out = {}
    for file in sorted(LANGUAGE.glob('*.po')):
        for text, (line, plural, translation) in read_po(file).items():
            if text in out:
                raise SystemExit(f'{file.relative_to(ROOT)}:{line}: "{text}" is also in {out[text][0]}')
            out[text] = (f'{file.relative_to(ROOT)}:{line}', plural, translation)
    return out


def placeholders(text):
    names, next_one = set(), 0
    for name in re.findall(r'(?<!\{)\{([a-z0-9_]*)(?::[^{}]*(?:\{\})?[^{}]*)?\}', text):
        names.add(name or str(next_one))
        next_one += 0 if name else 1
    return names


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') + '"'


def entry(text, plural, translation=''):
    if plural:
        return f'msgid {quoted(text)}\nmsgid_plural {quoted(plural)}\nmsgstr[0] {quoted(translation)}\n'
    return f'msgid {quoted(text)}\nmsgstr {quoted(translation)}\n'


def untranslated():
    return set(UNTRANSLATED.read_text().split('\n')) if UNTRANSLATED.exists() else set()


def missing(found, known):
    kept = untranslated()
    return {text: place for text, place in found.items() if text not in known and text not in kept}


def everything():
    """All texts of the sources, to look for what a translation is of."""
    out = []
    for folder in ('src', 'apps', 'train', 'conf', 'web'):
        for file in sorted((ROOT / folder).rglob('*')):
            if file.suffix in ('.cpp', '.h'):
                out += [text for _, text in literals(file.read_text())]
            elif file.suffix == '.html':
                out += asset_texts(file.read_text())
            elif file.suffix == '.yaml':
                out.append(' '.join(file.read_text().split()))
    return '\n'.join(out)


def check():
    found, known, faults = collect(), table(), []
    for text, (file, line, plural) in missing(found, known).items():
        place = f'{file}:{line}' if line else str(file)
        faults.append(f'{place}: no translation; add to a file of conf/lang/zh_CN:\n{entry(text, plural, "…")}'
                      f'or, if nobody reads it, this line to {UNTRANSLATED.relative_to(ROOT)}:\n{text}\n')
    used = set(found)
    source = None
    for text, (place, plural, translation) in known.items():
        if not translation:
            faults.append(f'{place}: "{text}" has no translation')
        elif placeholders(text) != placeholders(translation):
            faults.append(f'{place}: the placeholders of "{text}" and "{translation}" differ')
        # What a library says, and what is put together in several places, is in none of our sources.
        if text in used or plural or 'parser.po' in place or 'composed.po' in place:
            continue
        source = source if source is not None else everything()
        if text not in source:
            faults.append(f'{place}: nothing says "{text}"; take the entry out')
    for fault in faults:
        print(fault)
    print(f'{len(known)} messages, {len(faults)} faults')
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--missing', action='store_true')
    options = parser.parse_args()
    if options.missing:
        for text, (file, line, plural) in missing(collect(), table()).items():
            print(f'#: {file}:{line}\n{entry(text, plural)}')
        return 0
    return check()


if __name__ == '__main__':
    sys.exit(main())
