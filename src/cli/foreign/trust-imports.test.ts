import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { F, foreignLine, PROJECT_FILES } from '../../../test/support/imported-project.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { startServer } from '../../server/server.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { runGen, type TerminalOptions } from '../testing/terminal.js';

const FIRST = `${F}#intent_requirements`;
const LOG = [
  foreignLine('edge_converged', 'intent→requirements'),
  foreignLine('edge_converged', 'design→code', 'REQ-F-FORGED-001'),
  foreignLine('edge_converged', 'design→code', 'REQ-F-\u001b[31mRED'),
  '',
].join('\n');
const IMPORT = ['import', '--foreign', 'old.jsonl'] as const;

const runOk = async (terminal: TerminalOptions, ...argv: string[]): Promise<string> => {
  const { code, out, err } = await runGen(terminal, ...argv);
  expect(code, `${argv.join(' ')}: ${err}`).toBe(0);
  return out;
};
const runForJson = async (terminal: TerminalOptions, ...argv: string[]) =>
  JSON.parse(await runOk(terminal, ...argv, '--json'));

/** A folder with a foreign log. */
async function openFolder(): Promise<Required<Pick<TerminalOptions, 'cwd' | 'env'>>> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'old.jsonl'), LOG);
  return { cwd, env: { GENESIS_AGENT: 'hana', GENESIS_HOME: join(cwd, '.home') } };
}

/** A folder with a foreign log, and with a workspace that has the feature. */
async function openWorkspace(): Promise<TerminalOptions> {
  const terminal = await openFolder();
  for (const [path, text] of Object.entries(PROJECT_FILES)) {
    const file = join(terminal.cwd, '.ai-workspace', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  await runOk(terminal, 'init');
  return terminal;
}

describe('gen import --trust-imports', () => {
  it('completes in a workspace the edges that the log reports as converged', async () => {
    const terminal = await openWorkspace();
    const out = await runOk(terminal, ...IMPORT, '--trust-imports');
    expect(out).toContain('3 lines read, 3 written');
    expect(out).toContain(`1 edge trusted: ${FIRST}.`);
    expect(out).toContain('2 skipped:\n  REQ-F-FORGED-001');
    expect(out).toContain('There is no feature REQ-F-FORGED-001');
    expect(out).not.toContain('\u001b');
    const claimed = await runGen(terminal, 'task', 'claim', FIRST, '--json');
    expect(JSON.parse(claimed.out)).toMatchObject({ reason: 'DENIED_COMPLETED' });
    expect(await runForJson(terminal, 'start')).toMatchObject({ feature: F, edge: 'design_code' });
    expect(await runOk(terminal, 'verify')).toContain('Every invariant holds');
    expect(await runForJson(terminal, 'import', '--trust-imports')).toMatchObject({
      trusted: [],
      skipped_count: 2,
    });
    await runOk(terminal, 'task', 'reset', FIRST, '--reason', 'it was wrong');
    expect(await runForJson(terminal, 'task', 'claim', FIRST)).toMatchObject({
      reason: 'GRANTED',
      claim: { generation: 2 },
    });
    expect(await runOk(terminal, 'verify')).toContain('Every invariant holds');
  });

  it('trusts earlier imports, and a dry run only reports them', async () => {
    const terminal = await openWorkspace();
    const preview = await runOk(terminal, ...IMPORT, '--trust-imports', '--dry-run');
    expect(preview).toContain(`The log reports 3 edges as converged: ${FIRST}, REQ-F-FORGED-001`);
    expect(await runOk(terminal, 'import', '--trust-imports')).toBe(
      'No imported log reports work to trust.\n',
    );
    await runOk(terminal, ...IMPORT);
    const dry = await runOk(terminal, 'import', '--trust-imports', '--dry-run');
    expect(dry).toContain(`1 edge would be trusted: ${FIRST}.`);
    expect(await runForJson(terminal, 'import', '--trust-imports')).toMatchObject({
      trusted: [{ task_id: FIRST, generation: 1 }],
      skipped: [{ reason: 'UNKNOWN_TASK' }, { reason: 'UNKNOWN_TASK' }],
      more: false,
    });
  });

  it('works on a store, and records who did it', async () => {
    const workspace = await openWorkspace();
    const terminal = await openFolder();
    const store = `file:${join(terminal.cwd, 'log')}`;
    const archive = await runOk(workspace, 'export');
    await writeFile(join(terminal.cwd, 'archive.jsonl'), archive);
    await runOk(terminal, 'import', 'archive.jsonl', '--store', store);
    const [{ project_id }] = archive.split('\n').flatMap((line) => {
      const { event } = JSON.parse(line || '{}');
      return event === undefined ? [] : [event];
    });
    const at = ['--store', store, '--project', project_id];
    expect(await runForJson(terminal, ...IMPORT, '--trust-imports', ...at)).toMatchObject({
      imported: { written: 3 },
      trust: { trusted: [{ task_id: FIRST, generation: 1 }] },
    });
    const adopted = (await runOk(terminal, 'export', ...at))
      .split('\n')
      .find((line) => line.includes('"event_type":"result_adopted"'));
    expect(JSON.parse(adopted ?? '').event.payload).toMatchObject({
      by: 'hana',
      reason: 'gen import --trust-imports',
      adopted_from: { imported: true, source: 'old.jsonl' },
    });
  });

  it('works on a server, for an admin only', async () => {
    const server = await startServer({ store: openMemoryStore(), port: 0 });
    onTestFinished(() => server.stop());
    const { cwd, env } = await openFolder();
    const projectKey = { tenant_id: 'default', project_id: 'shop' };
    await server.coordinator.settings.configure(projectKey, { files: PROJECT_FILES });
    const at = ['--url', server.url, '--project', 'shop'];
    await runOk({ cwd, env }, ...IMPORT, ...at);
    const createKey = async (role: string, token = '') => {
      const key = await runForJson(
        { cwd, env: { ...env, GENESIS_TOKEN: token } },
        'key',
        'create',
        '--role',
        role,
        ...at,
      );
      return { cwd, env: { ...env, GENESIS_TOKEN: key.token as string } };
    };
    const admin = await createKey('admin');
    for (const role of ['viewer', 'agent', 'reviewer']) {
      const refused = await runGen(
        await createKey(role, admin.env.GENESIS_TOKEN),
        'import',
        '--trust-imports',
        ...at,
      );
      expect([role, refused.code !== 0, refused.err]).toEqual([
        role,
        true,
        expect.stringContaining('FORBIDDEN'),
      ]);
    }
    expect(await runForJson(admin, 'import', '--trust-imports', ...at)).toMatchObject({
      trusted: [{ task_id: FIRST, generation: 1 }],
    });
  });

  it('refuses to be combined with an archive', async () => {
    const terminal = await openFolder();
    expect(await runGen(terminal, 'import', 'old.jsonl', '--trust-imports')).toMatchObject({
      code: 2,
      err: expect.stringContaining('Omit FILE'),
    });
  });
});
