import { execFile } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { workspaceWithLog } from '../../../bench/methodology-log.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { REDACTION_EVENT } from '../../core/events/known-event-types.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { eventOf, transactionOf } from '../../stores/conformance/fixture.js';
import { summaryPath } from '../../stores/file/layout.js';
import { openWorkspaceStore } from '../../workspace/store.js';
import type { Workspace } from '../../workspace/workspace.js';
import { runGen, type TerminalOptions } from '../testing/terminal.js';

const ACTIVE_FILE = '.ai-workspace/events/events.jsonl';

async function projectWithLog() {
  const cwd = await temporaryFolder();
  const workspace = await workspaceWithLog(cwd, 200);
  const terminal: TerminalOptions & { cwd: string } = { cwd, env: { GENESIS_AGENT: 'agent-0' } };
  return { terminal, workspace, summary: summaryPath(workspace.events) };
}

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, '../main.ts');
const REPOSITORY = join(import.meta.dirname, '../../..');

/** The status, without the ages of claims: they depend on when the command ran. */
const statusOf = async (terminal: TerminalOptions): Promise<string> =>
  (await runGen(terminal, 'status')).out.replace(/(\d+ (s|min) ago|now)( *)$/gm, '-');

/** Changes a text in the log that no seal covers and that the status shows. A status with the old text is from the summary. */
async function renameFeatures({ cwd }: { cwd: string }): Promise<void> {
  const path = join(cwd, ACTIVE_FILE);
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replaceAll('Work to measure with', 'Work of another name'));
}

it('a status summary is read instead of the events before it, and the status stays the same', async () => {
  const { terminal, summary } = await projectWithLog();
  const first = await statusOf(terminal);
  const { mtimeMs } = await stat(summary);
  expect(await statusOf(terminal)).toBe(first);
  await renameFeatures(terminal);
  expect(await statusOf(terminal)).toBe(first);
  expect((await stat(summary)).mtimeMs).toBe(mtimeMs);
  await rm(summary);
  expect(await statusOf(terminal)).not.toBe(first);
});

it('the status also shows the events after its summary', async () => {
  const { terminal, summary } = await projectWithLog();
  await statusOf(terminal);
  const claimed = await runGen(terminal, 'task', 'claim', 'REQ-F-BENCH-001#design_test_cases');
  expect(claimed.code, claimed.err).toBe(0);
  const withSummary = await statusOf(terminal);
  await rm(summary);
  expect(withSummary).toBe(await statusOf(terminal));
});

it.each<[string, (files: { summary: string; workspace: Workspace }) => Promise<void>]>([
  ['damaged', async ({ summary }) => appendFile(summary, 'x')],
  ['empty', async ({ summary }) => writeFile(summary, '')],
  ['a folder', async ({ summary }) => rm(summary).then(() => void mkdir(summary))],
  [
    'of another log',
    async ({ summary }) => {
      const other = await projectWithLog();
      await statusOf(other.terminal);
      await writeFile(summary, await readFile(other.summary));
    },
  ],
])('a status summary is ignored if it is %s', async (_, change) => {
  const { terminal, summary, workspace } = await projectWithLog();
  await statusOf(terminal);
  await change({ summary, workspace });
  await renameFeatures(terminal);
  const { code, out } = await runGen(terminal, 'status');
  expect(code).toBe(0);
  expect(out).toContain('Work of another name');
});

it('a status summary is ignored once the log redacts an event, whose original text it may have', async () => {
  const { terminal, workspace } = await projectWithLog();
  await statusOf(terminal);
  const { store, key } = await openWorkspaceStore(workspace, () => {});
  const redaction = { event_type: REDACTION_EVENT, subject: HISTORY_SUBJECT, payload: { events: [] } };
  await store.commit([transactionOf(key, { loose_events: [eventOf(key, redaction)] })]);
  await store.close();
  await renameFeatures(terminal);
  expect(await statusOf(terminal)).toContain('Work of another name');
});

it('gen status with a summary does not load the schema library, which takes longer than reading the summary', async () => {
  const { terminal } = await projectWithLog();
  const NODE_V8_COVERAGE = await temporaryFolder();
  const env = { ...process.env, NODE_V8_COVERAGE };
  const argv = ['--import', import.meta.resolve('tsx'), PROGRAM, 'status'];
  await run(process.execPath, argv, { cwd: terminal.cwd, env });
  const texts = (await readdir(NODE_V8_COVERAGE)).map((name) =>
    readFile(join(NODE_V8_COVERAGE, name), 'utf8'),
  );
  const loaded = (await Promise.all(texts)).join();
  expect(loaded).toContain(`${REPOSITORY}/src/core/methodology/views/status.ts`);
  expect(loaded).not.toContain('/node_modules/zod/');
});
