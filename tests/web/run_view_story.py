#!/usr/bin/env python3
"""The pages of `assay run --web` in a real browser: run_view_story.py ASSAY FOLDER [SCREENSHOTS]"""
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from browser import Browser

# A rank that trains for as long as somebody watches: it ends when the file `enough` is there.
RANK = r'''
printf '\033[31mred\033[0m and <b id=markup>markup</b>\n'
i=0
while [ ! -e enough ] && [ $i -lt 3000 ]; do
  i=$((i+1))
  printf '[PerfLog] {"event": "STEP_END", "value": {"loss": %s, "samples": 32, "data_s": 0.01, "compute_s": 0.06}, "step": %s, "metadata": {"time_ms": %s}}\n' "0.$((900 - i % 800))" $i $(date +%s%3N)
  [ $i = 5 ] && echo "RuntimeError: made up for the test"
  [ $i = 7 ] && echo "a needle in the hay"
  echo "step $i of rank $RANK"
  sleep 0.05
done
'''


def main(assay, folder, shots=None):
    folder = Path(folder)
    (folder / 'rank.sh').write_text(RANK)
    (folder / 'suite.yaml').write_text(f'name: watched\ncases:\n  - name: probe\n    procs: 2\n    command: [/bin/sh, {folder}/rank.sh]\n    workdir: {folder}\n    rules: {{equal-steps: off}}\n')
    run = subprocess.Popen([assay, 'run', 'suite.yaml', '--web', '--out', 'results'], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = None
        for line in run.stdout:
            if found := re.search(r'http://127\.0\.0\.1:\d+/[0-9a-f]{32}/', line):
                address = found[0]
                break
        assert address, 'no address was printed'
        watch(address, shots)
    finally:
        (folder / 'enough').touch()
        rest = run.stdout.read()
        run.wait(60)
    assert run.returncode in (0, 5), rest


def watch(address, shots):
    # Who does not know the path sees nothing.
    for wrong in (re.sub(r'[0-9a-f]{32}', '0' * 32, address), address.split('/', 3)[0] + '//' + address.split('/')[2] + '/', address + 'api/nothing', address + 'static/../../../etc/passwd'):
        try:
            urllib.request.urlopen(wrong)
            raise AssertionError(f'{wrong} is there')
        except urllib.error.HTTPError as error:
            assert error.code in (400, 404), error
    with urllib.request.urlopen(address) as page:
        assert "default-src 'self'" in page.headers['Content-Security-Policy']
    for options in ({'width': 1280, 'height': 900}, {'width': 390, 'height': 844, 'phone': True, 'dark': True}):
        with Browser(**options) as browser:
            browser.open(address)
            browser.wait('h1', 'watched')
            browser.wait('figure.chart', 'Loss')
            browser.wait('figure.chart', 'Throughput')
            browser.until(lambda: browser.js('''[...document.querySelectorAll('canvas')].filter(c => c.width &&
                c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)).length >= 2'''), 'a drawn chart')
            browser.wait('.said', 'Live')
            assert browser.fits(), 'the metrics are wider than the window'
            phone = options.get('phone')
            if shots:
                browser.shot(f'{shots}/run-metrics{"-phone" if phone else ""}.png')
            browser.click('.tabs a', 'Console')
            browser.wait('.console .line', 'of rank')
            # It follows: lines come by themselves.
            first = int(browser.js("document.querySelector('.console .line:last-child i').textContent"))
            browser.until(lambda: int(browser.js("document.querySelector('.console .line:last-child i').textContent")) > first, 'a new line')
            browser.click('button', 'First error')
            browser.wait('.line.error.marked', 'RuntimeError: made up')
            browser.type('input[type=search]', 'NEEDLE')
            browser.key('Enter')
            browser.wait('.line.marked', 'a needle in the hay')
            browser.js("document.querySelector('.console').scrollTop = 0")
            browser.wait('.line', 'red and <b id=markup>markup</b>')
            assert not browser.js("document.getElementById('markup')"), 'text of a rank became markup'
            browser.js("(s => { s.value = '1'; s.dispatchEvent(new Event('change')); })(document.querySelector('.console-view select'))")
            browser.wait('.line', 'of rank 1')
            browser.until(lambda: 'of rank 0' not in browser.text('.console'), 'the lines of one rank')
            assert browser.fits(), 'the console is wider than the window'
            browser.js("(s => { s.value = 'zh'; s.dispatchEvent(new Event('change')); })(document.querySelector('select.tool'))")
            browser.wait('.tabs a', '控制台')
            if shots and not phone:
                browser.shot(f'{shots}/run-console-zh.png')
            assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(*sys.argv[1:])
    print('all seen')
