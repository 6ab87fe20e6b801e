#!/usr/bin/env python3
"""code-server beside a job that runs, in a real browser through the door: vscode_story.py LINK JOB [SCREENSHOTS]
In the job's folder lies the file `train.py`."""
import sys

from browser import Browser


def main(link, job, shots=None):
    with Browser(limit=120) as browser:
        browser.open(link)
        browser.wait('dialog h3', 'admin')
        browser.type('dialog input[name=password]', 'correct horse battery staple')
        browser.click('dialog button', 'Save')
        browser.wait('h1', 'Jobs')
        browser.js(f"location.hash = '#/jobs/{job}/endpoints'")
        browser.wait('td', 'VS Code')
        browser.open_site('VS Code', f'job{job}-vscode.localhost')
        # The workbench, its scripts and styles come over HTTP; the files over its WebSocket.
        browser.wait('.monaco-workbench')
        browser.until(lambda: browser.js("""(() => {
            const trust = [...document.querySelectorAll('.monaco-dialog-box .monaco-button')].find(b => b.textContent.includes('Yes, I trust'));
            if (trust) trust.click();
            return [...document.querySelectorAll('.explorer-folders-view .monaco-list-row')].some(r => r.textContent.includes('train.py'));
        })()"""), lambda: f'the file of the job in {browser.text()[:600]!r}')
        assert 'ticket' not in browser.js('location.href'), 'the ticket stays in the address'
        # A file is opened: its content comes over the WebSocket, too.
        row = browser.js("""(() => {
            const box = [...document.querySelectorAll('.explorer-folders-view .monaco-list-row')].find(r => r.textContent.includes('train.py')).getBoundingClientRect();
            return [box.x + 60, box.y + box.height / 2];
        })()""")
        for kind, count in (('mousePressed', 1), ('mouseReleased', 1), ('mousePressed', 2), ('mouseReleased', 2)):
            browser.send('Input.dispatchMouseEvent', type=kind, x=row[0], y=row[1], button='left', clickCount=count)
        browser.wait('.editor-instance .view-lines', 'epochs')
        if shots:
            browser.shot(f'{shots}/vscode.png')


main(*sys.argv[1:])
