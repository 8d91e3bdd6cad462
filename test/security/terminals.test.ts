/**
 * Who: an agent, a project file or a server whose text a person sees through `gen`.
 *
 * What they want: to make the terminal act on that text: write the clipboard (OSC 52), clear the screen, hide or
 * reorder words (bidi overrides, zero-width characters), or rewrite lines that `gen` printed.
 *
 * What stops them: every command writes through `SanitizedOutput`, which passes only text and the CLI's own styles.
 * Commands have no other stream, so a new one cannot bypass it. JSON keeps its values: characters that a terminal would
 * obey are written as `\uXXXX`.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startPlannedHarness } from '../../src/cli/testing/cli-harness.js';
import { type CommandResult, runGen, type TerminalOptions } from '../../src/cli/testing/terminal.js';
import { createProject, FEATURE_ID, writeProjectFile } from '../../src/cli/testing/workspace.js';

const WORD = 'evil-words';
const CLIPBOARD = '\u001b]52;c;ZXZpbA==\u0007';
const CLEAR_SCREEN = '\u001b[2J';
const BLINKING = '\u001b[5;41m';
const C1_CLIPBOARD = '\u009d52;c;ZXZpbA==\u009c';
const BIDI = '\u202egnp.exe\u202c\u2066x\u2069';
const INVISIBLE = '\u200b\u200e\u2060\ufeff\u{e0041}';
const HOSTILE = `${WORD}${CLIPBOARD}${CLEAR_SCREEN}${BLINKING}${C1_CLIPBOARD}${BIDI}${INVISIBLE}\rover\b\u007f`;

/** Sequences that a terminal obeys. Deliberately independent of the rule under test. */
const OBEYED_SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys is what this finds
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/;
/** The styles of the CLI's own painter, and the sequences of its progress line. No attack above uses one of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: styles begin with one
const OWN_STYLES = /\x1b\[(?:(?:1|2|22|31|32|33|35|36|39)m|\?(?:25|2026)[hl]|1G|0K)/g;

function expectPlain(line: string, { out, err }: CommandResult): void {
  for (const written of [out, err]) {
    const found = OBEYED_SEQUENCE.exec(written.replace(OWN_STYLES, ''));
    expect(found && written.slice(0, 2000), `gen ${line}`).toBeNull();
  }
}

const TERMINAL = { columns: 200, isStderrTty: true };
const PIPE = {};

/** A project in which an agent has left hostile text everywhere a person reads what agents write. */
async function startAttackedServer(): Promise<TerminalOptions> {
  const { terminal, server } = await startPlannedHarness();
  const path = `${server.url}/api/tenants/default/projects/shop`;
  const post = async (route: string, body: object, method = 'POST') => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${path}${route}`, { method, headers, body: JSON.stringify(body) });
    const replyBody = (await reply.json()) as { claim?: { generation: number; id: string } };
    expect(reply.status, `${route} ${JSON.stringify(replyBody)}`).toBeLessThan(300);
    return replyBody;
  };
  const tasks = [{ id: 'C-009-evil', description: HOSTILE }];
  await post('/tasks', { tasks });
  const who = { session_id: 's-evil' };
  const { claim } = await post('/claims', { task_id: 'A-001-schema', agent_id: 'agent-evil', ...who });
  const handle = { task_id: 'A-001-schema', ...who, claim_id: claim?.id };
  await post('/tasks/A-001-schema/notes', { ...handle, generation: claim?.generation, text: HOSTILE });
  const message = { reason: 'ERROR', message: HOSTILE };
  await post('/claims/release', { ...handle, expected_generation: claim?.generation, ...message });
  await post('/claims', { task_id: 'C-009-evil', agent_id: 'agent-evil', ...who });
  const hold = { reason: HOSTILE, expected_generation: 1 };
  await post('/tasks/A-001-schema/hold', hold);
  return terminal;
}

const READS = [
  'task history A-001-schema',
  'task show A-001-schema',
  'task explain A-001-schema',
  'task show C-009-evil',
  'events',
  'status',
  'plan show',
  'agents',
  'sessions',
];

describe('text that an agent wrote to the log', () => {
  it.each(READS)('is sanitized in the output of gen %s', async (line) => {
    const terminal = await startAttackedServer();
    for (const kind of [TERMINAL, PIPE]) {
      expectPlain(line, await runGen({ ...terminal, ...kind }, ...line.split(' ')));
    }
  });

  it('keeps its value in JSON, without characters that control a terminal', async () => {
    const terminal = await startAttackedServer();
    const reply = await runGen(terminal, 'events', '--json');
    expectPlain('events --json', reply);
    const events = reply.out
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each));
    expect(JSON.stringify(events)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  });
});

describe('text in the files of a workspace', () => {
  async function createAttackedWorkspace(): Promise<TerminalOptions> {
    const terminal = await createProject({});
    const hostileText = JSON.stringify(HOSTILE);
    const feature = `feature: ${FEATURE_ID}\ntitle: ${hostileText}\nintent: INT-001\nprofile: standard\npriority: high\n`;
    await writeProjectFile(terminal.cwd, `.ai-workspace/features/active/${FEATURE_ID}.yml`, feature);
    const checks = ['name: says_enough, type: agent', 'name: agreed, type: human'];
    const listed = checks.map((check) => `  - { ${check}, criterion: ${hostileText} }\n`).join('');
    await writeProjectFile(
      terminal.cwd,
      '.ai-workspace/graph/edges/intent_requirements.yml',
      `edge: "intent→requirements"\nchecklist:\n${listed}`,
    );
    const spawned = [
      'spawn',
      '--type',
      'spike',
      '--parent',
      FEATURE_ID,
      '--title',
      HOSTILE,
      '--reason',
      HOSTILE,
    ];
    expectPlain('spawn', await runGen(terminal, ...spawned));
    const edge = `${FEATURE_ID}#intent_requirements`;
    const claimed = await runGen(terminal, 'task', 'claim', edge, '--role', 'full_stack');
    expect(claimed).toMatchObject({ code: 0, out: expect.stringContaining(WORD) });
    const submit = ['task', 'submit', edge, '--data', hostileText, '--check', 'says_enough=pass'];
    const submitted = await runGen(terminal, ...submit);
    expect(submitted).toMatchObject({ code: 3, err: expect.stringContaining('ESCALATED') });
    for (const reply of [claimed, submitted]) expectPlain('task', reply);
    return terminal;
  }

  it.each([
    'status',
    `status --feature ${FEATURE_ID}`,
    'start',
    'review',
    `review --feature ${FEATURE_ID}`,
    `trace ${FEATURE_ID}`,
    'status --gantt',
    'zoom',
    'gaps',
  ])('is sanitized in the output of gen %s', async (line) => {
    const terminal = await createAttackedWorkspace();
    for (const kind of [TERMINAL, PIPE]) {
      const { columns: _, ...rest } = terminal;
      expectPlain(line, await runGen({ ...rest, ...kind }, ...line.split(' ')));
    }
  });
});

/** A proxy between the client and its server that puts hostile text into every string of every response. */
async function startTaintingProxy(target: string, status?: number): Promise<string> {
  const server = createServer((incoming, answer) => {
    const { method, url, headers } = incoming;
    const passed = request(`${target}${url}`, {
      method,
      headers: { ...headers, host: new URL(target).host },
    });
    incoming.pipe(passed);
    passed.on('response', async (reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk as Buffer);
      const replyBody: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      answer.writeHead(status ?? reply.statusCode ?? 500, { 'content-type': 'application/json' });
      const problem = {
        code: HOSTILE,
        detail: HOSTILE,
        status,
        faults: [{ path: HOSTILE, message: HOSTILE }],
      };
      answer.end(JSON.stringify(status === undefined ? taint(replyBody) : problem));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function taint(value: unknown): unknown {
  if (typeof value === 'string') return `${value}${HOSTILE}`;
  if (Array.isArray(value)) return value.map(taint);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, taint(each)]));
}

/** Without `plan show`: a tainted plan is not a valid one, so none of it is shown. */
const CALLS = [
  ...READS.filter((line) => line !== 'plan show'),
  'next',
  'task claim B-001-api',
  'task hold B-001-api --reason x',
];

describe('the reply of a hostile server', () => {
  it.each(CALLS)('is sanitized in the output of gen %s', async (line) => {
    const terminal = await startAttackedServer();
    const url = await startTaintingProxy(terminal.env?.GENESIS_URL ?? '');
    for (const kind of [TERMINAL, PIPE]) {
      for (const more of [[], ['--json']]) {
        const env = { ...terminal.env, GENESIS_URL: url, GENESIS_PROJECT: 'shop' };
        const reply = await runGen({ ...terminal, ...kind, env }, ...line.split(' '), ...more);
        expectPlain(line, reply);
        expect(`${reply.out}${reply.err}`, line).toContain(WORD);
      }
    }
  });

  it.each([400, 409, 500])('is sanitized as an error with status %i', async (status) => {
    const terminal = await startAttackedServer();
    const url = await startTaintingProxy(terminal.env?.GENESIS_URL ?? '', status);
    const env = { ...terminal.env, GENESIS_URL: url, GENESIS_PROJECT: 'shop' };
    for (const kind of [TERMINAL, PIPE]) {
      const reply = await runGen({ ...terminal, ...kind, env }, 'task', 'show', 'A-001-schema');
      expectPlain('task show', reply);
      expect(reply.err).toContain(WORD);
    }
  });
});

it('the output of an agent under gen run is sanitized, even if a character arrives in two chunks', async () => {
  const { terminal } = await startPlannedHarness();
  const script = `process.stdout.write(${JSON.stringify(HOSTILE)}); process.stderr.write(Buffer.from([0xc2]));
    setTimeout(() => process.stderr.write(Buffer.from([0x9d, 0x35])), 50);`;
  await writeFile(join(terminal.cwd, 'agent.cjs'), script);
  const reply = await runGen({ ...terminal, ...TERMINAL }, 'run', '--', process.execPath, 'agent.cjs');
  expect(reply).toMatchObject({ code: 0, out: expect.stringContaining(WORD) });
  expectPlain('run', reply);
});

it('an unknown argument of the command line is sanitized in the error message', async () => {
  const { terminal } = await startPlannedHarness();
  expectPlain('hostile', await runGen({ ...terminal, ...TERMINAL }, `--${HOSTILE}`));
  expectPlain('hostile', await runGen({ ...terminal, ...TERMINAL }, 'task', 'show', HOSTILE));
});

it('only src/cli/io.ts writes to a terminal', async () => {
  const files = await readdir('src', { recursive: true });
  const sources = files.filter(
    (name) => /\.tsx?$/.test(name) && !/\.test\.ts$|testing|\.child\.ts$/.test(name),
  );
  const DIRECT =
    /\bprocess\s*\.\s*(?:stdout|stderr)\b|\b(?:stdout|stderr)\b[^;]*\} = process\b|\bconsole\s*\.|'node:console'|\/dev\/tty/;
  const writing: string[] = [];
  for (const name of sources) {
    const text = (await readFile(join('src', name), 'utf8')).replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
    if (DIRECT.test(text)) writing.push(name);
  }
  expect(writing).toEqual(['cli/io.ts']);
});
