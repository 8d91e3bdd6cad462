import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { startServer } from '../../server/server.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { runGen } from '../testing/terminal.js';
import { createWorkspace, EDGE, KEY, withOfflineCoordinator } from './testing.js';

const agentFields = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

async function serveMemoryStore(): Promise<string> {
  const server = await startServer({ store: openMemoryStore(), port: 0 });
  onTestFinished(() => server.stop());
  return server.url;
}

describe('gen sync', () => {
  it('pushes offline events to a server, pulls its log, and reports how far the two logs differ', async () => {
    const cwd = await temporaryFolder();
    const workspace = await createWorkspace(cwd);
    const url = await serveMemoryStore();
    await withOfflineCoordinator(workspace, async (offline) => {
      await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') });
      const body = { event_type: 'iteration_completed', feature_id: 'REQ-F-1', edge: 'design_code' };
      const payload = { iteration: 1, status: 'iterating', delta: 1 };
      await offline.holder.appendEvent(KEY, { ...body, ...agentFields('ada'), generation: 1, payload });
    });
    const before = JSON.parse((await runGen({ cwd }, 'sync', 'status', '--remote', url, '--json')).out);
    expect(before).toMatchObject({ behind: 0, pushed: false });
    // If the step came at least a millisecond after the claim, there is one more event: a sign of life of
    // the holder.
    expect([3, 4]).toContain(before.tail);
    expect(await runGen({ cwd }, 'sync', 'pull', '--remote', url)).toMatchObject({
      code: 1,
      err: expect.stringContaining('gen sync push'),
    });
    const push = await runGen({ cwd }, 'sync', 'push', '--remote', url);
    expect(push, push.err).toMatchObject({ code: 0, out: expect.stringContaining('2 sent to the remote') });
    const pull = await runGen({ cwd }, 'sync', 'pull');
    expect(pull, pull.err).toMatchObject({ code: 0, out: expect.stringContaining('rebuilt') });
    expect((await runGen({ cwd }, 'sync', 'status')).out).toContain('In sync.');
    await rm(join(workspace.events, 'events.jsonl'));
    expect(await runGen({ cwd }, 'sync', 'pull')).toMatchObject({ code: 0 });
    expect((await runGen({ cwd }, 'verify', '.ai-workspace/events')).out).toContain('Every invariant holds');
  });

  it('pushes nothing while another process holds the log, and names the reason', async () => {
    const cwd = await temporaryFolder();
    const workspace = await createWorkspace(cwd);
    const url = await serveMemoryStore();
    await withOfflineCoordinator(workspace, async (offline) => {
      await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') });
      // A push holds the log open throughout, as this callback does.
      const push = await runGen({ cwd }, 'sync', 'push', '--remote', url);
      expect(push).toMatchObject({ code: 1, out: '', err: expect.stringContaining('one writer') });
    });
    expect((await runGen({ cwd }, 'sync', 'push', '--remote', url)).out).toContain('1 sent to the remote');
  });

  it('names the holder of a refused claim, and accepts a store as the remote', async () => {
    const cwd = await temporaryFolder();
    const workspace = await createWorkspace(cwd);
    await withOfflineCoordinator(workspace, (offline) =>
      offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }),
    );
    const other = await temporaryFolder();
    await withOfflineCoordinator(await createWorkspace(other), (offline) =>
      offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('bob') }),
    );
    const remote = ['--remote', `file:${join(other, 'office')}`];
    expect(await runGen({ cwd: other }, 'sync', 'push', ...remote)).toMatchObject({ code: 0 });
    const { code, out } = await runGen({ cwd }, 'sync', 'push', ...remote);
    expect(code).toBe(1);
    expect(out).toContain('edge_started REQ-F-1#design_code: DENIED_ACTIVE_CLAIM, held by bob');
  });

  it('configures the remote if the project is configured locally', async () => {
    const cwd = await temporaryFolder();
    const workspace = await createWorkspace(cwd);
    const url = await serveMemoryStore();
    await withOfflineCoordinator(workspace, (offline) => offline.settings.configure(KEY, { files: {} }));
    expect(await runGen({ cwd }, 'sync', 'push', '--remote', url)).toMatchObject({ code: 0 });
    expect(await runGen({ cwd }, 'sync', 'pull')).toMatchObject({ code: 0 });
    const log = await readFile(join(workspace.events, 'events.jsonl'), 'utf8');
    expect(log.match(/"event_type":"METHODOLOGY_CHANGED"/g)).toHaveLength(1);
  });

  it('requires a workspace and a remote, and names the command and the option that supply them', async () => {
    const cwd = await temporaryFolder();
    expect(await runGen({ cwd }, 'sync', 'push')).toMatchObject({
      code: 1,
      err: expect.stringContaining('gen init'),
    });
    await createWorkspace(cwd);
    expect(await runGen({ cwd }, 'sync', 'status')).toMatchObject({
      code: 2,
      err: expect.stringContaining('This workspace has not been synced with a remote yet. Pass --remote URL'),
    });
    const masked = await runGen({ cwd }, 'sync', 'status', '--remote', 'postgres://fleet:***@db/fleet');
    expect(masked).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'postgres://fleet:***@db/fleet, has no password, because passwords are not stored',
      ),
    });
    const nobody = await runGen({ cwd }, 'sync', 'status', '--remote', 'http://127.0.0.1:9');
    expect(nobody.code).toBe(1);
  });
});

const LINE =
  '{"event_type":"edge_started","timestamp":"2026-02-01T10:00:00+11:00","project":"old","feature":"F","edge":"design→code"}';
const LOG = `${LINE}\n${LINE}\nno line\n{"event_type":"x","timestamp":"2026-02-01","edge":"closure","feature":"F"}\n`;

describe('gen import --foreign', () => {
  it('moves a foreign log out of the workspace log’s path, unchanged, and imports it once', async () => {
    const cwd = await temporaryFolder();
    const workspace = await createWorkspace(cwd);
    const log = join(workspace.events, 'events.jsonl');
    await writeFile(log, LOG);
    expect((await runGen({ cwd }, 'verify')).out).toContain(`Import it: gen import --foreign ${log}`);
    const dry = await runGen({ cwd }, 'import', '--foreign', log, '--dry-run', '--json');
    expect(JSON.parse(dry.out)).toMatchObject({ read: 4, written: 0 });
    const { code, out, err } = await runGen({ cwd }, 'import', '--foreign', log);
    expect(code, err).toBe(0);
    expect(out).toContain('4 lines read, 4 written, 0 already present.');
    expect(out).toContain('line 3: it is not JSON');
    expect(out).toContain('closure (1)');
    expect(out).toContain(`The original is kept in ${join(workspace.events, 'foreign')}.`);
    expect(out).toContain('gen import --trust-imports --dry-run');
    const [kept = ''] = await readdir(join(workspace.events, 'foreign'));
    expect(await readFile(join(workspace.events, 'foreign', kept), 'utf8')).toBe(LOG);
    expect((await runGen({ cwd }, 'import', '--foreign', log)).out).toContain('0 written, 4 already present');
    expect(await runGen({ cwd }, 'verify', '.ai-workspace/events')).toMatchObject({ code: 0 });
  });

  it('changes nothing if it cannot reach its target', async () => {
    const cwd = await temporaryFolder();
    const { events } = await createWorkspace(cwd);
    const log = join(events, 'events.jsonl');
    await writeFile(log, LOG);
    await writeFile(join(cwd, 'a-file'), '');
    for (const target of [
      ['--url', 'http://127.0.0.1:1'],
      ['--store', `file:${join(cwd, 'a-file', 'log')}`],
    ]) {
      const { code } = await runGen({ cwd }, 'import', '--foreign', log, ...target);
      expect(code, target.join(' ')).not.toBe(0);
      expect(await readFile(log, 'utf8')).toBe(LOG);
    }
    expect((await runGen({ cwd }, 'import', '--foreign', log)).out).toContain(
      '4 written, 0 already present.',
    );
  });

  it('says how much of a list it leaves out', async () => {
    const cwd = await temporaryFolder();
    const foreignLines = (at: number) =>
      `{"event_type":"type_${at}","timestamp":"2026-02-01"}\nnot json ${at}\n`;
    await writeFile(
      join(cwd, 'old.jsonl'),
      Array.from({ length: 130 }, (_, at) => foreignLines(at)).join(''),
    );
    const { out } = await runGen({ cwd }, 'import', '--foreign', 'old.jsonl', '--project', 'p', '--dry-run');
    expect(out).toMatch(/type_19 \(1\), and others \(110\)/);
    expect(out).toContain('130 kept unchanged');
    expect(out).toContain('    and 110 more');
  });

  it('imports to a server or into a store, and refuses a call without a project, a file or a log', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'old.jsonl'), LOG);
    const url = await serveMemoryStore();
    for (const target of [
      ['--url', url],
      ['--store', `file:${join(cwd, 'log')}`],
    ]) {
      for (const written of [4, 0]) {
        const ran = await runGen(
          { cwd },
          'import',
          '--foreign',
          'old.jsonl',
          '--project',
          'shop',
          '--json',
          ...target,
        );
        expect(JSON.parse(ran.out), ran.err).toMatchObject({ read: 4, written, already_there: 4 - written });
      }
    }
    expect(await runGen({ cwd }, 'import', '--foreign', 'old.jsonl')).toMatchObject({ code: 2 });
    expect(await runGen({ cwd }, 'import', '--foreign', 'nowhere', '--project', 'p')).toMatchObject({
      code: 1,
    });
    expect(await runGen({ cwd }, 'import', '--dry-run')).toMatchObject({ code: 2 });
  });
});

describe('gen import of an archive', () => {
  it('imports all of it or nothing', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'old.jsonl'), LOG.repeat(300));
    const store = `file:${join(cwd, 'log')}`;
    const target = `file:${join(cwd, 'target')}`;
    await runGen({ cwd }, 'import', '--foreign', 'old.jsonl', '--project', 'shop', '--store', store);
    const { out: archive } = await runGen({ cwd }, 'export', '--project', 'shop', '--store', store);
    const lines = archive.trimEnd().split('\n');
    for (const broken of [lines.slice(0, -1), [...lines.slice(0, -1), 'not json']]) {
      await writeFile(join(cwd, 'broken.jsonl'), broken.join('\n'));
      expect(await runGen({ cwd }, 'import', 'broken.jsonl', '--store', target)).toMatchObject({ code: 1 });
      const exported = await runGen({ cwd }, 'export', '--project', 'shop', '--store', target);
      expect(exported.err).toContain('no project shop');
    }
    await writeFile(join(cwd, 'whole.jsonl'), archive);
    expect(await runGen({ cwd }, 'import', 'whole.jsonl', '--store', target)).toMatchObject({ code: 0 });
    expect((await runGen({ cwd }, 'export', '--project', 'shop', '--store', target)).out).toBe(archive);
  });
});
