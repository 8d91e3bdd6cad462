import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { Genesis } from '../../src/client/index.js';
import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { ReviewsReply } from '../../src/core/contract/reviews.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { PROGRAM } from './model-links.js';

/** The comment with which the person requests changes. */
export const COMMENT = 'Say for whom.';

/** Runs `gen` in a folder; fails unless it exits with 0. */
export async function genIn(cwd: string, ...args: string[]): Promise<void> {
  const { code, err } = await runGen({ cwd, env: environmentIn(cwd) }, ...args);
  if (code !== 0) throw new Error(`gen ${args.join(' ')}: ${err}`);
}

const environmentIn = (cwd: string) => ({
  PATH: process.env.PATH ?? '',
  GENESIS_HOME: join(cwd, '.home'),
  GENESIS_AUDIT_KEY: join(cwd, '.home', 'audit-key.pem'),
  GENESIS_AGENT: 'operator',
});

export async function projectFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'models-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A project that `gen up` serves in a process of its own, and all events of its log. */
export class ServedProject {
  readonly events: EventEnvelope[] = [];
  private readonly waiters = new Set<() => void>();
  private readonly followController = new AbortController();
  private readonly genesis: Genesis;
  private isStopping = false;

  private constructor(
    readonly url: string,
    readonly cwd: string,
    private readonly endServer: () => Promise<void>,
  ) {
    this.genesis = new Genesis({ url, project: 'shop' });
  }

  /** `store`: the folder of a file store; by default the store of the workspace. */
  static async start(cwd: string, store?: string): Promise<ServedProject> {
    const storeArgs = store === undefined ? [] : ['--store', `file:${store}`];
    const limit = ['--limit', 'min_lease_duration_seconds=1'];
    const args = [PROGRAM, 'up', '--json', '--port', '0', ...storeArgs, ...limit];
    const child = spawn(process.execPath, args, {
      cwd,
      env: environmentIn(cwd),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    const endServer = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    onTestFinished(endServer);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return new ServedProject((JSON.parse(line) as { url: string }).url, cwd, endServer);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.followController.abort();
    await this.endServer();
  }

  /** Reads the log from its beginning, and then each event as it is written. */
  follow(): void {
    onTestFinished(() => this.followController.abort());
    void (async () => {
      for await (const { event } of this.genesis.follow({}, { signal: this.followController.signal })) {
        this.events.push(event);
        for (const wake of this.waiters) wake();
      }
    })().catch(() => {});
  }

  /** Resolves when the log has such an event. */
  async waitForEvent(isWanted: (event: EventEnvelope) => boolean): Promise<void> {
    for (let read = 0; ; ) {
      while (read < this.events.length) if (isWanted(this.events[read++] as EventEnvelope)) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.waiters.delete(wake);
          resolve();
        };
        this.waiters.add(wake);
      });
    }
  }

  /** Resolves when the subject was granted at this generation, to any session. */
  waitForGrant(subject: string, generation: number): Promise<void> {
    return this.waitForEvent(
      (event) =>
        event.subject === subject &&
        event.generation === generation &&
        claimEventKindOf(event.event_type) === 'granted',
    );
  }

  /** Whether a session holds a subject now. */
  async isHeldBy(subject: string, sessionId: string): Promise<boolean> {
    const state = await this.genesis.task(subject);
    return 'claim' in state && state.claim?.session_id === sessionId && state.claim.state === 'ACTIVE';
  }

  /** The whole log, once it has stopped growing. */
  async wholeLog(): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    let after: string | undefined;
    for (;;) {
      const page = await this.genesis.events({ limit: 1000, ...(after === undefined ? {} : { after }) });
      if (!('events' in page)) throw new Error(page.detail);
      if (page.events.length === 0 || page.next === null) return [...events, ...page.events];
      events.push(...page.events);
      after = page.next;
    }
  }

  /**
   * Decides on each candidate as soon as it waits, as a person would. Requests changes once, for the first candidate whose
   * agent `isAskedForChanges` accepts, and approves all other candidates.
   */
  async reviewAll(isAskedForChanges: (agentId: string) => boolean): Promise<void> {
    try {
      await this.reviewEach(isAskedForChanges);
    } catch (error) {
      // The end of the server also ends a call that is in progress.
      if (!this.isStopping) throw error;
    }
  }

  private async reviewEach(isAskedForChanges: (agentId: string) => boolean): Promise<void> {
    let hasAsked = false;
    for (let escalations = 1; ; escalations += 1) {
      await this.waitForEscalations(escalations);
      const reply = await fetch(`${this.url}/api/review?project_id=shop`);
      const { reviews } = (await reply.json()) as ReviewsReply;
      for (const { task_id, generation, iteration, candidate_sha256, agent_id } of reviews) {
        const candidate = { task_id, generation, iteration, candidate_sha256 };
        const asksForChanges: boolean = !hasAsked && isAskedForChanges(agent_id);
        hasAsked ||= asksForChanges;
        await this.genesis.review(
          asksForChanges
            ? { ...candidate, decision: 'CHANGES_REQUESTED', comment: COMMENT }
            : { ...candidate, decision: 'APPROVED' },
        );
      }
    }
  }

  private waitForEscalations(count: number): Promise<void> {
    let escalations = 0;
    return this.waitForEvent(({ event_type }) => {
      if (claimEventKindOf(event_type) === 'escalated') escalations += 1;
      return escalations === count;
    });
  }
}
