// The script of the page: plain JavaScript without a build step or external resources. It inserts data as text only.
const EVENTS_SHOWN = 100;
const ROWS_SHOWN = 50;
const CLAIMS_SHOWN = 3;
const asked = new URLSearchParams(location.search);
const tenant = `/api/tenants/${encodeURIComponent(asked.get('tenant') || 'default')}`;
let project = asked.get('project');
const token = sessionStorage.getItem('token');
const at = (id) => document.getElementById(id);
/** As the server makes its own. */
const cursorAt = (position) => btoa(`p:${position}`);

function row(cells, tag = 'td') {
  const tr = document.createElement('tr');
  for (const cell of cells) {
    const box = document.createElement(tag);
    const { text, look, full } =
      cell !== null && typeof cell === 'object' && !(cell instanceof Node) ? cell : { text: cell };
    box.append(text instanceof Node ? text : String(text ?? ''));
    box.className = [look, typeof text === 'number' ? 'number' : ''].filter(Boolean).join(' ');
    box.title = full ?? (text instanceof Node ? '' : String(text ?? ''));
    tr.append(box);
  }
  return tr;
}

function table(id, heads, rows, none) {
  const more = rows.length - ROWS_SHOWN;
  const lines = rows.slice(0, ROWS_SHOWN).map((cells) => row(cells));
  const shown = lines.length > 0 ? [row(heads, 'th'), ...lines] : [row([none])];
  if (more > 0) shown.push(row([`and ${more} more`]));
  at(id).className = rows.length > 0 ? '' : 'quiet';
  at(id).replaceChildren(...shown);
}

function bar(done, all) {
  const progress = document.createElement('progress');
  progress.max = Math.max(all, 1);
  progress.value = done;
  progress.textContent = `${done} of ${all}`;
  return progress;
}

/** Of today the time, of other days the day too; the whole moment when pointed at. */
function moment(iso) {
  const then = new Date(iso);
  const time = then.toLocaleTimeString('en-GB');
  const isToday = then.toDateString() === new Date().toDateString();
  return { text: isToday ? time : `${then.toLocaleDateString('en-CA')} ${time}`, full: iso };
}

async function ask(path) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const reply = await fetch(tenant + path, { headers });
  at('key-form').hidden = reply.status !== 401;
  if (!reply.ok) {
    const { detail, code } = await reply.json();
    throw Object.assign(new Error(detail), { status: reply.status, code });
  }
  return reply;
}
const read = async (path) => (await ask(path)).json();
const within = (path) => `/projects/${encodeURIComponent(project)}${path}`;
const number = (text) => ({ text, look: 'number' });
const spare = (cell) => ({ ...(typeof cell === 'object' ? cell : { text: cell }), look: 'spare' });

async function show() {
  const [status, { agents }] = await Promise.all([read(within('/status')), read(within('/agents'))]);
  const sum = ({ completed, in_progress, pending }) => completed + in_progress + pending;
  const all = sum(status.total);
  at('nothing').textContent = `${project} has no plan yet`;
  at('empty').hidden = status.position > 0;
  at('shown').hidden = status.position === 0;
  const progress = [`${status.total.completed} of ${all} done`];
  if (status.total.in_progress > 0) progress.push(`${status.total.in_progress} in progress`);
  if (status.counts.ready > 0) progress.push(`${status.counts.ready} ready`);
  at('total').textContent = all === 0 ? 'The plan has no tasks yet' : progress.join(' · ');
  const tracks = Object.entries(status.tracks);
  table(
    'tracks',
    ['Track', number('Done'), number('In progress'), number('Open'), ''],
    tracks.map(([name, t]) => [name, t.completed, t.in_progress, t.pending, bar(t.completed, sum(t))]),
    '',
  );
  at('needed').hidden = status.waiting.length === 0;
  const waiting = status.waiting.map((one) => [one.task_id, one.waits_for, one.reason]);
  table('waiting', ['Task', 'Waits for', 'Reason'], waiting, '');
  table(
    'agents',
    ['Agent', 'Claims', number('Done'), number('Refused'), spare('Last seen')],
    agents
      .sort((a, b) => (a.last_activity < b.last_activity ? 1 : -1))
      .map((one) => [one.agent_id, held(one.claims), one.completed, one.rejected, lastSeen(one)]),
    'No agent has connected yet. Start one: gen next, or gen run -- ./agent.sh',
  );
  return status.position;
}

const lastSeen = (agent) => spare(moment(agent.last_activity));

function held(claims) {
  const more = claims.length - CLAIMS_SHOWN;
  return claims.slice(0, CLAIMS_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

let due = false;
function showSoon() {
  if (due) return;
  due = true;
  setTimeout(() => {
    due = false;
    show().catch(() => {});
  }, 500);
}

const LOOKS = {
  RESULT_SUBMITTED: 'good',
  RESULT_ADOPTED: 'good',
  RESULT_REJECTED: 'bad',
  CLAIM_REJECTED: 'odd',
  CLAIM_LOST: 'odd',
  TASK_HELD: 'odd',
};

const EVENT_HEADS = ['Time', 'Event', 'Task', 'Agent', { ...number('Generation'), look: 'number spare' }];

function tell(event) {
  const about = event.task_id ?? (event.feature_id ? `${event.feature_id} ${event.edge}` : '');
  const why = event.payload.rejection_reason ? ` (${event.payload.rejection_reason})` : '';
  const text = event.event_type.toLowerCase().replaceAll('_', ' ') + why;
  const generation = { text: event.generation, look: 'spare' };
  const what = { text, look: LOOKS[event.event_type] };
  const line = row([moment(event.timestamp), what, about, event.agent_id, generation]);
  const events = at('events');
  if (events.rows.length === 0) events.append(row(EVENT_HEADS, 'th'));
  events.rows[0].after(line);
  while (events.rows.length > EVENTS_SHOWN + 1) events.rows[EVENTS_SHOWN + 1].remove();
  showSoon();
}

function link(said, look) {
  if (at('link').textContent === said) return;
  at('link').textContent = said;
  at('link').className = look;
}
const lost = () => {
  if (at('link').className !== 'lost')
    link(`connection lost at ${new Date().toLocaleTimeString('en-GB')}, retrying`, 'lost');
};
const soon = () => new Promise((resolve) => setTimeout(resolve, 1000));

/** Not EventSource: that cannot say who asks. */
async function follow(cursor) {
  for (;;) {
    try {
      const reply = await ask(within(`/events/stream?after=${cursor}`));
      link('live', 'live');
      showSoon();
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (text + value).split('\n\n');
        text = blocks.pop();
        for (const block of blocks) {
          const id = /^id: (.*)$/m.exec(block);
          const data = /^data: (.*)$/m.exec(block);
          if (data) tell(JSON.parse(data[1]));
          if (id) cursor = encodeURIComponent(id[1]);
        }
      }
    } catch {
      // Whatever broke it, the next try goes on from the cursor.
    }
    lost();
    await soon();
  }
}

async function begin() {
  const { projects } = await read('/projects');
  const ids = projects.map((one) => one.project_id);
  if (project && !ids.includes(project)) ids.push(project);
  project ??= ids[0] ?? null;
  at('which').hidden = ids.length === 0;
  at('project').replaceChildren(...ids.map((id) => new Option(id, id, false, id === project)));
  if (project === null) {
    at('empty').hidden = false;
    link('live', 'live');
    return false;
  }
  document.title = `${project} · Genesis Fleet`;
  const position = await show();
  follow(cursorAt(Math.max(0, position - EVENTS_SHOWN)));
  return true;
}

/** Shown until a plan makes the project. */
function showUnknownProject() {
  at('nothing').textContent = `${project} has no plan yet`;
  at('empty').hidden = false;
  link('live', 'live');
}

async function start() {
  for (;;) {
    try {
      if (await begin()) return;
    } catch (error) {
      if (error.code === 'UNKNOWN_PROJECT') {
        showUnknownProject();
        await soon();
        continue;
      }
      if (error.status === 401) return link(token ? error.message : 'key required', 'lost');
      if (error.status < 500) return link(error.message, 'lost');
      lost();
    }
    await soon();
  }
}

at('project').addEventListener('change', () => {
  asked.set('project', at('project').value);
  location.search = asked;
});
at('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('token', at('token').value);
  location.reload();
});
start();
