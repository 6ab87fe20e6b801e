#!/usr/bin/env python3
"""A link that signs in somebody else than who is signed in asks first:
   sign_in_story.py desk|phone ANN ANNS-LINK BOB BOBS-LINK BOBS-OTHER-LINK CARL CARLS-LINK [SCREENSHOTS]
Carl has the longest name that there can be. Each part wants a server of its own: sign-ins are limited."""
import sys

from browser import Browser

kWords = {'en': ('You are signed in as', 'Sign in as', 'Stay signed in as', 'Cancel', 'Jobs'), 'zh': ('您已登录为', '登录为', '仍以', '取消', '训练任务')}


def speak(browser, language):
    browser.js(f"localStorage.setItem('assay.language', '{language}')")


def who(browser):
    """Whose session the server sees, and whom the page shows."""
    return browser.js("fetch('/api/v1/session').then(r => r.ok ? r.json().then(s => s.user) : '')"), browser.text('.bar .who')


def is_here(browser, name, jobs):
    browser.wait('h1', jobs)
    browser.wait('.bar .who', name)
    browser.until(lambda: not browser.js("document.querySelector('dialog')"), 'the end of the question')
    assert who(browser) == (name, name), who(browser)


def open_link(browser, link, language, fresh):
    """In a new page, or in the one that is open, where only what stands after '#' changes."""
    if fresh:
        browser.open('about:blank')
        browser.open(link)
    else:
        browser.js(f"location.hash = {link.split('#')[1]!r}")
    browser.wait('dialog', kWords[language][0])


def sees_the_question(browser, now, following, language, shot):
    asks, do, stay, _, _ = kWords[language]
    browser.wait('dialog p', asks)
    text = browser.text('dialog')
    assert now in text and following in text, text
    browser.wait('dialog button', f'{do} {following}')
    browser.wait('dialog button', f'{stay} {now}')
    assert who(browser)[0] == now, 'the link was used before the answer'
    assert 'link=' not in browser.js('location.href'), 'the link stays in the address'
    assert browser.fits(), 'the page is wider than the window'
    assert browser.js("(d => d.scrollWidth <= d.clientWidth && d.getBoundingClientRect().right <= innerWidth)(document.querySelector('dialog'))"), 'the question is wider than its box'
    assert browser.js("[...document.querySelectorAll('dialog button')].every(b => b.scrollWidth <= b.clientWidth + 1)"), 'the words are wider than their button'
    shot(browser, f'sign-in-question-{language}')


def first_link(browser, name, link, language):
    _, _, _, cancel, jobs = kWords[language]
    browser.open(link)
    browser.wait('dialog h3', name)  # the first time, a password can be chosen
    browser.click('dialog button', cancel)
    is_here(browser, name, jobs)


def at_a_desk(ann, anns_link, bob, bobs_link, bobs_other, carl, carls_link, shot):
    with Browser() as browser:
        first_link(browser, ann, anns_link, 'en')
        # Who stays is who they were, and the link is still good.
        open_link(browser, bobs_link, 'en', fresh=False)
        sees_the_question(browser, ann, bob, 'en', shot)
        browser.click('dialog button', 'Stay')
        is_here(browser, ann, 'Jobs')
        open_link(browser, bobs_link, 'en', fresh=True)
        browser.send('Input.dispatchKeyEvent', type='keyDown', key='Escape', code='Escape', windowsVirtualKeyCode=27)
        is_here(browser, ann, 'Jobs')
        # Who changes is somebody else, and the link is used up.
        open_link(browser, bobs_link, 'en', fresh=True)
        browser.click('dialog button', 'Sign in as')
        browser.wait('dialog h3', bob)
        browser.click('dialog button', 'Cancel')
        is_here(browser, bob, 'Jobs')
        browser.js(f"location.hash = {bobs_link.split('#')[1]!r}")
        browser.wait('.finding.invalid', 'not valid any more')
        assert who(browser)[0] == bob, 'a link that is used up signs out'
        # One's own link asks nothing.
        browser.js(f"location.hash = {bobs_other.split('#')[1]!r}")
        browser.wait('dialog h3', bob)
        speak(browser, 'zh')
        open_link(browser, carls_link, 'zh', fresh=True)
        sees_the_question(browser, bob, carl, 'zh', shot)
        browser.click('dialog button', '仍以')
        is_here(browser, bob, '训练任务')
        assert not browser.errors, browser.errors


def on_a_phone(ann, anns_link, _bob, _bobs_link, _bobs_other, carl, carls_link, shot):
    with Browser(width=390, height=844, phone=True) as browser:
        first_link(browser, ann, anns_link, 'en')
        open_link(browser, carls_link, 'en', fresh=True)
        sees_the_question(browser, ann, carl, 'en', shot)
        browser.click('dialog button', 'Stay')
        is_here(browser, ann, 'Jobs')
        speak(browser, 'zh')
        open_link(browser, carls_link, 'zh', fresh=True)
        sees_the_question(browser, ann, carl, 'zh', shot)
        browser.click('dialog button', '登录为')
        browser.wait('dialog h3', '欢迎')
        browser.click('dialog button', '取消')
        browser.wait('h1', '训练任务')
        assert who(browser)[0] == carl, who(browser)
        assert browser.fits(), 'a long name makes the page wider than the window'
        assert not browser.errors, browser.errors


def main(part, *people, shots=None):
    def shot(browser, name):
        if shots:
            browser.shot(f"{shots}/{name}{'-phone' if part == 'phone' else ''}.png")

    (on_a_phone if part == 'phone' else at_a_desk)(*people, shot)


if __name__ == '__main__':
    main(*sys.argv[1:9], shots=sys.argv[9] if len(sys.argv) > 9 else None)
    print('all seen')
