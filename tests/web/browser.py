"""Drives Debian's Chromium over its DevTools pipe: needs nothing but Python."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Refused(RuntimeError):
    """The browser cannot do it: what was asked about has gone, for example."""


class Browser:
    """One page. Everything that waits has a limit; what the page's scripts complain about is in `errors`."""

    def __init__(self, width=1280, height=900, phone=False, dark=False, limit=60):
        self.limit = limit
        self.errors = []
        self.profile = tempfile.mkdtemp(prefix='assay-browser-')
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # Chromium reads from 3 and writes to 4.
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(
            ['bash', '-c', script, '_', 'chromium', '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--hide-scrollbars', '--no-first-run', '--disable-extensions', '--disable-background-networking', '--lang=en-US', f'--user-data-dir={self.profile}', 'about:blank'],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b''
        self.next_id = 0
        self.session = None
        target = self.until(lambda: next((t for t in self.send('Target.getTargets')['targetInfos'] if t['type'] == 'page'), None))
        self.session = self.send('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        self.send('Page.enable')
        self.send('Runtime.enable')
        self.send('Log.enable')
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.send('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, method, **params):
        self.next_id += 1
        message = {'id': self.next_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b'\0')
        end = time.monotonic() + self.limit
        while True:
            while b'\0' not in self.buffer:
                ready, _, _ = select.select([self.read_end], [], [], max(end - time.monotonic(), 0))
                piece = os.read(self.read_end, 1 << 20) if ready else b''
                if not piece:
                    raise TimeoutError(f'no answer to {method}')
                self.buffer += piece
            raw, self.buffer = self.buffer.split(b'\0', 1)
            answer = json.loads(raw)
            if answer.get('id') == self.next_id:
                if 'error' in answer:
                    raise Refused(f"{method}: {answer['error']['message']}")
                return answer['result']
            self.notice(answer)

    def notice(self, event):
        if event.get('method') == 'Runtime.exceptionThrown':
            details = event['params']['exceptionDetails']
            self.errors.append(details.get('exception', {}).get('description') or details['text'])
        if event.get('method') == 'Log.entryAdded' and event['params']['entry']['source'] == 'security':
            self.errors.append(event['params']['entry']['text'])

    def js(self, expression):
        result = self.send('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(result['exceptionDetails'].get('exception', {}).get('description', 'failed') + '\n' + expression)
        return result['result'].get('value')

    def until(self, condition, what='it'):
        end = time.monotonic() + self.limit
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(f'{what() if callable(what) else what} did not come')
            time.sleep(0.1)

    def open(self, url):
        self.send('Page.navigate', url=url)
        self.until(lambda: self.js('document.readyState') == 'complete', url)

    def wait(self, selector, text=None):
        """Until there is such an element, and it holds the text."""
        query = f'[...document.querySelectorAll({json.dumps(selector)})].some(e => !e.closest("[hidden]") && e.textContent.includes({json.dumps(text or "")}))'
        self.until(lambda: self.js(query), lambda: f'{selector} {text or ""} in {self.js("location.href")}: {self.text()[:800]!r}; it')

    def click(self, selector, text=None):
        self.wait(selector, text)
        self.js(f'[...document.querySelectorAll({json.dumps(selector)})].find(e => !e.closest("[hidden]") && e.textContent.includes({json.dumps(text or "")})).click()')

    def type(self, selector, text):
        """Types into a field as a person would: it has the focus, and its events come."""
        self.wait(selector)
        self.js(f'(e => {{ e.focus(); e.select && e.select(); }})(document.querySelector({json.dumps(selector)}))')
        self.send('Input.insertText', text=text)

    def key(self, name, code=None):
        for kind in ('keyDown', 'keyUp'):
            self.send('Input.dispatchKeyEvent', type=kind, key=name, code=code or name, windowsVirtualKeyCode=13 if name == 'Enter' else 0, text='\r' if name == 'Enter' and kind == 'keyDown' else '')

    def text(self, selector='body'):
        return self.js(f'(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ""')

    def shot(self, path, full=False):
        data = self.send('Page.captureScreenshot', format='png', captureBeyondViewport=full)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def fits(self):
        """Whether nothing is wider than the window."""
        return self.js('document.documentElement.scrollWidth <= window.innerWidth + 1')

    def open_site(self, row, host):
        """Clicks the button in a row of a table, as a person does (a browser opens a page for nobody else), and goes on in the page that opens
        at a host with this name. Gives the session of the page before."""
        before = self.session
        known = {t['targetId'] for t in self.send('Target.getTargets')['targetInfos']}
        self.send('Runtime.evaluate', userGesture=True, expression=f"[...document.querySelectorAll('tr')].find(r => r.textContent.includes({json.dumps(row)})).querySelector('button').click()")
        site = self.until(lambda: next((t for t in self.send('Target.getTargets')['targetInfos'] if t['targetId'] not in known and host in t['url']), None), f'the site {host}')
        self.session = None
        self.session = self.send('Target.attachToTarget', targetId=site['targetId'], flatten=True)['sessionId']
        self.until(lambda: self.js('document.readyState') == 'complete' and self.js('Boolean(document.body)'), f'the page of {host}')
        return before
