#!/usr/bin/env python3
"""The platform in a real browser, from the link of the first start to signing out:
   platform_story.py LINK SUBMIT-COMMAND [SCREENSHOTS]"""
import sys
import time

from browser import Browser


def choose_language(browser, code):
    browser.js(f"(s => {{ s.value = '{code}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('select.tool'))")


def clone_and_edit(browser):
    """A clone keeps the folder that was sent, and of an array the one element."""
    browser.js('''window.sent = []; const asked = window.fetch;
        window.fetch = async (url, options) => {
          if (String(url).endsWith('/jobs/preview')) window.sent.push(JSON.parse(options.body));
          const answer = await asked(url, options);
          if (!String(url).endsWith('/jobs/1') || (options && options.method !== 'GET')) return answer;
          return new Response(JSON.stringify({...await answer.json(), code: 'folder-1', array: 1, array_index: 3}), {status: 200});
        };''')
    browser.js("location.hash = '#/jobs/1/brief'")
    browser.click('.actions a', 'Clone')
    browser.wait('#folder', 'sent for job 1')
    browser.type('#f-name', 'second job')
    browser.until(lambda: browser.js("window.sent.some(s => s.name === 'second job')"), 'the preview')
    sent = browser.js('window.sent.at(-1)')
    assert sent['code'] == 'folder-1' and sent['array'] == '3', sent


def limit_a_team(browser):
    """A limit that is mistyped is said, not dropped."""
    browser.js("location.hash = '#/admin'")
    browser.wait('h2', 'Teams')
    browser.js("[...document.querySelectorAll('section')].find(s => s.querySelector('h2') && s.querySelector('h2').textContent.includes('Teams')).querySelector('button').click()")
    browser.type('dialog input[name=name]', 'vision')
    for wrong in ('H200:8', 'H200=8 A100=4', 'H200', 'H200=8,,A100=4', 'H200=-1'):
        browser.type('dialog input[name=quota]', wrong)
        browser.click('dialog button', 'Save')
        assert browser.js("document.querySelector('dialog input[name=quota]').validity.patternMismatch"), wrong
    browser.type('dialog input[name=quota]', 'H200=8, A100 = 4')
    browser.click('dialog button', 'Save')
    browser.wait('td', 'A100=4, H200=8')
    browser.js("[...document.querySelectorAll('tr')].find(r => r.textContent.includes('A100=4')).querySelector('button').click()")
    browser.wait('dialog input[name=name]')
    assert browser.js("document.querySelector('dialog input[name=name]').readOnly"), 'another name makes another team'
    browser.click('dialog button', 'Cancel')


def main(link, command, shots=None):
    address = link.split('#')[0]

    def shot(browser, name):
        assert browser.fits(), f'{name} is wider than the window'
        if shots:
            browser.shot(f'{shots}/{name}.png')

    with Browser() as browser:
        browser.open(link)
        browser.wait('dialog h3', 'admin')
        browser.type('dialog input[name=password]', 'correct horse battery staple')
        browser.click('dialog button', 'Save')
        browser.wait('h1', 'Jobs')
        assert 'link=' not in browser.js('location.href'), 'the link stays in the address'
        browser.wait('.empty', 'No job yet')

        # The form says what is wrong, and then what will happen.
        browser.click('a.button', 'New job')
        browser.type('#f-name', '<b>first</b> job')
        browser.type('#f-command', command)
        browser.type('#f-procs', '2')
        browser.type('#f-time', 'soon')
        browser.wait('#p-time', 'duration')
        browser.type('#f-time', '10m')
        browser.wait('.plan .finding')
        browser.until(lambda: not browser.text('#p-time'), 'a field without a problem')
        browser.wait('.plan pre', 'cases:')
        shot(browser, 'submit')
        # A reload loses nothing that was typed.
        browser.js('location.reload()')
        browser.until(lambda: browser.js("document.querySelector('#f-command')?.value") == command, 'the draft')
        browser.wait('.plan pre', 'cases:')
        browser.click('.views label', 'curl')
        browser.wait('.plan pre', 'curl -H')
        browser.click('#send')
        browser.wait('h1', '<b>first</b> job')
        browser.wait('.chip', 'Running')
        shot(browser, 'job-brief')

        browser.click('.tabs a', 'Metrics')
        browser.wait('figure.chart', 'Loss')
        browser.until(lambda: browser.js('''[...document.querySelectorAll('canvas')].some(c => c.width &&
            c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v))'''), 'a drawn chart')
        shot(browser, 'job-metrics')
        browser.click('.tabs a', 'Console')
        browser.wait('.console .line', '[PerfLog]')
        shot(browser, 'job-console')
        # What is downloaded is all of it, in however many parts it comes.
        browser.js('''const ask = window.fetch; window.parts = 0;
            window.fetch = (url, options) => {
              if (!String(url).includes('/log/download')) return ask(url, options);
              ++window.parts;
              return ask(`${url}&most=65536`, options);
            };
            const make = URL.createObjectURL;
            URL.createObjectURL = file => { window.saved = file; return make.call(URL, file); };''')
        browser.click('button', 'Download')
        browser.until(lambda: browser.js('window.saved && window.saved.name') == 'job1.log', 'the download')
        saved = browser.js('window.saved.text()').splitlines()
        assert browser.js('window.parts') > 1, 'the log came in one part'
        numbers = [line for line in saved if 'line ' in line]
        assert len(numbers) == 2 * 4000 and 'line 4000 ' in numbers[-1], (len(numbers), numbers[-1:])  # of two ranks
        assert not any('goes on with' in line for line in saved), 'what is for who reads a part is in the file'
        browser.click('.tabs a', 'Report')
        browser.wait('.said.live', 'so far')
        browser.wait('.case h2', 'main')
        browser.click('.tabs a', 'Endpoints')
        browser.wait('td', 'Jupyter')
        browser.click('.tabs a', 'Brief')
        browser.limit = 240
        browser.wait('.title .chip', 'Finished')
        browser.limit = 60
        browser.click('.tabs a', 'Report')
        browser.wait('iframe.report')
        browser.until(lambda: any('/report' in t['url'] for t in browser.send('Target.getTargets')['targetInfos']) or browser.js("document.querySelector('iframe.report').src.endsWith('/report')"), 'the report')
        if shots:
            time.sleep(2)  # the frame has no event that its page can see
        shot(browser, 'job-report')
        # A question goes with its page, and Enter does nothing that cannot be undone.
        browser.click('button', 'Delete')
        browser.wait('dialog button', 'Delete')
        assert browser.js("document.activeElement.textContent") == 'Cancel', 'the focus is on what deletes'
        browser.js("location.hash = '#/jobs'")
        browser.wait('h1', 'Jobs')
        browser.until(lambda: not browser.js("document.querySelector('dialog')"), 'no question of another page')
        for place, words in (('cluster', 'Cluster'), ('usage', 'Usage'), ('admin', 'Admin'), ('results', 'Results'), ('jobs', 'Jobs')):
            browser.js(f"location.hash = '#/{place}'")
            browser.wait('h1', words)
            browser.wait('section')
            shot(browser, place)
        clone_and_edit(browser)
        limit_a_team(browser)
        # What cannot be compared is said on the page, not in a frame that stays empty.
        browser.js("location.hash = '#/compare?ids=1,999'")
        browser.wait('.finding .reason', 'no such job')
        assert not browser.js("document.querySelector('iframe')"), 'a frame of nothing'
        browser.js("location.hash = '#/jobs?order=ran'")
        browser.wait('th[aria-sort]', 'Ran')
        assert not browser.js("document.querySelector('main b:not([class])') && [...document.querySelectorAll('main b')].some(b => b.textContent === 'first')"), 'a name became markup'

        choose_language(browser, 'zh')
        browser.wait('h1', '训练任务')
        shot(browser, 'jobs-zh')
        browser.click('button', '退出')
        browser.wait('h1', '登录')
        shot(browser, 'sign-in-zh')
        # Signed out is signed out.
        browser.js("location.hash = '#/jobs'")
        browser.wait('h1', '登录')
        assert not browser.errors, browser.errors

    with Browser(width=390, height=844, phone=True, dark=True) as browser:
        browser.open(address + '#/sign-in')
        browser.type('input[name=name]', 'admin')
        browser.type('input[name=password]', 'wrong')
        browser.click('button', 'Sign in')
        browser.wait('.finding.invalid')
        browser.type('input[name=password]', 'correct horse battery staple')
        browser.click('button', 'Sign in')
        browser.wait('h1', 'Jobs')
        browser.wait('td.name', '<b>first</b> job')
        shot(browser, 'jobs-phone')
        for place in ('submit', 'jobs/1/brief', 'jobs/1/metrics', 'jobs/1/console', 'jobs/1/report', 'cluster', 'usage', 'admin'):
            browser.js(f"location.hash = '#/{place}'")
            browser.wait('h1')
            browser.wait('section')
            shot(browser, place.replace('/', '-') + '-phone')
        browser.click('button', 'Sign out')
        browser.wait('h1', 'Sign in')
        assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(*sys.argv[1:])
    print('all seen')
