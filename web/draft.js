// What somebody has typed into the form for a job: kept in this tab until it is submitted, dropped or its
// author signs out, so that a reload, a glance at another page or a session that has ended loses nothing.
const kName = 'assay.draft';

export function keepDraft(user, submission) {
  try { sessionStorage.setItem(kName, JSON.stringify({user, submission})); } catch { /* full or forbidden: no draft */ }
}

export function draftOf(user) {
  try {
    const draft = JSON.parse(sessionStorage.getItem(kName));
    return draft && draft.user === user ? draft.submission : null;
  } catch { return null; }
}

export function dropDraft() {
  try { sessionStorage.removeItem(kName); } catch { /* there is none */ }
}
