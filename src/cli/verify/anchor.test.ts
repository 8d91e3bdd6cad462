import { generateKeyPairSync } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { P, planOf } from '../../../test/support/coordinator-harness.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openAuditKey } from '../../server/audit/audit-key.js';
import { FileSink } from '../../server/audit/file-sink.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { gen, start } from '../testing/terminal.js';

const TASKS = ['A-001-a', 'A-002-b', 'A-003-c', 'A-004-d'] as const;

/** A folder with a log, a key and anchors kept elsewhere. */
class AuditedFolder {
  private constructor(readonly cwd: string) {}

  static async open(): Promise<AuditedFolder> {
    const cwd = await mkdtemp(join(tmpdir(), 'anchor-'));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    return new AuditedFolder(cwd);
  }

  /** Completes tasks and writes a checkpoint, as one run of a server does. */
  async work(
    tasks: readonly string[],
    log = 'log',
    key = 'key.pem',
    anchors = 'anchors.jsonl',
  ): Promise<void> {
    const store = await openFileStore({ root: join(this.cwd, log) });
    const { signer } = await openAuditKey(join(this.cwd, key));
    const sinks = [new FileSink(join(this.cwd, anchors))];
    const coordinator = await Coordinator.open({ store, audit: { signer, sinks } });
    await coordinator.plans.put(P, planOf(...TASKS));
    const agent = new HarnessAgent({ coordinator } as never, 'alpha', 's1');
    for (const task of tasks) {
      await agent.claims(task);
      await agent.submits(task);
    }
    await coordinator.audit.stop();
    coordinator.close();
    await store.close();
  }

  copy(from: string, to: string): Promise<void> {
    return cp(join(this.cwd, from), join(this.cwd, to), { recursive: true });
  }

  /** What gen verify says about the log, with the anchors that were kept. */
  verify(log = 'log', anchors = 'anchors.jsonl') {
    return gen({ cwd: this.cwd }, 'verify', log, '--anchor', anchors);
  }
}

describe('gen verify --anchor', () => {
  it('accepts the log that the anchors are of', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    await folder.work([TASKS[1]]);
    const { code, out } = await folder.verify();
    expect(out).toContain('2 signed checkpoints');
    expect(code).toBe(0);
  });

  it('reports a tail that was cut off with every file that vouches for it: an old folder copied back', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    await folder.copy('log', 'old');
    await folder.work([TASKS[1]]);
    expect((await gen({ cwd: folder.cwd }, 'verify', 'old')).code).toBe(0);
    const { code, out } = await folder.verify('old');
    expect(code).toBe(1);
    expect(out).toMatch(/ANCHOR LOG_SHORTER: log ends at \d+, the anchor covers \d+/);
  });

  it('gen up refuses a log that is behind its anchor, and starts on the right one', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    await folder.copy('log', 'old');
    await folder.work([TASKS[1]]);
    const up = (log: string) =>
      start(
        { cwd: folder.cwd },
        'up',
        '--store',
        `file:${join(folder.cwd, log)}`,
        '--port',
        '0',
        '--anchor',
        'anchors.jsonl',
      );
    const refused = await up('old').ended;
    expect(refused.code).not.toBe(0);
    expect(refused.err).toMatch(/ANCHOR LOG_SHORTER/);
    const running = up('log');
    await running.waitForOutput('is listening');
    running.stop('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('reports a history that was rewritten with another key, though its seals are valid', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0], TASKS[1]]);
    await folder.work([TASKS[2], TASKS[1], TASKS[0]], 'forged', 'forged.pem', 'forged.jsonl');
    expect((await gen({ cwd: folder.cwd }, 'verify', 'forged')).code).toBe(0);
    const { code, out } = await folder.verify('forged');
    expect(code).toBe(1);
    expect(out).toContain('ANCHOR DIFFERS');
    expect(out).toMatch(/not what was signed is between positions 1 and \d+/);
  });

  it('reports a log that forked from the anchored one', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    await folder.copy('log', 'fork');
    await folder.work([TASKS[1]]);
    await folder.work([TASKS[2], TASKS[3]], 'fork', 'key.pem', 'fork.jsonl');
    const { code, out } = await folder.verify('fork');
    expect(code).toBe(1);
    expect(out).toContain('ANCHOR DIFFERS');
    const [first] = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n');
    const { position } = JSON.parse(first!);
    expect(out).toContain(`is between positions ${position + 1} and`);
  });

  it('does not trust an anchor that somebody else has signed or changed', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    const [line] = (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n');
    const anchor = JSON.parse(line!);
    await writeFile(
      join(folder.cwd, 'changed.json'),
      JSON.stringify({ ...anchor, position: anchor.position + 1 }),
    );
    expect((await folder.verify('log', 'changed.json')).out).toContain('ANCHOR BAD_SIGNATURE');
    const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    await writeFile(join(folder.cwd, 'other.json'), JSON.stringify({ ...anchor, public_key: x }));
    expect((await folder.verify('log', 'other.json')).code).toBe(1);
  });

  it('reports a log that is missing as a whole', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    const { project_id: _, ...rest } = JSON.parse(
      (await readFile(join(folder.cwd, 'anchors.jsonl'), 'utf8')).trim().split('\n')[0]!,
    );
    await writeFile(join(folder.cwd, 'gone.json'), JSON.stringify({ ...rest, project_id: 'gone' }));
    expect((await folder.verify('log', 'gone.json')).out).toContain('there is no log');
  });

  it('says what is wrong with a file that is no anchor', async () => {
    const folder = await AuditedFolder.open();
    await folder.work([TASKS[0]]);
    await writeFile(join(folder.cwd, 'no.json'), '{"format":"something else"}');
    const { code, err } = await folder.verify('log', 'no.json');
    expect(code).not.toBe(0);
    expect(err).toContain('Pass the output of gen audit head --json.');
    expect((await folder.verify('log', 'nowhere.json')).err).toContain('cannot be read (ENOENT)');
  });
});
