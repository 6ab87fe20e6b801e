#!/usr/bin/env python3
"""An array as one, the map of the cluster and the pages of administration, in a real browser:
   arrays_story.py LINK desk|phone [SCREENSHOTS]"""
import sys

from browser import Browser


def choose_language(browser, code):
    browser.js(f"(s => {{ s.value = '{code}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select.tool'))")


class Story:
    def __init__(self, browser, device, shots):
        self.browser, self.device, self.shots = browser, device, shots

    def shot(self, name):
        assert self.browser.fits(), f'{name} is wider than the window'
        if self.shots:
            self.browser.shot(f'{self.shots}/{name}-{self.device}.png')

    def go(self, place, title):
        self.browser.js(f"location.hash = '#/{place}'")
        self.browser.wait('h1', title)

    def counts(self):
        """How many elements are in each state, as the page says."""
        return self.browser.js("Object.fromEntries([...document.querySelectorAll('.array [data-count]')].map(b => [b.dataset.count, Number(b.textContent)]))")

    def submit(self):
        browser = self.browser
        self.go('submit', 'Submit')
        browser.type('#f-name', 'sweep')
        browser.type('#f-command', 'exec sleep 1000')
        browser.js("document.querySelector('#f-array').closest('details').open = true")
        browser.type('#f-array', '0-5%1')
        browser.wait('.plan .finding')
        browser.click('#send')
        browser.wait('h1', 'Jobs')

    def array(self):
        browser = self.browser
        self.submit()
        browser.wait('td.name', '6 elements')
        assert browser.js("document.querySelectorAll('tbody tr').length") == 1, 'an array has more than one row'
        browser.wait('[data-count="running"]', '1')
        browser.wait('[data-count="queued"]', '5')
        self.shot('array-row')
        browser.click('td.name a', 'sweep')
        browser.wait('h1', 'Array 1')
        browser.wait('td.name', 'sweep[5]')
        assert browser.js("document.querySelectorAll('tbody tr').length") == 6
        # A part of it, and what does not fit is said.
        browser.type('.array input[name=indices]', '3-4')
        browser.click('.array button', 'Pause')
        browser.until(lambda: self.counts().get('paused') == 2, lambda: f'{self.counts()}: two that are paused')
        self.shot('array')
        assert browser.js("document.querySelector('.array input[name=indices]').value") == '3-4', 'what was typed is gone'
        browser.type('.array input[name=indices]', '')
        browser.js("(i => { i.value = ''; })(document.querySelector('.array input[name=indices]'))")
        browser.click('.array button', 'Resume')
        browser.wait('.toasts', 'it does not fit 4 others')
        browser.until(lambda: 'paused' not in self.counts(), lambda: f'{self.counts()}: none that is paused')

    def cluster(self):
        """While an element runs: what its node measures is the colour."""
        browser = self.browser
        self.go('cluster', 'Cluster')
        browser.wait('.node .now', 'Utilisation')
        browser.wait('.device.of')
        self.shot('cluster')
        browser.click('.by label', 'Temperature')
        browser.wait('.legend .scale', '100 °C')
        browser.wait('.device.unknown, .device.warm')
        browser.click('.by label', 'Who uses it')
        browser.wait('.device.used')
        browser.click('.by label', 'Utilisation')

    def stop(self):
        browser = self.browser
        self.go('jobs', 'Jobs')
        browser.click('tr[data-job="1"] input[type=checkbox]')
        browser.wait('.bulk b', '6')
        browser.click('.bulk button', 'Stop')
        browser.click('dialog button', 'Stop')
        browser.wait('.toasts', '6 jobs are being stopped')
        browser.wait('[data-count="killed"]', '6')

    def section(self, title):
        return f"[...document.querySelectorAll('section')].find(s => s.querySelector('h2') && s.querySelector('h2').textContent === '{title}')"

    def press(self, title, label):
        self.browser.until(lambda: self.browser.js(f"(s => Boolean(s && [...s.querySelectorAll('button')].some(b => b.textContent === '{label}')))({self.section(title)})"), f'{label} of {title}')
        self.browser.js(f"[...{self.section(title)}.querySelectorAll('button')].find(b => b.textContent === '{label}').click()")

    def says(self, title, words):
        self.browser.until(lambda: self.browser.js(f"({self.section(title)} || {{textContent: ''}}).textContent.includes('{words}')"), lambda: f'{words} of {title}: {self.browser.js(self.section(title) + ".textContent")!r} {self.browser.text(".toasts")!r} {self.browser.text("dialog")!r}; it')

    def save(self, **fields):
        browser = self.browser
        for name, value in fields.items():
            browser.wait(f'dialog [name={name}]')
            browser.js(f"document.querySelector('dialog [name={name}]').value = '{value}'")
        browser.click('dialog button', 'Save')

    def administration(self):
        browser = self.browser
        self.go('admin', 'Admin')
        node = browser.js("fetch('/api/v1/nodes').then(r => r.json()).then(a => a.nodes[0].name)")
        self.says('Reservations', 'No nodes are reserved')
        self.press('Reservations', 'Add')
        self.save(name='move', nodes=node, **{'from': '2090-01-01T10:00', 'to': '2090-01-01T12:00'})
        self.says('Reservations', 'nobody (maintenance)')
        self.press('Reservations', 'Edit')
        browser.wait('dialog input[name=name]')
        assert browser.js("document.querySelector('dialog input[name=name]').readOnly"), 'another name makes another reservation'
        self.save(to='2090-01-01T09:00')
        browser.wait('.toasts', "'to' must be after 'from'")
        self.press('Reservations', 'Edit')
        self.save(to='2090-01-02T12:00')
        self.says('Reservations', 'Jan 2')
        self.press('Reservations', 'Remove')
        browser.click('dialog button', 'Remove')
        self.says('Reservations', 'No nodes are reserved')

        self.press('Idle devices', 'Edit')
        self.save(warn='10', stop='30')
        self.says('Idle devices', '30 min')
        # Somebody else was faster.
        self.press('Idle devices', 'Edit')
        browser.wait('dialog [name=warn]')
        browser.js("""fetch('/api/v1/session').then(r => r.json()).then(s => fetch('/api/v1/policies/idle', {method: 'PUT', body: '{"warn_s": 60, "stop_s": 0}',
            headers: {'Content-Type': 'application/json', 'X-CSRF-Token': s.csrf}})).then(r => r.status)""")
        self.save(warn='20')
        browser.wait('.toasts', 'this was changed meanwhile')
        self.says('Idle devices', '1 min 0 s')
        self.press('Idle devices', 'Remove')
        browser.click('dialog button', 'Remove')
        self.says('Idle devices', 'never')

        self.says('Retention', 'for ever')
        self.press('Retention', 'Edit')
        self.save(logs='90', jobs='730')
        self.says('Retention', '730 days')
        self.shot('admin-policies')

        # What would go is said, and goes only then.
        self.aged()
        self.press('Retention', 'Edit')
        self.save(jobs='1')
        browser.wait('dialog p', 'Jobs that go with everything: 6.')
        browser.wait('dialog p', '#6 sweep')
        self.shot('retention-preview')
        browser.click('dialog button', 'Cancel')
        self.says('Retention', '730 days')
        browser.js('window.fetch = window.asked')

    def aged(self):
        """As if a week had passed: the preview is asked for what was there then."""
        self.browser.js('''window.asked = window.asked || window.fetch;
            window.fetch = async (url, options) => {
              if (!String(url).includes('/retention/preview')) return window.asked(url, options);
              const jobs = (await (await window.asked('/api/v1/jobs?order=ended&descending=0')).json()).jobs;
              return new Response(JSON.stringify({jobs, logs: [], jobs_total: jobs.length, logs_total: 0, whole: true}));
            };''')


def main(link, device, shots=None):
    size = {'width': 390, 'height': 844, 'phone': True} if device == 'phone' else {}
    with Browser(**size) as browser:
        story = Story(browser, device, shots)
        browser.open(link)
        browser.wait('dialog h3')
        browser.click('dialog button', 'Cancel')
        browser.wait('h1', 'Jobs')
        story.array()
        story.cluster()
        story.stop()
        story.administration()
        choose_language(browser, 'zh')
        for place, words in (('jobs', '6 个元素'), ('jobs?array=1', '数组任务 1'), ('cluster', '利用率'), ('admin', '保留期限')):
            browser.js(f"location.hash = '#/{place}'")
            browser.until(lambda words=words: words in browser.text('main'), lambda place=place: f'{place}: {browser.text()[:600]!r}; it')
            story.shot('zh-' + place.replace('?', '-').replace('=', ''))
        assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(*sys.argv[1:])
    print('all seen')
