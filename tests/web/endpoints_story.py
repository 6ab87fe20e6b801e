#!/usr/bin/env python3
"""A job that runs, entered in a real browser: a terminal, Jupyter, and pages that try to do harm:
   endpoints_story.py LINK JOB [SCREENSHOTS]"""
import sys

from browser import Browser

# Runs code in a new kernel, as Jupyter's own pages do.
KERNEL = r'''(async () => {
  const xsrf = (document.cookie.match(/_xsrf=([^;]+)/) || [])[1] || '';
  const made = await (await fetch('/api/kernels', {method: 'POST', headers: {'X-XSRFToken': xsrf}})).json();
  const socket = new WebSocket(`ws://${location.host}/api/kernels/${made.id}/channels?session_id=story`);
  await new Promise((good, bad) => { socket.onopen = good; socket.onerror = () => bad(new Error('no WebSocket')); });
  const header = {msg_id: 'm1', username: '', session: 'story', msg_type: 'execute_request', version: '5.2'};
  socket.send(JSON.stringify({header, parent_header: {}, metadata: {}, channel: 'shell', buffers: [],
    content: {code: 'import os; print(os.environ["RANK"], 6 * 7)', silent: false, store_history: false, user_expressions: {}, allow_stdin: false}}));
  return await new Promise((good, bad) => {
    setTimeout(() => bad(new Error('the kernel is silent')), 60000);
    socket.onmessage = e => { const m = JSON.parse(e.data); if (m.msg_type === 'stream') good(m.content.text); };
  });
})()'''


def main(link, job, shots=None):
    platform = link.split('#')[0].rstrip('/')
    with Browser() as browser:
        browser.open(link)
        browser.wait('dialog h3', 'admin')
        browser.type('dialog input[name=password]', 'correct horse battery staple')
        browser.click('dialog button', 'Save')
        browser.wait('h1', 'Jobs')
        browser.js(f"location.hash = '#/jobs/{job}/endpoints'")
        browser.wait('td', 'Jupyter')
        browser.wait('td .chip', 'starts when it is opened')
        browser.wait('pre', f'assay ssh {job}')

        browser.click('button', 'Terminal')
        browser.until(lambda: browser.text('.terminal-lines').strip(), 'a prompt')
        browser.js("document.querySelector('.terminal-input').focus()")
        browser.send('Input.insertText', text='stty size; printf "\\033[1;31mrank\\033[0m %s\\n" "$RANK=$((6 * 7))"')
        browser.key('Enter')
        browser.wait('.terminal-lines', 'rank 0=42')
        browser.wait('.terminal-lines .tb', 'rank')
        if shots:
            browser.shot(f'{shots}/job-endpoints.png')

        page = browser.open_site('Jupyter', f'job{job}-jupyter.localhost')
        browser.wait('#notebook_list', 'checkpoint-1.pt')
        assert 'ticket' not in browser.js('location.href'), 'the ticket stays in the address'
        assert browser.js('window.opener') is None, 'the site knows who opened it'
        if shots:
            browser.shot(f'{shots}/jupyter.png')
        said = browser.js(KERNEL)
        assert said.strip() == '0 42', said

        # What a page of an application may try.
        assert 'assay' not in browser.js('document.cookie'), 'a script sees the cookie'
        for address in (platform, platform.replace('127.0.0.1', 'localhost')):
            read = browser.js(f"fetch('{address}/api/v1/session', {{credentials: 'include'}}).then(r => r.text(), e => 'refused')")
            assert read == 'refused', read
            done = browser.js(f"fetch('{address}/api/v1/jobs/{job}/kill', {{method: 'POST', mode: 'no-cors', credentials: 'include'}}).then(r => r.type, e => 'refused')")
            assert done in ('opaque', 'refused'), done
        terminal = browser.js(f"new Promise(end => {{ const s = new WebSocket('{platform.replace('http', 'ws')}/api/v1/jobs/{job}/terminal'); s.onopen = () => end('open'); s.onerror = () => end('refused'); }})")
        assert terminal == 'refused', terminal
        for domain in ('localhost', '.localhost', '127.0.0.1'):
            browser.js(f"document.cookie = 'assay_session=evil; path=/; domain={domain}'")
        framed = browser.js(f"new Promise(end => {{ const f = document.createElement('iframe'); f.onload = () => {{ try {{ end(f.contentDocument && f.contentDocument.body.innerText ? 'readable' : 'closed'); }} catch {{ end('closed'); }} }}; f.src = '{platform}/'; document.body.append(f); }})")
        assert framed == 'closed', framed

        browser.session = page
        browser.js(f"location.hash = '#/jobs/{job}/brief'")
        browser.wait('h1')
        browser.wait('.title .chip', 'Running')
        assert browser.js("fetch('/api/v1/session').then(r => r.status)") == 200, 'the session is gone'
        assert not browser.errors, browser.errors


main(*sys.argv[1:])
