#!/usr/bin/env python3
"""Serves web/ with canned answers of the REST interface, to look at the pages without a server:
   tests/web/fixture_server.py [PORT]"""
import datetime
import glob
import http.server
import json
import math
import re
import sys
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDER = 'page masthead tables case charts details experiment sweep server narrow print'.split()
CSP = "default-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'self'"
START = time.time() - 900


def iso(t):
    return None if t is None else datetime.datetime.fromtimestamp(t, datetime.timezone.utc).isoformat(timespec='milliseconds').replace('+00:00', 'Z')


def job(id, name, state, verdict='none', owner='lin', team='vision', devices=8, kind='H200', ago=900, took=None, pending=None, place=0):
    start = None if pending else START - ago + 60
    return {'id': id, 'name': name, 'owner': owner, 'team': team, 'queue': 'default', 'priority': 100, 'state': state, 'devices': devices, 'device_type': kind,
            'verdict': verdict, 'submitted': iso(START - ago), 'started': iso(start), 'ended': iso(start + took) if took else None, 'array': 0,
            'pending': pending, 'place': place, 'estimated_start': iso(time.time() + 1500) if pending else None}


JOBS = [
    job(48, 'resnet20-cosine-lr', 'running', ago=0),
    job(47, 'bert-large pretraining, phase 2', 'queued', devices=16, pending="asks for 16 devices of type H200; the team's quota is 8", place=1, owner='maria'),
    job(46, 'sweep-weight-decay', 'queued', pending='waits for 8 devices of type H200; job 48 is expected to end first', place=2),
    job(45, '<img src=x onerror=alert(1)> \u202egnp.exe\u0007', 'failed', 'incomplete', ago=5000, took=41, owner='<b>eve</b>'),
    job(44, 'acceptance-h200-4-nodes', 'finished', 'valid', devices=32, ago=9000, took=3400, owner='maria', team='infra'),
    job(43, 'resnet50-throughput', 'finished', 'invalid', ago=16000, took=2210),
    job(42, 'x' * 10000, 'killed', ago=26000, took=100, owner='admin', team=''),
    job(41, '训练任务 ResNet-50 基线', 'paused', pending='paused by admin', owner='wang'),
    job(40, 'llm-7b-finetune', 'finished', 'valid', devices=16, ago=90000, took=28800, owner='sam', team='nlp'),
]


def detail(j):
    return {**j, 'pending': j['pending'] and {'kind': 'resources', 'words': j['pending']},
            'submission': {'name': j['name'], 'command': 'torchrun --nnodes 2 --nproc-per-node 4 train.py \\\n  --model resnet20 --epochs 200', 'launch': 'per-node', 'nodes': 2, 'procs': 4, 'device_type': 'H200', 'time': '2h',
                           'env': {'NCCL_DEBUG': 'WARN', 'MARKUP': '<script>alert(1)</script>'}, 'mounts': [{'source': '/data/cifar10', 'target': '/data'}],
                           'endpoints': [{'kind': 'jupyter'}, {'kind': 'tensorboard'}, {'kind': 'port', 'name': 'dashboard', 'port': 8265}]},
            'life': {'attempt': 1, 'restarts': 0, 'retries': 0, 'cause': 'none', 'message': 'rank 3 ended with exit code 1' if j['state'] == 'failed' else '', 'exit_code': 1 if j['state'] == 'failed' else None,
                     'placement': [{'node': 'node1', 'devices': 4}, {'node': 'node2', 'devices': 4}] if j['started'] else [], 'ran_s': None, 'not_before': None},
            'attempts': [{'attempt': 1, 'run': bool(j['started']), 'started': j['started'], 'ended': j['ended']}], 'may': ['read_job', 'stop_job', 'submit_job', 'delete_job', 'share_job', 'change_job'], 'shared_with': ['maria']}


def metrics(query):
    begin, now = START, time.time()
    since = max(float(query.get('from', 0) or 0), begin)
    until = min(float(query.get('to', now) or now), now)
    step = max((until - since) / 400, 1)
    times = [since + i * step for i in range(int((until - since) / step) + 1)]
    wave = lambda t, k: math.sin((t - begin) / (17 + 3 * k)) + 0.4 * math.sin((t - begin) / 3.1 + k)
    series = []

    def add(name, unit, scope, of, f, host=None):
        s = {'name': name, 'title': name, 'unit': unit, 'scope': scope, 'of': of, 'replaces_from': since, 'points': [[round(t, 3), f(t)] for t in times]}
        series.append({**s, 'host': host} if host else s)
    add('throughput', 'samples/s', 'job', '', lambda t: 41000 * (1 - math.exp(-(t - begin) / 40)) + 900 * wave(t, 0))
    for r in range(8):
        add('throughput', 'samples/s', 'rank', str(r), lambda t, r=r: (5100 - (700 if r == 5 and t - begin > 500 else 0)) * (1 - math.exp(-(t - begin) / 40)) + 120 * wave(t, r))
    for r in range(4):
        add('loss', '', 'rank', str(r), lambda t, r=r: 2.3 * math.exp(-(t - begin) / 260) + 0.18 + 0.03 * wave(t * 2, r))
    add('accuracy', '', 'job', '', lambda t: 0.93 * (1 - math.exp(-(t - begin) / 200)))
    add('lr', '', 'rank', '0', lambda t: 0.05 * (1 + math.cos((t - begin) / 900 * 3)))
    for n, v in (('step_time', .2), ('data_s', .012), ('compute_s', .13), ('comm_s', .04), ('optimizer_s', .015)):
        add(n, 's', 'rank', '0', lambda t, v=v: v * (1 + 0.05 * wave(t, 3)))
    for n in range(2):
        add('util', '%', 'node', f'node{n}', lambda t, n=n: 38 + 4 * wave(t, n), f'gpu-{n + 1}')
        add('memory', 'B', 'node', f'node{n}', lambda t, n=n: 2.1e11 + 4e9 * wave(t, n), f'gpu-{n + 1}')
        for d in range(4):
            add('util', '%', 'device', f'node{n}/dev{d}', lambda t, k=4 * n + d: max(0, min(100, 93 + 3 * wave(t, k) - (25 if k == 5 and t - begin > 500 else 0))))
            add('power', 'W', 'device', f'node{n}/dev{d}', lambda t, k=4 * n + d: 610 + 25 * wave(t, k))
            add('temperature', '°C', 'device', f'node{n}/dev{d}', lambda t, k=4 * n + d: 61 + 6 * (1 - math.exp(-(t - begin) / 200)) + wave(t, k))
    marks = [{'at': iso(begin), 't': begin, 'kind': 'round', 'text': 'resnet20, round 1'}, {'at': iso(begin), 't': begin, 'to': begin + 22, 'kind': 'phase', 'text': 'init'},
             {'at': iso(begin), 't': begin + 22, 'to': now, 'kind': 'phase', 'text': 'train'}]
    marks += [{'at': iso(begin + t), 't': begin + t, 'to': begin + t + 18, 'kind': 'evaluate', 'text': 'evaluate'} for t in (200, 420, 640, 860)]
    return {'series': series, 'marks': marks, 'newest': now, 'generation': 1, 'indexing': False, 'ended': False, 'live': True}


TOTAL0 = 1_000_000


def line(n):
    text = f'step {n // 8:>7}  loss {2.3 * math.exp(-n / 3e5) + .2:.4f}  lr 0.0831  5,103 images/s'
    level = 'text'
    if n % 11 == 0:
        text, level = '[PerfLog] {"event": "STEP_END", "value": {"loss": 0.41, "samples": 1024}, "step": %d}' % (n // 8), 'perf'
    if n % 613 == 0:
        text, level = 'UserWarning: the data loader is slower than the devices <b>markup</b> \u202e right to left', 'warning'
    if n == 4242:
        text, level = 'RuntimeError: NCCL communicator was aborted on rank 5', 'error'
    return {'n': n, 'at': iso(START + n / 1000), 'case': 'main', 'round': 1, 'node': f'gpu-{n % 8 // 4 + 1}', 'rank': n % 8, 'text': text, 'level': level}


def log(query):
    total = TOTAL0 + int((time.time() - START) * 40)
    start, count = int(query.get('from', 1)), min(int(query.get('lines', 200)), 2000)
    if start < 0:
        start = max(1, total + start + 1)
    lines, n = [], start
    needle = query.get('search', '').lower()
    while n <= total and len(lines) < count and n < start + 20000:
        x = line(n)
        if needle in x['text'].lower():
            lines.append(x)
        n += 1
    return {'lines': lines, 'next': n, 'total': total, 'first_error': 4242, 'generation': 1, 'indexing': False, 'ranks': list(range(8)), 'ended': False, 'live': True}


def nodes():
    out = [{'name': f'gpu-{i}', 'device_type': 'H200', 'devices': 8, 'available': True, 'drained': False, 'drained_by': '', 'reason': '', 'lost': False, 'uses': []} for i in range(1, 9)]
    out[0]['uses'] = [{'job': 48, 'owner': 'lin', 'devices': 4, 'indices': [0, 1, 2, 3]}, {'job': 39, 'owner': 'sam', 'devices': 2, 'indices': []}]
    out[1]['uses'] = [{'job': 48, 'owner': 'lin', 'devices': 4, 'indices': [4, 5, 6, 7]}]
    out[2]['uses'] = out[3]['uses'] = [{'job': 38, 'owner': 'maria', 'devices': 8, 'indices': list(range(8))}]
    for n in (0, 2, 3):
        out[n]['readings'] = {'age_s': 1, 'node': {'util': 0.4, 'mem_used_bytes': 3.1e11, 'mem_total_bytes': 1e12, 'power_w': 4200, 'temp_c': None}, 'devices': [{'util': (n * 8 + i) % 11 / 10, 'mem_used_bytes': 9e9 * (i + 1), 'mem_total_bytes': 1.5e11, 'power_w': 120 + 60 * i, 'temp_c': 40 + 5 * i} for i in range(8)]}
    out[5].update(drained=True, drained_by='admin', reason='fan of device 3')
    out[6].update(lost=True)
    return {'nodes': out, 'trouble': ''}


SUITE = 'cases:\n  - name: main\n    model: resnet20-cosine-lr\n    nodes: 2\n    procs: 4\n    launch: per-node\n    command: torchrun --nnodes 2 …\n'
USAGE = [{'user': u, 'team': t, 'month': m, 'device_type': 'H200', 'jobs': n, 'device_hours': h, 'idle_device_hours': h * i, 'energy_kwh': h * .61, 'unmetered_device_hours': 0, 'unwatched_device_hours': 0}
         for u, t, m, n, h, i in (('lin', 'vision', '2026-10', 41, 1240.5, .08), ('maria', 'infra', '2026-10', 12, 910.2, .03), ('sam', 'nlp', '2026-10', 7, 2210, .21), ('lin', 'vision', '2026-11', 22, 640.25, .11), ('wang', 'vision', '2026-11', 3, 96, .4))]


def answer(method, path, query, body):
    if path == '/session':
        return (204, None) if method == 'DELETE' else (200, {'user': 'admin', 'role': 'admin', 'teams': ['vision', 'infra'], 'language': 'en', 'csrf': 'c', 'expires': iso(time.time() + 9e4)})
    if path == '/jobs' and method == 'POST':
        return 201, {'jobs': [JOBS[0]]}
    if path == '/jobs':
        states = [s for s in query.get('state', '').split(',') if s]
        found = [j for j in JOBS if (not states or j['state'] in states) and query.get('search', '').lower() in j['name'].lower()]
        return 200, {'jobs': found, 'total': 137 if len(found) == len(JOBS) else len(found)}
    if path == '/jobs/preview':
        problems = []
        if not body.get('name'):
            problems.append({'path': 'name', 'message': 'is missing'})
        if not body.get('command') and not body.get('suite'):
            problems.append({'path': '', 'message': 'neither a suite nor a command'})
        for i, m in enumerate(body.get('mounts', [])):
            if not m['target'].startswith('/'):
                problems.append({'path': f'mounts[{i}].target', 'message': f"not an absolute path: '{m['target']}'"})
        if problems:
            return 200, {'problems': problems}
        return 200, {'problems': [], 'suite': SUITE, 'plan': '1 case, 1 round\n  main: 2 nodes x 4 processes', 'placement': [{'node': 'gpu-5', 'devices': 4}, {'node': 'gpu-8', 'devices': 4}], 'place': 0, 'estimated_start': iso(time.time()), 'pending': None}
    m = re.fullmatch(r'/jobs/(\d+)(/.*)?', path)
    if m:
        j = next((j for j in JOBS if j['id'] == int(m[1])), None)
        if not j:
            return 404, {'error': {'code': 'not_found', 'message': 'there is no such job'}}
        rest = m[2] or ''
        if rest == '/timeline':
            return 200, {'events': [{'at': j['submitted'], 'event': 'submitted', 'from': 'queued', 'to': 'queued', 'attempt': 0, 'who': j['owner'], 'words': ''}, {'at': j['started'], 'event': 'placed', 'from': 'queued', 'to': 'scheduling', 'attempt': 1, 'who': '', 'words': 'on gpu-1, gpu-2'},
                                    {'at': j['started'], 'event': 'started', 'from': 'scheduling', 'to': 'running', 'attempt': 1, 'who': '', 'words': ''}]}
        if rest == '/suite':
            return 200, SUITE
        if rest == '/metrics':
            return 200, metrics(query)
        if rest == '/log':
            return 200, log(query)
        if rest == '/report':
            html = sorted(glob.glob(str(ROOT / 'tests/golden/report/*.html')))
            return 200, Path(html[0]).read_text() if html else '<p>report</p>'
        if rest == '/judgement':
            return 200, {'cases': [{'name': 'main', 'verdict': 'INCOMPLETE', 'findings': [{'severity': 'warning', 'reason': 'rank 5 is 14 % slower than the median of the others', 'advice': 'look at its device: power, temperature, clocks'}]}]}
        if not rest:
            return 200, detail(j)
        return 200, {'jobs': [JOBS[0]]}
    if path == '/nodes':
        return 200, nodes()
    if path == '/others':
        return 200, {'jobs': [], 'trouble': ''}
    if path == '/queues':
        return 200, {'queues': [{'name': 'default', 'priority': 0, 'closed': False, 'preempts': True, 'waiting': 2, 'running': 3}, {'name': 'acceptance', 'priority': 200, 'closed': False, 'preempts': True, 'waiting': 0, 'running': 1}]}
    if path == '/reservations':
        return 200, {'reservations': [{'name': 'move', 'nodes': ['gpu-8'], 'from': iso(START + 86400), 'to': iso(START + 2 * 86400), 'teams': [], 'etag': '"1"'}]}
    if path == '/policies/idle':
        return 200, {'warn_s': 600, 'stop_s': 1800, 'etag': '"1"'}
    if path == '/policies/retention':
        return 200, {'logs_days': 90, 'jobs_days': 730, 'etag': '"1"'}
    if path == '/policies/retention/preview':
        return 200, {'jobs': [], 'logs': [], 'jobs_total': 0, 'logs_total': 0, 'whole': True}
    if path == '/teams':
        return 200, {'teams': [{'name': 'vision', 'weight': 2, 'quota': {'H200': 16}, 'user_quota': {'H200': 8}, 'members': ['lin', 'wang']}, {'name': 'infra', 'weight': 1, 'quota': {}, 'user_quota': {}, 'members': ['maria']}]}
    if path == '/users':
        return 200, {'users': [{'name': 'admin', 'full_name': '', 'role': 'admin', 'disabled': False}, {'name': 'lin', 'full_name': 'Lin Chen', 'role': 'member', 'disabled': False}]}
    if path == '/tokens':
        return 200, {'tokens': [{'name': 'laptop', 'made': iso(START), 'expires': None}]}
    if path == '/secrets':
        return 200, {'secrets': [{'scope': 'own', 'name': 'HF_TOKEN', 'author': 'admin', 'changed': iso(START), 'usable': True, 'etag': '"1"'}, {'scope': 'team:vision', 'name': 'deploy-key', 'author': 'lin', 'changed': iso(START), 'usable': False, 'etag': '"2"'}]}
    if path == '/pushed':
        return 200, {'tests': [{'id': '20261115-ab3dE9', 'name': 'ResNet-50 on 8 H200', 'suite': 'aiperf', 'verdict': 'VALID', 'finished': iso(START), 'machine': '8 × H200'}]}
    if path == '/templates':
        return 200, {'templates': [{'name': 'resnet', 'scope': 'all', 'content': detail(JOBS[0])['submission']}]}
    if path == '/usage':
        return 200, {'usage': USAGE}
    if path == '/audit':
        return 200, {'deeds': [{'number': 1, 'at': iso(START), 'who': 'admin', 'address': '127.0.0.1', 'deed': 'drain_node', 'subject': 'gpu-6', 'status': 200}]}
    return 404, {'error': {'code': 'not_found', 'message': 'there is nothing at this address'}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def send(self, status, kind, body):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        if '/report' not in self.path:
            self.send_header('Content-Security-Policy', CSP)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        if url.path == '/':
            return self.send(200, 'text/html; charset=utf-8', (ROOT / 'web/index.html').read_text())
        if url.path == '/static/style.css':
            return self.send(200, 'text/css', '\n'.join((ROOT / f'src/page/assets/{n}.css').read_text() for n in ORDER) + (ROOT / 'web/app.css').read_text())
        if url.path.startswith('/static/'):
            file = ROOT / 'web' / Path(url.path).name
            kinds = {'.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml'}
            return self.send(200, kinds[file.suffix], file.read_text()) if file.exists() else self.send(404, 'text/plain', 'none')
        status, result = answer(self.command, url.path.removeprefix('/api/v1'), dict(urllib.parse.parse_qsl(url.query)), json.loads(body or '{}'))
        if isinstance(result, str):
            return self.send(status, 'text/html' if '/report' in url.path else 'text/plain; charset=utf-8', result)
        return self.send(status, 'application/json', '' if result is None else json.dumps(result))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any


if __name__ == '__main__':
    server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1]) if len(sys.argv) > 1 else 8481), Handler)
    print(f'http://127.0.0.1:{server.server_address[1]}/', flush=True)
    server.serve_forever()
