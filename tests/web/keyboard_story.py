#!/usr/bin/env python3
"""Somebody without a mouse: after sorting, filtering, paging and changing tabs, the focus is where it was:
   keyboard_story.py LINK"""
import json
import sys

from browser import Browser


def focused(browser):
    return browser.js("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()")


def press(browser, selector, text, becomes, now=None):
    """Enter on a control, as the keyboard does it; afterwards it, or what has come in its place, has the focus."""
    browser.wait(selector, text)
    browser.js(f"[...document.querySelectorAll({json.dumps(selector)})].find(e => e.textContent.includes({json.dumps(text)})).focus()")
    browser.js("document.getElementById('main').dataset.before = 'yes'")
    browser.key('Enter')
    browser.until(lambda: browser.js(f"location.hash.includes({json.dumps(becomes)})"), f'the address with {becomes}')
    browser.until(lambda: browser.js("!document.getElementById('main').dataset.before"), f'the page with {becomes}')
    wanted = now or text
    browser.until(lambda: focused(browser) == wanted, lambda: f'the focus on {wanted!r}, not on {focused(browser)!r};')


def main(link):
    with Browser() as browser:
        browser.open(link)
        browser.click('dialog button', 'Cancel')  # the first time, a password can be chosen
        browser.wait('h1', 'Jobs')
        first = browser.js("""(async () => {
            const api = await import('/static/api.js');
            for (const node of (await api.get('/nodes')).nodes) await api.post(`/nodes/${node.name}/drain`, {reason: 'a test'});
            return (await api.post('/jobs', {name: 'many', command: 'true', array: '0-119'})).jobs[0].id;
        })()""")
        browser.js(f"location.hash = '#/jobs?array={first}'")
        browser.wait('td', '[49]')
        press(browser, 'th a', 'Name', 'order=name&up=0')
        press(browser, 'th a', 'State', 'order=state')
        press(browser, '.filters a', 'Waiting', 'show=waiting')
        press(browser, 'nav.pages a', 'Older', 'offset=50', 'Older →')
        press(browser, 'nav.pages a', 'Older', 'offset=100', '← Newer')  # there is nothing older
        # What the server's news draw anew keeps it, too.
        browser.js("document.querySelector('tbody td.name a').focus()")
        before = focused(browser)
        paused = int(browser.js("document.querySelector('tbody [data-job]').dataset.job"))
        browser.js(f"import('/static/api.js').then(api => api.post('/jobs/{paused}/pause'))")
        browser.wait('tbody .chip', 'Paused')
        assert focused(browser) == before, focused(browser)
        browser.js(f"location.hash = '#/jobs/{first + (paused == first)}/brief'")
        browser.wait('[role=tab]', 'Console')
        browser.until(lambda: browser.js("document.activeElement.id === 'main'"), 'the focus on the new page')
        for name, tab in (('Endpoints', 'endpoints'), ('Metrics', 'metrics'), ('Console', 'console'), ('Report', 'report'), ('Brief', 'brief')):
            press(browser, '[role=tab]', name, tab)
        browser.wait('.actions button', 'Pause')
        browser.js("[...document.querySelectorAll('.actions button')].find(b => b.textContent === 'Pause').focus()")
        browser.key('Enter')
        browser.until(lambda: focused(browser) == 'Resume', lambda: f'Resume in the place of Pause, not {focused(browser)!r};')
        assert not browser.errors, browser.errors


if __name__ == '__main__':
    main(*sys.argv[1:])
