#!/usr/bin/env python3
"""ResNet-20 on two nodes, by the form, in a real browser: from the first sign-in to signing out:
   resnet_story.py LINK desk|phone en|zh [SCREENSHOTS]"""
import json
import sys
from pathlib import Path

from browser import Browser, Refused

WEB = Path(__file__).resolve().parent.parent.parent / 'web'
PASSWORD = 'correct horse battery staple'
DRAWN = '''[...document.querySelectorAll('canvas')].some(c => c.width &&
    c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))'''


def suite(steps, rate):
    """Of small pictures that are made where they are needed: a step takes a fraction of a second."""
    return ('cases:\n'
            '  - case: resnet20:libtorch:cpu:2:1:1\n'
            '    rules: {converged: off, min-duration: off, min-steps: {min: 5}, steady-steps: off, stragglers: off}\n'
            '    config: {train_size: 256, eval_size: 32, eval_batch_size: 32, batch_size: 8, threads: 1, epochs: 0,\n'
            f'             max_steps: {steps}, eval_every: 1000000, target: 0, learning_rate: {rate}}}\n')


class Story:
    def __init__(self, browser, device, language, shots):
        self.browser, self.device, self.language, self.shots = browser, device, language, shots
        self.words = json.loads((WEB / f'messages_{language}.json').read_text())

    def t(self, key):
        """The page's words for it, up to what is filled in."""
        return self.words[key].split('{')[0].strip()

    def shot(self, name):
        assert self.browser.fits(), f'{name} is wider than the window'
        if self.shots:
            self.browser.shot(f'{self.shots}/resnet-{name}-{self.device}-{self.language}.png')

    def go(self, place):
        self.browser.js(f"location.hash = '#/{place}'")

    def state(self, *wanted):
        """Until the job of this page is in one of these states."""
        def is_there():
            now = self.browser.js("(document.querySelector('.title .chip') || {dataset: {}}).dataset.state")
            assert now in wanted or now not in ('failed', 'error'), f'the job is {now}: {self.browser.text()[:2000]}'
            return now in wanted
        self.browser.until(is_there, lambda: f'{wanted}: {self.browser.text()[:800]!r}; it')

    def tab(self, name):
        self.browser.click('.tabs a', self.t(f'job.{name}'))
        self.browser.wait('.tabs a[aria-selected="true"]', self.t(f'job.{name}'))

    def sign_in(self, link):
        browser = self.browser
        browser.open(link)
        browser.wait('dialog h3')
        browser.type('dialog input[name=password]', PASSWORD)
        browser.click('dialog button[value=yes]')
        browser.wait('h1')
        browser.js(f"(s => {{ s.value = '{self.language}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select.tool'))")
        browser.wait('h1', self.t('nav.jobs'))

    def fill(self, name, text):
        """What a suite needs of the form, as somebody types it."""
        browser = self.browser
        browser.wait('#f-name')
        browser.type('#f-name', name)
        browser.click('.segments label', self.t('submit.suite'))
        browser.type('#f-suite', text)
        browser.type('#f-nodes', '2')

    def planned(self):
        browser = self.browser
        browser.until(lambda: 'resnet20' in browser.text('.plan pre') and not browser.js("Boolean(document.querySelector('.plan .finding.invalid, .problem:not(:empty)'))"), lambda: f'the plan: {browser.text(".plan")!r}; it')
        return browser.js("document.querySelector('.plan').innerText")

    def send(self, name):
        self.browser.click('#send')
        self.browser.wait('h1', name)
        return int(self.browser.js("location.hash.match(/jobs\\/(\\d+)/)[1]"))

    def watch(self):
        """Metrics and console of a training that goes on, of both ranks."""
        browser = self.browser
        self.tab('metrics')
        browser.wait('figure.chart', self.t('metric.loss'))
        browser.until(lambda: browser.js(DRAWN), 'a drawn chart')
        browser.wait('.metrics .key', 'n1')
        browser.wait('.metrics .key', 'n2')
        browser.wait('.said.live')
        self.shot('metrics')
        self.tab('console')
        browser.wait('.console .line', 'STEP_END')
        browser.until(lambda: {'0', '1'} <= set(browser.js("[...document.querySelectorAll('.console .line b')].map(b => b.textContent)")), 'lines of both ranks')
        before = browser.js("document.querySelector('.console-view .said').textContent")
        browser.until(lambda: browser.js("document.querySelector('.console-view .said').textContent") != before, 'another line')
        self.shot('console')

    def jupyter(self, job):
        """Jupyter beside the first rank, on a node that only ssh reaches."""
        browser = self.browser
        self.tab('endpoints')
        browser.wait('td', 'Jupyter')
        self.shot('endpoints')
        page = browser.open_site('Jupyter', f'job{job}-jupyter.localhost')
        browser.wait('#notebook_list')
        contents = browser.js("fetch('/api/contents').then(r => r.status)")
        assert contents == 200, contents
        if self.shots:
            browser.shot(f'{self.shots}/resnet-jupyter-{self.device}-{self.language}.png')
        browser.send('Page.close')
        browser.session = page

    def frame(self, words):
        """Until the report or comparison in the frame of the page says all of these."""
        browser = self.browser
        browser.wait('iframe.report')
        browser.until(lambda: self.is_framed(words), lambda: f'{words} in {self.framed()[:800]!r}; it')

    def is_framed(self, words):
        try:
            said = self.framed()
        except Refused:  # another page came into the frame between two questions
            return False
        return all(word in said for word in words)

    def framed(self):
        browser = self.browser
        page = browser.session
        try:
            for target in browser.send('Target.getTargets')['targetInfos']:
                if target['type'] != 'iframe':
                    continue
                browser.session = None
                browser.session = browser.send('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
                return browser.js('document.body ? document.body.innerText : ""') or ''
        finally:
            browser.session = page
        frames = browser.send('Page.getFrameTree')['frameTree'].get('childFrames', [])
        if not frames:
            return ''
        world = browser.send('Page.createIsolatedWorld', frameId=frames[0]['frame']['id'])['executionContextId']
        said = browser.send('Runtime.evaluate', expression='document.body ? document.body.innerText : ""', contextId=world, returnByValue=True)
        return said['result'].get('value') or ''


def main(link, device, language, shots=None):
    size = {'width': 390, 'height': 844, 'phone': True} if device == 'phone' else {}
    with Browser(limit=120, **size) as browser:
        story = Story(browser, device, language, shots)
        story.sign_in(link)

        # By the form, on two nodes; it goes on until it was looked at.
        browser.click('a.button', story.t('jobs.new'))
        story.fill('ResNet-20', suite(1000000, 0.1))
        plan = story.planned()
        assert 'n1' in plan and 'n2' in plan, plan
        story.shot('submit')
        first = story.send('ResNet-20')
        story.state('running')
        story.watch()
        story.jupyter(first)
        story.tab('brief')
        browser.click('.actions button.danger', story.t('deed.kill'))
        browser.click('dialog button[value=yes]')
        story.state('killed')

        # Two short ones, each the other with something changed, to their ends.
        jobs = []
        for rate in (0.1, 0.05):
            browser.click('.actions a', story.t('deed.clone'))
            story.fill(f'rate {rate}', suite(16, rate))
            story.planned()
            jobs.append(story.send(f'rate {rate}'))
            story.state('finished')
        story.go('cluster')
        browser.wait('.node', 'n2')
        story.shot('cluster')
        story.go('jobs')
        for job in jobs:
            browser.click(f'tr[data-job="{job}"] input[type=checkbox]')
        story.shot('jobs')
        browser.click('.bulk a.button', story.t('jobs.compare'))
        story.frame(['resnet20:libtorch:cpu:2:1', 'rate 0.1', 'rate 0.05'])
        assert not any(words in story.framed() for words in ('not compared', '没有比较')), story.framed()
        story.shot('compare')

        story.go(f'jobs/{jobs[1]}/report')
        story.frame(['resnet20', '2'])
        story.shot('report')
        browser.click('button', story.t('signout'))
        browser.wait('h1', story.t('signin.title'))
        story.go('jobs')
        browser.wait('h1', story.t('signin.title'))
        assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(*sys.argv[1:])
    print('all seen')
