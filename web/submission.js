// A submission as a command and as curl, to be pasted into a shell.

export function quote(word) {
  const text = String(word);
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export function asCommand(s) {
  const out = ['assay submit'];
  const option = (name, value) => { if (value !== undefined && value !== '') out.push(`--${name} ${quote(value)}`); };
  if (s.suite) out.push('suite.yaml');
  option('name', s.name);
  option('command', s.command);
  for (const name of ['launch', 'nodes', 'procs', 'devices']) option(name, s[name]);
  option('device-type', s.device_type);
  if (s.whole_nodes) out.push('--whole-nodes');
  for (const name of ['image', 'queue', 'team', 'priority']) option(name, s[name]);
  if (s.preemptible) out.push('--preemptible');
  option('time', s.time);
  if (s.retries) option('retries', s.retries.count);
  for (const [name, value] of Object.entries(s.env || {})) option('env', `${name}=${value}`);
  for (const [variable, name] of Object.entries(s.secrets || {})) option('secret', variable === name ? name : `${name}=${variable}`);
  for (const m of s.mounts || []) option('mount', `${m.source}:${m.target}${m.read_only ? ':ro' : ''}`);
  for (const e of s.endpoints || []) option('endpoint', e.kind === 'port' ? `${e.name || 'port'}=${e.port ?? ''}` : e.kind);
  for (const id of s.after || []) option('after', id);
  option('array', s.array);
  return out.join(' \\\n  ');
}

export function asCurl(s, origin) {
  return `curl -H "Authorization: Bearer $ASSAY_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d ${quote(JSON.stringify(s))} \\\n  ${quote(origin + '/api/v1/jobs')}`;
}
