#!/usr/bin/env python3
"""Makes the pictures of the platform's pages, docs/images/platform, from a real server with real jobs:
   scripts/screenshots.py [BUILD-FOLDER] [TO]
Needs chromium, pngquant and a font with Chinese characters (fonts-wqy-microhei). Takes about three minutes.
Every page is there in both languages, each on a desk and on a phone: NAME.png, NAME-zh.png, NAME-phone.png, NAME-zh-phone.png; some also dark."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/web'))
from browser import Browser  # noqa: E402

PASSWORD = 'correct horse battery staple'
LIMIT = 180

# What a training prints: steps with a loss that falls, an evaluation now and then, a checkpoint.
TRAIN = r'''
import json, math, os, sys, time
steps, seconds, fail = int(sys.argv[1]), float(sys.argv[2]), len(sys.argv) > 3
rank = int(os.environ['RANK'])
def event(name, value, step):
    print('[PerfLog] ' + json.dumps({'event': name, 'value': value, 'step': step, 'metadata': {'time_ms': int(time.time() * 1000)}}), flush=True)
os.makedirs('checkpoints', exist_ok=True)
print(f'rank {rank} of {os.environ["WORLD_SIZE"]} on {os.uname().nodename}', flush=True)
for step in range(1, steps + 1):
    end = time.time() + seconds
    while time.time() < end - seconds / 4:
        math.factorial(300)
    time.sleep(seconds / 4)
    loss = 2.3 * math.exp(-step / 80) + 0.25 + 0.04 * math.sin(step / 3 + rank)
    event('STEP_END', {'loss': round(loss, 4), 'lr': 0.1 * (1 - step / steps), 'samples': 64, 'data_s': seconds / 8, 'compute_s': seconds * 0.7}, step)
    if step % 20 == 0:
        print(f'step {step}: loss {loss:.4f}', flush=True)
        if rank == 0:
            event('EVALUATE', {'accuracy': round(1 - loss / 3, 4)}, step)
            open(f'checkpoints/{step}.pt', 'w').close()
    if fail and step == 30:
        print('RuntimeError: the loss is not finite (nan) in step 30', flush=True)
        sys.exit(1)
'''


def free_port():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, programs, folder):
        self.folder = folder
        self.assay_path = str(programs / 'assay')
        home = folder / 'home'
        home.mkdir()
        self.env = {**os.environ, 'HOME': str(home)}
        for name in ('XDG_CONFIG_HOME', 'ASSAY_SERVER', 'ASSAY_TOKEN'):
            self.env.pop(name, None)
        (folder / 'train.py').write_text(TRAIN)
        self.port = free_port()
        log = open(folder / 'server.log', 'w')
        self.process = subprocess.Popen([self.assay_path, 'serve', '--listen', f'127.0.0.1:{self.port}'], cwd=folder, env=self.env, stdout=log, stderr=log)
        self.wait_for(lambda: subprocess.run([self.assay_path, 'nodes'], cwd=folder, env=self.env, capture_output=True).returncode == 0, 'the server')

    def assay(self, *words):
        done = subprocess.run([self.assay_path, *words], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            raise RuntimeError(f'assay {" ".join(words)}: {done.stderr}{done.stdout}')
        return done.stdout

    def submit(self, name, command, *more):
        answer = json.loads(self.assay('submit', '--name', name, '--command', command, '--format', 'json', *more))
        return answer['jobs'][0]['id']

    def push(self, job, name):
        """Sends the run of a job to the server's own tester, as if it came from elsewhere."""
        token = self.folder / 'pusher.token'
        token.write_text(self.assay('serve', 'token', 'add', 'lab'))
        token.chmod(0o600)
        run = next((self.folder / f'tester/jobs/{job}').glob('attempt-1/run/run*'))
        # 6: accepted, and INVALID on a machine that is not quiet.
        words = [self.assay_path, 'push', str(run), '--to', f'http://127.0.0.1:{self.port}', '--token-file', str(token), '--name', name]
        done = subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode not in (0, 6):
            raise RuntimeError(f'assay push: {done.returncode} {done.stderr}{done.stdout}')

    def state(self, job):
        return json.loads(self.assay('job', str(job), '--format', 'json'))['state']

    def wait_for(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f'{what} did not come\n' + (self.folder / 'server.log').read_text()[-2000:])
            time.sleep(0.3)

    def ended(self, *jobs):
        self.wait_for(lambda: all(self.state(job) in ('finished', 'failed', 'error', 'killed') for job in jobs), f'the end of {jobs}')

    def close(self):
        for job in json.loads(self.assay('jobs', '--format', 'json'))['jobs']:
            subprocess.run([self.assay_path, 'cancel', str(job['id'])], cwd=self.folder, env=self.env, capture_output=True)
        end = time.monotonic() + 60
        while json.loads(self.assay('jobs', '--format', 'json'))['jobs'] and time.monotonic() < end:
            time.sleep(0.5)
        self.process.terminate()
        self.process.wait(30)


def sign_in(browser, address):
    browser.open(address + '#/sign-in')
    browser.type('input[name=name]', 'admin')
    browser.type('input[name=password]', PASSWORD)
    browser.click('form button[type=submit], form button', '')
    browser.wait('nav')
    browser.wait('section')


def choose(browser, language):
    browser.js(f"(s => {{ s.value = '{language}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select.tool'))")


DRAWN = '''[...document.querySelectorAll('canvas')].some(c => c.width &&
    c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))'''


class Photographer:
    def __init__(self, browser, to, suffix):
        self.browser, self.to, self.suffix = browser, to, suffix

    def take(self, name, place=None, selector='section', ready=None):
        if place is not None:
            self.browser.js(f"location.hash = '#/{place}'; scrollTo(0, 0)")
        self.browser.wait('h1')
        self.browser.wait(selector)
        if ready:
            self.browser.until(lambda: self.browser.js(ready), name)
        time.sleep(0.7)  # what fades in is there
        assert self.browser.fits(), f'{name}{self.suffix} is wider than the window'
        self.browser.shot(str(self.to / f'{name}{self.suffix}.png'))

    def pages(self, running, finished, other):
        self.take('jobs', 'jobs', 'td.name')
        self.browser.js("location.hash = '#/submit'")
        fill_form(self.browser)
        self.take('submit', selector='.plan')
        self.take('job-brief', f'jobs/{running}/brief')
        self.take('job-metrics', f'jobs/{running}/metrics', 'figure.chart', DRAWN)
        self.take('job-console', f'jobs/{running}/console', '.console .line')
        self.take('job-endpoints', f'jobs/{running}/endpoints', 'td')
        self.take('job-report', f'jobs/{finished}/report', 'iframe.report')
        self.take('results', 'results')
        self.take('compare', f'compare?ids={finished},{other}')
        self.take('cluster', 'cluster')
        self.take('usage', 'usage')
        self.take('admin', 'admin')

    def others(self, address, running):
        """Pages that are not sections of the platform: a terminal, the tester's own, signing in. The last one leaves."""
        self.browser.js(f"location.hash = '#/jobs/{running}/endpoints'; scrollTo(0, 0)")
        self.browser.wait('td')
        self.browser.js("document.querySelector('.endpoints .actions button').click()")
        self.browser.until(lambda: self.browser.text('.terminal-lines').strip(), 'a prompt')
        self.browser.js("document.querySelector('.terminal-input').focus()")
        self.browser.send('Input.insertText', text='ls checkpoints | tail -3; echo rank $RANK of $WORLD_SIZE')
        self.browser.key('Enter')
        self.browser.wait('.terminal-lines', 'rank 0 of 1')
        self.browser.js("document.querySelector('.terminal-lines').scrollIntoView({block: 'center'})")
        self.take('job-terminal', selector='.terminal-lines')
        # They are in the language that the browser asks for.
        self.browser.send('Network.enable')
        self.browser.send('Network.setExtraHTTPHeaders', headers={'Accept-Language': self.language()})
        for name in ('tests', 'leaderboard'):
            self.browser.open(f'{address}{name}')
            self.take(name, selector='table')
        self.browser.open(address)
        self.browser.wait('nav')
        self.browser.js("[...document.querySelectorAll('button')].find(b => ['Sign out', '退出'].includes(b.textContent)).click()")
        self.take('sign-in', selector='form')

    def language(self):
        return 'zh' if '-zh' in self.suffix else 'en'


def fill_form(browser):
    browser.type('#f-name', 'resnet20-two-ranks')
    browser.type('#f-command', 'python3 train.py 300 0.2')
    browser.type('#f-procs', '2')
    browser.type('#f-time', '2h')
    browser.wait('.plan pre', 'cases:')


def main(build=ROOT / 'build/release', to=ROOT / 'docs/images/platform'):
    to = Path(to)
    to.mkdir(parents=True, exist_ok=True)
    for old in to.glob('*.png'):
        old.unlink()
    folder = Path(tempfile.mkdtemp(prefix='assay-screenshots-'))
    server = Server(Path(build).resolve() / 'bin', folder)
    try:
        link = server.assay('serve', 'link').strip()
        address = link.split('#')[0]
        with Browser() as browser:
            browser.open(link)
            browser.wait('dialog h3', 'admin')
            browser.type('dialog input[name=password]', PASSWORD)
            browser.click('dialog button', 'Save')
            browser.wait('h1', 'Jobs')
        done = [server.submit('baseline-lr-0.1', 'python3 train.py 60 0.05'), server.submit('cosine-lr', 'python3 train.py 60 0.06'),
                server.submit('too-large-lr', 'python3 train.py 60 0.05 fail')]
        server.ended(*done)
        server.push(done[0], 'the baseline')
        running = server.submit('resnet20-cosine', 'python3 train.py 2000 0.3', '--endpoint', 'jupyter', '--endpoint', 'tensorboard', '--time', '2h')
        server.submit('sweep', 'python3 train.py 60 0.1 # $ASSAY_ARRAY_INDEX', '--array', '0-3%1', '--procs', '2')
        server.wait_for(lambda: server.assay('job', str(running), '--logs').count('STEP_END') > 40, 'steps')
        sizes = {'': {}, '-phone': {'width': 390, 'height': 844, 'phone': True}}
        for size, window in sizes.items():
            for language, words in (('en', ''), ('zh', '-zh')):
                with Browser(**window) as browser:
                    sign_in(browser, address)
                    choose(browser, language)
                    camera = Photographer(browser, to, words + size)
                    camera.pages(running, done[0], done[1])
                    camera.others(address, running)
                    assert not browser.errors, browser.errors
        with Browser(dark=True) as browser:
            sign_in(browser, address)
            camera = Photographer(browser, to, '-dark')
            camera.take('jobs', 'jobs', 'td.name')
            camera.take('job-metrics', f'jobs/{running}/metrics', 'figure.chart', DRAWN)
            camera.take('job-console', f'jobs/{running}/console', '.console .line')
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    for picture in sorted(to.glob('*.png')):
        subprocess.run(['pngquant', '--force', '--skip-if-larger', '--speed', '1', '--output', str(picture), '32', str(picture)], check=False)
    total = sum(p.stat().st_size for p in to.glob('*.png'))
    print(f'{len(list(to.glob("*.png")))} pictures, {total / 1e6:.2f} MB in {to}')
    assert total < 2_500_000, 'more than 2.5 MB'


if __name__ == '__main__':
    main(*sys.argv[1:])
