#!/usr/bin/env python3
"""Secrets on the page Admin and in the form, never shown, and pushed runs that are compared:
   secrets_story.py LINK"""
import sys

from browser import Browser

VALUE = 'hunter2-and-more'


def nowhere(browser):
    assert VALUE not in browser.js('document.documentElement.outerHTML'), 'the value is in the page'
    answer = browser.js("fetch('/api/v1/secrets').then(r => r.text())")
    assert VALUE not in answer, answer


def section(title):
    return f"[...document.querySelectorAll('section')].find(s => s.querySelector('h2').textContent === {title!r})"


def go(browser, place, title):
    browser.js(f"location.hash = '#/{place}'")
    browser.wait('h1', title)


def main(link):
    with Browser() as browser:
        browser.open(link)
        browser.click('dialog button', 'Cancel')  # the first time, a password can be chosen
        browser.wait('h1', 'Jobs')

        # Kept, and replaced.
        go(browser, 'admin', 'Admin')
        browser.wait('section .empty', 'There are no secrets')
        browser.js(f"{section('Secrets')}.querySelector('.toolbar button').click()")
        browser.wait('dialog h3', 'New secret')
        browser.type('dialog input[name=name]', 'no name')
        browser.type('dialog input[name=value]', VALUE)
        assert browser.js("document.querySelector('dialog input[name=value]').type") == 'password'
        browser.click('dialog button', 'Save')
        assert browser.js("document.querySelector('dialog input[name=name]').validity.patternMismatch")
        browser.type('dialog input[name=name]', 'HF_TOKEN')
        browser.click('dialog button', 'Save')
        browser.wait('section td', 'HF_TOKEN')
        nowhere(browser)
        browser.js(f"{section('Secrets')}.querySelector('td button').click()")
        browser.wait('dialog h3', 'Replace')
        assert browser.js("document.querySelector('dialog input[name=value]').value") == '', 'a value is shown'
        assert browser.js("document.querySelector('dialog input[name=name]').readOnly"), 'another name makes another secret'
        browser.type('dialog input[name=value]', VALUE)
        browser.click('dialog button', 'Save')
        browser.until(lambda: not browser.js("document.querySelector('dialog')"), 'the end of the dialog')
        nowhere(browser)

        # Given to a job by its name.
        go(browser, 'submit', 'Submit')
        browser.type('#f-name', 'with a secret')
        browser.type('#f-command', 'test "$KEY" = hunter2-and-more && echo it is')
        browser.js("[...document.querySelectorAll('details')].find(d => d.textContent.includes('Secrets')).open = true")
        browser.js("[...document.querySelectorAll('.field')].find(f => f.querySelector('.label')?.textContent === 'Secrets').lastChild.click()")
        browser.type('input[aria-label="Name of a secret"]', 'HF_TOKE')
        browser.type('input[aria-label^="Variable"]', 'KEY')
        browser.wait('.problem', "you keep no secret 'HF_TOKE'")
        browser.type('input[aria-label="Name of a secret"]', 'HF_TOKEN')
        browser.wait('.plan .finding')
        browser.click('.views label', 'Command')
        browser.wait('.plan pre', '--secret HF_TOKEN=KEY')
        browser.click('.views label', 'Plan')
        browser.wait('.plan pre', 'KEY=(secret HF_TOKEN)')
        browser.click('#send')
        browser.wait('h1', 'with a secret')
        browser.wait('.chip', 'Finished')
        log = browser.js("fetch('/api/v1/jobs/1/log/download').then(r => r.text())")
        assert 'it is' in log, log

        # What cannot be compared is said, also of pushed runs.
        go(browser, 'compare?ids=1,test:20261115-ab3dE9', 'Compare')
        browser.wait('body', "there is no accepted test '20261115-ab3dE9'")
        assert browser.js("document.querySelector('input[name=ids]').value") == '1, test:20261115-ab3dE9'
        assert browser.js("document.querySelector('form').checkValidity()")
        go(browser, 'results', 'Results')
        browser.wait('h2', 'Pushed runs')

        # Removed.
        go(browser, 'admin', 'Admin')
        browser.wait('section td', 'HF_TOKEN')
        browser.js(f"[...{section('Secrets')}.querySelectorAll('td button')].at(-1).click()")
        browser.click('dialog button.danger')
        browser.wait('section .empty', 'There are no secrets')
        assert browser.fits(), 'wider than the window'
        assert not [e for e in browser.errors if '404' not in str(e)], browser.errors


if __name__ == '__main__':
    main(sys.argv[1])
    print('all seen')
