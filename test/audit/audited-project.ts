import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type CommandResult, runGen, startCommand } from '../../src/cli/testing/terminal.js';
import type { AuditSigner } from '../../src/coordinator/audit/signer.js';
import { Coordinator } from '../../src/coordinator/coordinator.js';
import { exportProject } from '../../src/coordinator/transfer/export-project.js';
import { importProject } from '../../src/coordinator/transfer/import-project.js';
import { type Anchor, type Checkpoint, checkpointText } from '../../src/core/audit/checkpoint.js';
import type { Limits } from '../../src/core/claims/policy.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { AUDIT_SUBJECT } from '../../src/core/subject.js';
import { openAuditKey } from '../../src/server/audit/audit-key.js';
import { FileSink } from '../../src/server/audit/file-sink.js';
import { type OpenedStore, openStoreUrl } from '../../src/server/store-url.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { openWithLongTimeouts } from '../../src/stores/testing/open-with-long-timeouts.js';
import { transactionOf } from '../../src/stores/transaction.js';
import { HarnessAgent } from '../support/agent.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';

export const TASKS = ['A-001-a', 'A-002-b', 'A-003-c', 'A-004-d'] as const;

const OWN_KEY = 'key.pem';
const ANCHORS = 'anchors.jsonl';

interface RunOptions {
  /** The file of the key, in the folder of the project. */
  readonly key?: string;
  /** The file that keeps the checkpoints, in the same folder. */
  readonly anchors?: string;
  readonly limits?: Partial<Limits>;
}

interface GrantedHandle {
  readonly generation: number;
  readonly claim_id: string;
}

const isFile = (url: string): boolean => url.startsWith('file:');

async function openUrl(url: string): Promise<OpenedStore> {
  if (isFile(url)) return openStoreUrl(url, () => {});
  const store = await openWithLongTimeouts(url);
  return { store, blobs: store.blobs };
}

/** The result of a task, as a text that occurs once in the log. */
export const resultText = (task: string): string => `result of ${task}`;

/** A project with signed checkpoints, its key, and its anchors in a folder. Methods take the URL of the store that they work on. */
export class AuditedProject {
  readonly projectKey: ProjectKey = { tenant_id: `t${randomUUID().slice(0, 8)}`, project_id: 'shop' };

  private constructor(readonly cwd: string) {}

  static async create(): Promise<AuditedProject> {
    const cwd = await mkdtemp(join(tmpdir(), 'attacked-'));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    return new AuditedProject(cwd);
  }

  /** Completes tasks and writes a checkpoint, as one run of a server does. */
  work(url: string, tasks: readonly string[], options: RunOptions = {}): Promise<void> {
    return this.withSigner(url, options, async (coordinator) => {
      const agent = this.agent(coordinator, 'alpha');
      for (const task of tasks) {
        await agent.claim(task);
        await agent.submit(task, { says: resultText(task) });
      }
    });
  }

  /** Releases a task with a message, completes it, and redacts the message. Returns the number of redacted events. */
  redact(url: string, task: string): Promise<number> {
    const limits = { claim_history_retention_days: 0 };
    return this.withSigner(url, { limits }, async (coordinator) => {
      const agent = this.agent(coordinator, 'alpha');
      await agent.claim(task);
      await agent.release(task, { message: 'private' });
      await agent.claim(task);
      await agent.submit(task);
      await coordinator.audit.checkpoint();
      return coordinator.redactHistory();
    });
  }

  claim(url: string, task: string): Promise<GrantedHandle> {
    return this.withoutSigner(url, async (coordinator) => {
      const { claim } = await this.agent(coordinator, 'beta').claim(task);
      return { generation: claim!.generation, claim_id: claim!.id! };
    });
  }

  renew(url: string, task_id: string, { generation, claim_id }: GrantedHandle): Promise<unknown> {
    const handle = { task_id, session_id: 's-beta', claim_id, expected_generation: generation };
    return this.withoutSigner(url, (coordinator) => coordinator.holder.renewLease(this.projectKey, handle));
  }

  /** The last checkpoint, as a server returns it. */
  head(url: string): Promise<Anchor> {
    return this.withoutSigner(url, async (coordinator) =>
      unwrap(await coordinator.audit.lastCheckpoint(this.projectKey)),
    );
  }

  /** Copies the project from one store into another that does not have it. */
  async copy(from: string, to: string): Promise<void> {
    await this.withStore(from, (source) =>
      this.withStore(to, async (target) => {
        const archive = exportProject(source.store, source.blobs, this.projectKey);
        const imported = await importProject(target.store, target.blobs, archive);
        if ('refused' in imported) throw new Error(imported.detail);
      }),
    );
  }

  events(url: string): Promise<EventEnvelope[]> {
    return this.withStore(url, ({ store }) => store.events(this.projectKey, { after: 0, limit: 1000 }));
  }

  async checkpoints(url: string): Promise<Checkpoint[]> {
    const events = await this.events(url);
    const checkpointEvents = events.filter(({ event_type }) => event_type === 'AUDIT_CHECKPOINT');
    return checkpointEvents.map(({ payload }) => payload as Checkpoint);
  }

  /** Writes a checkpoint directly to the store, as an attacker with write access can. Returns its position. */
  append(url: string, checkpoint: Checkpoint): Promise<number> {
    return this.plant(url, 'AUDIT_CHECKPOINT', AUDIT_SUBJECT, checkpoint);
  }

  /** Writes an event directly to the store. Returns its position. */
  plant(url: string, event_type: string, subject: string, payload: Record<string, unknown>): Promise<number> {
    const event = {
      event_id: randomUUID(),
      event_type,
      timestamp: new Date().toISOString(),
      ...this.projectKey,
      agent_id: 'audit',
      subject,
      payload,
    };
    return this.withStore(url, async ({ store }) => {
      await store.commit([transactionOf(this.projectKey, { loose_events: [event] })]);
      return (await store.project(this.projectKey))?.position ?? 0;
    });
  }

  /** Returns a copy of a checkpoint that is signed with another key. */
  async signedAgain(checkpoint: Checkpoint, key: string): Promise<Checkpoint> {
    const signer = await this.signer(key);
    const forged = { ...checkpoint, key_id: signer.key_id };
    return { ...forged, signature: await signer.sign(checkpointText(this.projectKey, forged)) };
  }

  async signer(key = OWN_KEY): Promise<AuditSigner> {
    return (await openAuditKey(join(this.cwd, key))).signer;
  }

  /** The positions that the anchors cover. */
  async anchored(): Promise<number[]> {
    const lines = (await readFile(join(this.cwd, ANCHORS), 'utf8')).split('\n');
    return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as Anchor).position);
  }

  /** What gen verify says about the log, with the anchors that were kept. */
  verify(url: string): Promise<CommandResult> {
    const log = isFile(url) ? url.slice('file:'.length) : url;
    return this.gen('verify', log, '--anchor', ANCHORS, '--tenant', this.projectKey.tenant_id);
  }

  acceptLoss(url: string): Promise<CommandResult> {
    return this.gen(
      'audit',
      'accept-loss',
      '--store',
      url,
      '--anchor',
      ANCHORS,
      '--reason',
      'restored Monday',
    );
  }

  /** Starts a server, and stops it if it has started. */
  async up(url: string): Promise<CommandResult & { readonly isStarted: boolean }> {
    const server = startCommand(this.terminal, 'up', '--store', url, '--port', '0', '--anchor', ANCHORS);
    const started = server.waitForOutput('is listening').then(() => true);
    const isStarted = await Promise.race([started, server.ended.then(() => false)]);
    if (isStarted) server.stop('SIGTERM');
    return { ...(await server.ended), isStarted };
  }

  private gen(...argv: string[]): Promise<CommandResult> {
    return runGen(this.terminal, ...argv);
  }

  private get terminal() {
    return { cwd: this.cwd, env: { GENESIS_AUDIT_KEY: OWN_KEY } };
  }

  private agent(coordinator: Coordinator, name: string): HarnessAgent {
    return new HarnessAgent({ coordinator } as never, name, `s-${name}`, null, this.projectKey);
  }

  private async withStore<T>(url: string, step: (opened: OpenedStore) => Promise<T>): Promise<T> {
    const opened = await openUrl(url);
    try {
      return await step(opened);
    } finally {
      await opened.store.close();
    }
  }

  /** Runs a step with a coordinator that signs nothing. */
  private withoutSigner<T>(url: string, step: (coordinator: Coordinator) => Promise<T>): Promise<T> {
    return this.withStore(url, async (opened) => {
      const coordinator = await Coordinator.open(opened);
      try {
        return await step(coordinator);
      } finally {
        coordinator.close();
      }
    });
  }

  /** Runs a step with a coordinator that signs, and ends it with a checkpoint. */
  private withSigner<T>(
    url: string,
    { key = OWN_KEY, anchors = ANCHORS, limits = {} }: RunOptions,
    step: (coordinator: Coordinator) => Promise<T>,
  ): Promise<T> {
    return this.withStore(url, async (opened) => {
      const audit = { signer: await this.signer(key), sinks: [new FileSink(join(this.cwd, anchors))] };
      const coordinator = await Coordinator.open({ ...opened, limits, audit });
      try {
        unwrap(await coordinator.plans.put(this.projectKey, planOf(...TASKS)));
        const result = await step(coordinator);
        await coordinator.audit.stop();
        return result;
      } finally {
        coordinator.close();
      }
    });
  }
}

/** Expects that gen verify and gen up name the attack, and that the server does not start. */
export async function expectAttackReported(
  project: AuditedProject,
  url: string,
  ...texts: string[]
): Promise<void> {
  const verified = await project.verify(url);
  const up = await project.up(url);
  for (const text of texts) {
    expect(verified.out).toContain(text);
    expect(up.err).toContain(text);
  }
  expect(verified.code).toBe(1);
  expect(up).toMatchObject({ isStarted: false, code: 1 });
}
