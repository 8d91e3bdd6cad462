/** Plain JavaScript, as the browser gets it: no build, nothing from elsewhere. What it shows is only ever text. */
export const PAGE_SCRIPT = `const EVENTS_SHOWN = 100;
const PAST_SHOWN = 500;
const asked = new URLSearchParams(location.search);
const tenant = '/api/tenants/' + encodeURIComponent(asked.get('tenant') || 'default');
let project = asked.get('project');
let token = sessionStorage.getItem('token');
const at = (id) => document.getElementById(id);

function row(cells, tag = 'td') {
  const tr = document.createElement('tr');
  for (const cell of cells) {
    const box = document.createElement(tag);
    box.append(cell instanceof Node ? cell : String(cell ?? ''));
    tr.append(box);
  }
  return tr;
}

function table(id, heads, rows, none) {
  const shown = rows.length > 0 ? [row(heads, 'th'), ...rows.map((cells) => row(cells))] : [row([none])];
  at(id).className = rows.length > 0 ? '' : 'quiet';
  at(id).replaceChildren(...shown);
}

function bar(done, all) {
  const progress = document.createElement('progress');
  progress.max = Math.max(all, 1);
  progress.value = done;
  progress.textContent = done + ' of ' + all;
  return progress;
}

async function ask(path, headers = {}) {
  const reply = await fetch(tenant + path, {
    headers: token ? { ...headers, authorization: 'Bearer ' + token } : headers,
  });
  if (reply.status === 401) at('door').hidden = false;
  if (!reply.ok) throw new Error((await reply.json()).detail);
  return reply;
}
const read = async (path) => (await ask(path)).json();
const within = (path) => '/projects/' + encodeURIComponent(project) + path;

async function show() {
  const [status, { agents }] = await Promise.all([read(within('/status')), read(within('/agents'))]);
  const sum = ({ completed, in_progress, pending }) => completed + in_progress + pending;
  const tracks = [...Object.entries(status.tracks), ['all', status.total]];
  table(
    'tracks',
    ['Track', 'Done', 'At work', 'Open', ''],
    sum(status.total) === 0
      ? []
      : tracks.map(([name, t]) => [name, t.completed, t.in_progress, t.pending, bar(t.completed, sum(t))]),
    'The plan has no tasks yet.',
  );
  table(
    'waiting',
    ['Task', 'Waits for', 'Why'],
    status.waiting.map((one) => [one.task_id, one.waits_for, one.reason]),
    'Nothing does.',
  );
  table(
    'agents',
    ['Agent', 'Holds', 'Done', 'Refused', 'Last seen'],
    agents.map((one) => [one.agent_id, one.claims.join(', '), one.completed, one.rejected, one.last_activity]),
    'No agent has come yet.',
  );
  return status.position;
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

function tell(event) {
  const about = event.task_id ?? (event.feature_id ? event.feature_id + ' ' + event.edge : '');
  at('events').prepend(row([event.timestamp, event.event_type, about, event.agent_id, event.generation]));
  while (at('events').rows.length > EVENTS_SHOWN) at('events').lastChild.remove();
  showSoon();
}

function link(said, isLost) {
  at('link').textContent = said;
  at('link').className = isLost ? 'lost' : 'quiet';
}

/** Not EventSource: that cannot say who asks. */
async function follow(cursor) {
  for (;;) {
    try {
      const reply = await ask(within('/events/stream?after=' + cursor));
      link('live', false);
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const blocks = (text + value).split('\\n\\n');
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
    link('lost, trying again', true);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function begin() {
  const { projects } = await read('/projects');
  const ids = projects.map((one) => one.project_id);
  if (project && !ids.includes(project)) ids.push(project);
  project ??= ids[0];
  at('empty').hidden = project !== undefined;
  at('project').replaceChildren(...ids.map((id) => new Option(id, id, false, id === project)));
  if (project === undefined) {
    link('live', false);
    setTimeout(() => begin().catch(failed), 2000);
    return;
  }
  const position = await show();
  at('shown').hidden = false;
  follow(position <= PAST_SHOWN ? '' : 'now');
}
const failed = (error) => link(error.message, true);

at('project').addEventListener('change', () => {
  asked.set('project', at('project').value);
  location.search = asked;
});
at('door').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('token', at('token').value);
  location.reload();
});
begin().catch(failed);
`;
