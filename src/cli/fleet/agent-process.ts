import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkKind } from '../../core/contract/values.js';
import { HAS_GROUPS, signalGroup } from '../../engine/processes/signal-group.js';
import { countText } from '../output/text.js';
import { selfCommand } from '../self.js';
import { IDLE_PREFIX } from '../worker/idle-text.js';
import {
  PROCESS_GROUP_FILE_VARIABLE,
  readProcessGroupFile,
  removeProcessGroupFile,
} from '../worker/process-group-file.js';
import type { AgentLog } from './agent-log.js';

/** One agent of a fleet: its name, and what its worker is started with. */
export interface AgentSpec {
  readonly name: string;
  readonly command: readonly string[];
  readonly tracks: readonly string[];
  /** Null: tasks and edges of features. */
  readonly kind: WorkKind | null;
  /** Null: the agent names no role. */
  readonly agent_role: string | null;
  readonly environment: Readonly<Record<string, string>>;
}

/** The agent's session at the coordinator: opened before each start, ended after each end. */
export interface AgentSessions {
  /** Returns why the session cannot be opened; null if it is open. */
  open(sessionId: string): Promise<string | null>;
  /** Submits what the worker left behind, and releases its claims, except those that wait for a person. */
  end(sessionId: string): Promise<void>;
}

interface AgentOptions {
  readonly spec: AgentSpec;
  readonly folder: string;
  readonly log: AgentLog;
  /** While the program runs, this file contains the id of its process group. */
  readonly processGroupFile: string;
  readonly leaseSeconds: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Variables by which the worker uses the same server, project and folders as the fleet. */
  readonly targetVariables: NodeJS.ProcessEnv;
  readonly sessions: AgentSessions;
  readonly restartsMax: number;
  readonly printLine: (line: string) => void;
  /** Called with the worker's line about why it waits. */
  readonly onIdle: (line: string) => void;
  /** Aborts when the fleet must stop. */
  readonly stop: AbortSignal;
  /** Aborts when the fleet must stop at once. */
  readonly kill: AbortSignal;
}

export type AgentState = 'starting' | 'running' | 'restarting' | 'done' | 'gave_up' | 'stopped';

/** The state for a person. */
export const stateText = (state: AgentState): string => state.replace('_', ' ');

const BACKOFF_MS = { first: 500, max: 60_000 };
/** Longer than a worker needs to end its program (3 seconds) and to release the claim. */
const STOP_GRACE_MS = 15_000;

/** Delay before the nth restart in a row. */
export const restartDelayMs = (restartsInRow: number): number =>
  Math.min(BACKOFF_MS.first * 2 ** (restartsInRow - 1), BACKOFF_MS.max);

/** One supervised `gen run --loop`: started again when it dies, until all work is done or it has died too often. */
export class AgentProcess {
  state: AgentState = 'starting';
  restarts = 0;
  private restartsInRow = 0;
  private worker: ChildProcess | null = null;

  constructor(private readonly options: AgentOptions) {}

  get name(): string {
    return this.options.spec.name;
  }
  get log(): AgentLog {
    return this.options.log;
  }

  /** An accepted result shows that the agent works: the count of restarts in a row begins again. */
  recordAccepted(): void {
    this.restartsInRow = 0;
  }

  /** Sends SIGTERM to a running worker, without waiting for its end. */
  terminate(): void {
    signalGroup(this.worker?.pid, 'SIGTERM');
  }

  /** Resolves when the agent is done, given up or stopped. */
  async run(): Promise<void> {
    const { stop, printLine, restartsMax } = this.options;
    while (!stop.aborted) {
      const endReason = await this.runOnce();
      if (stop.aborted) break;
      if (endReason === null) {
        this.state = 'done';
        return;
      }
      if (this.restartsInRow >= restartsMax) {
        this.state = 'gave_up';
        const restarts = countText(restartsMax, 'restart');
        const limit = `after ${restarts} in a row without an accepted result`;
        const lastLine = this.log.lastLine === '' ? '' : ` Its last line: ${this.log.lastLine}`;
        const gaveUpText = `${this.name} ended (${endReason}) and is given up ${limit}.`;
        return printLine(`${gaveUpText} Its log: ${this.log.path}${lastLine}`);
      }
      this.restarts += 1;
      this.restartsInRow += 1;
      this.state = 'restarting';
      const delayMs = restartDelayMs(this.restartsInRow);
      printLine(
        `${this.name} ended (${endReason}). Restart ${this.restartsInRow} of ${restartsMax} in ${delayMs / 1000} s`,
      );
      await sleep(delayMs, undefined, { signal: stop }).catch(() => {});
    }
    this.state = 'stopped';
  }

  /** Runs the worker once. Returns why it died or was not started; null if it ended because all work is done. */
  private async runOnce(): Promise<string | null> {
    const { sessions, processGroupFile } = this.options;
    const sessionId = `fleet-${this.name}-${randomUUID().slice(0, 8)}`;
    const refusal = await sessions.open(sessionId);
    if (refusal !== null) return refusal;
    await removeProcessGroupFile(processGroupFile);
    try {
      return await this.runWorker(sessionId);
    } catch (error) {
      return (error as Error).message;
    } finally {
      await this.endProgram();
      await sessions.end(sessionId);
    }
  }

  private async runWorker(sessionId: string): Promise<string | null> {
    const { stop, kill } = this.options;
    const child = this.startWorker(sessionId);
    this.worker = child;
    this.state = 'running';
    const endController = new AbortController();
    const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    void this.stopWorker(child, AbortSignal.any([stop, endController.signal]), endController.signal, kill);
    try {
      const copied = [child.stdout, child.stderr].map((output) => this.copyToLog(output as Readable));
      const [code, signal] = await closed;
      await Promise.all(copied);
      return code === 0 ? null : (signal ?? `exit code ${code}`);
    } finally {
      this.worker = null;
      endController.abort();
    }
  }

  private startWorker(sessionId: string): ChildProcess {
    const { spec, folder, processGroupFile, leaseSeconds, env, targetVariables } = this.options;
    const [program, ...words] = selfCommand();
    const args = [
      ...['run', '--loop'],
      ...spec.tracks.flatMap((track) => ['--track', track]),
      ...(spec.kind === null ? [] : ['--kind', spec.kind]),
      ...(spec.agent_role === null ? [] : ['--role', spec.agent_role]),
      ...(leaseSeconds === undefined ? [] : ['--lease', String(leaseSeconds)]),
      ...['--', ...spec.command],
    ];
    const identity = {
      GENESIS_AGENT: this.name,
      GENESIS_SESSION: sessionId,
      [PROCESS_GROUP_FILE_VARIABLE]: processGroupFile,
    };
    return spawn(program, [...words, ...args], {
      cwd: folder,
      env: { ...env, ...spec.environment, ...targetVariables, ...identity },
      // A separate group: Ctrl-C reaches only the fleet, which then stops all agents in order.
      detached: HAS_GROUPS,
      // The channel closes when this process ends, however it ends. The worker stops then.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
  }

  /** Copies output of the worker to its log. Reads no faster than the log is written. */
  private async copyToLog(output: Readable): Promise<void> {
    let shownLine = '';
    for await (const chunk of output) {
      await this.log.write(chunk as Buffer);
      const { lastLine } = this.log;
      if (lastLine !== shownLine && lastLine.startsWith(IDLE_PREFIX)) this.options.onIdle(lastLine);
      shownLine = lastLine;
    }
  }

  /** Sends the worker SIGTERM when the fleet stops, and SIGKILL after the grace period or a second signal. */
  private async stopWorker(
    child: ChildProcess,
    stoppedOrEnded: AbortSignal,
    ended: AbortSignal,
    kill: AbortSignal,
  ): Promise<void> {
    if (!stoppedOrEnded.aborted) await once(stoppedOrEnded, 'abort');
    if (ended.aborted) return;
    signalGroup(child.pid, 'SIGTERM');
    await sleep(STOP_GRACE_MS, undefined, { signal: AbortSignal.any([ended, kill]) }).catch(() => {});
    if (ended.aborted) return;
    signalGroup(child.pid, 'SIGKILL');
  }

  /** Ends the program that a killed worker left running without a claim. */
  private async endProgram(): Promise<void> {
    const { processGroupFile } = this.options;
    const group = await readProcessGroupFile(processGroupFile);
    if (group !== null) signalGroup(group, 'SIGKILL');
    await removeProcessGroupFile(processGroupFile);
  }
}
