import { createHash, randomUUID } from 'node:crypto';
import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { basename, join } from 'node:path';
import type { LeaseHandle } from './renewer.js';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';
import type { CheckReports } from './requests.js';
import { isFinalProblem, refusalDetail } from './submission-refusal.js';

/** A finished result to submit, identified by its request_id. */
export interface FinishedResult extends LeaseHandle {
  readonly request_id: string;
  readonly agent_id: string;
  readonly result_data: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The results of an edge's checks. */
  readonly evaluators?: CheckReports;
  readonly finished_at: string;
}

/** The outcome of a result. There is one for every answered result that `work` produced. */
export interface SubmitOutcome
  extends Pick<
    FinishedResult,
    'request_id' | 'task_id' | 'agent_id' | 'session_id' | 'generation' | 'finished_at'
  > {
  readonly accepted: boolean;
  /** The server's reason, or the code of its problem with the request. */
  readonly reason: string;
  /** What the reason does not say: the checks that have not passed, or what is wrong with the request. */
  readonly detail: string | null;
  readonly late: boolean;
  readonly work_product_ref: string | null;
  /** Id of the refused result if the server keeps it. */
  readonly parked: string | null;
  /** The local file that keeps the result if the server does not. */
  readonly kept: string | null;
  readonly answered_at: string;
}

export type SubmitFinished = (finished: FinishedResult) => Promise<SubmissionReply | ApiProblem>;

export const PENDING_MAX = 1000;
const REFUSED_MAX = 1000;
const LOG_BYTES_MAX = 4 * 1024 * 1024;
/** A file owned by a process for longer than this without a change counts as abandoned, even if that process seems alive. */
const OWNED_MS_MAX = 10 * 60 * 1000;

const PENDING_SUFFIX = '.json';
const OWNED_SUFFIX = '.taken';
const REFUSED_SUFFIX = '.refused';
const TEMP_SUFFIX = '.tmp';
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** Identifies this process, and not an earlier one with the same pid. */
const OWNER = `${HOST}-${process.pid}-${randomUUID().slice(0, 8)}`;

export function defaultOutbox(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const state = XDG_STATE_HOME ?? LOCALAPPDATA ?? join(homedir(), '.local', 'state');
  return join(state, 'genesis-fleet', 'outbox');
}

/** One folder per server, tenant and project, so that a result is never sent to another. */
export const outboxFolder = (root: string, ...scope: readonly string[]): string =>
  join(root, createHash('sha256').update(scope.join('\n')).digest('hex').slice(0, 16));

/**
 * Finished results on disk until they have a final answer, so that they survive a crash. A process owns a file by
 * renaming it to its own name; a result sent twice still counts once, by its request_id.
 */
export class Outbox {
  constructor(readonly folder: string) {}

  /** Writes the result durably, owned by this process. */
  async put(finished: FinishedResult): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const path = this.ownedPath(finished.request_id);
    await writeFile(`${path}${TEMP_SUFFIX}`, JSON.stringify(finished), { mode: 0o600, flush: true });
    await rename(`${path}${TEMP_SUFFIX}`, path);
    await syncFolder(this.folder);
    return path;
  }

  async pending(): Promise<number> {
    return (await this.names(PENDING_SUFFIX, OWNED_SUFFIX)).length;
  }

  /** Whether there are results that no process is sending. */
  async hasUnsent(): Promise<boolean> {
    return (await this.names(PENDING_SUFFIX)).length > 0;
  }

  /** Sends the results that no other process is sending. Returns the outcomes of those with a final answer. */
  async flush(submit: SubmitFinished): Promise<SubmitOutcome[]> {
    const outcomes: SubmitOutcome[] = [];
    await this.cleanUp();
    for (const name of await this.names(PENDING_SUFFIX, OWNED_SUFFIX)) {
      const path = await this.takeOwnership(name);
      if (path === null) continue;
      const outcome = await this.send(path, submit);
      if (isProblem(outcome)) await this.returnToPending(path);
      else outcomes.push(outcome);
    }
    return outcomes;
  }

  /** A transient problem is not an answer: the file stays, still owned by this process. */
  async send(path: string, submit: SubmitFinished): Promise<SubmitOutcome | ApiProblem> {
    const text = await readFile(path, 'utf8').catch(() => null);
    // If the file is gone, another process took this one for dead and sends it.
    if (text === null)
      return { code: 'TAKEN_OVER', detail: `${path} is being sent by another process.`, status: 0 };
    const finished = JSON.parse(text) as FinishedResult;
    const refusedPath = join(this.folder, `${finished.request_id}${REFUSED_SUFFIX}`);
    const outcome = await sendOnce(finished, submit, refusedPath);
    if (isProblem(outcome)) return outcome;
    await this.settle(path, outcome).catch((error: unknown) => {
      // The server has answered even if that cannot be recorded here: sent again, the result gets the same answer.
      const what = `The outcome of ${outcome.task_id} (${outcome.reason})`;
      const why = `cannot be written to ${this.folder} (${String(error)})`;
      process.emitWarning(`${what} ${why}.`, 'GenesisWarning');
    });
    return outcome;
  }

  /** Sends a result that could not be written to disk. Its outcome is recorded if possible. */
  async sendUnsaved(finished: FinishedResult, submit: SubmitFinished): Promise<SubmitOutcome | ApiProblem> {
    const outcome = await sendOnce(finished, submit, null);
    if (!isProblem(outcome)) await this.appendToLog(outcome).catch(() => {});
    return outcome;
  }

  private async settle(path: string, outcome: SubmitOutcome): Promise<void> {
    if (outcome.kept !== null) await rename(path, outcome.kept);
    await this.appendToLog(outcome);
    if (outcome.kept === null) await unlink(path);
  }

  async returnToPending(path: string): Promise<void> {
    await rename(path, join(this.folder, `${requestIdOf(path)}${PENDING_SUFFIX}`)).catch(ignoreMissing);
  }

  /** All recorded outcomes, oldest first, one per result. */
  async outcomes(): Promise<SubmitOutcome[]> {
    const known = new Map<string, SubmitOutcome>();
    for (const path of [this.logPath('.1'), this.logPath()]) {
      const text = await readFile(path, 'utf8').catch(() => '');
      for (const line of text.split('\n')) {
        const outcome = parseOutcome(line);
        if (outcome !== null) known.set(outcome.request_id, outcome);
      }
    }
    return [...known.values()];
  }

  /** Null if another process is sending it or has sent it. */
  private async takeOwnership(name: string): Promise<string | null> {
    if (name.endsWith(OWNED_SUFFIX) && !(await this.isAbandoned(name))) return null;
    const path = this.ownedPath(requestIdOf(name));
    return rename(join(this.folder, name), path).then(
      () => path,
      () => null,
    );
  }

  private async isAbandoned(name: string): Promise<boolean> {
    const owner = ownerOf(name);
    if (owner === OWNER) return false;
    const [host, pid] = owner.split('-');
    if (host === HOST && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
    return Date.now() - (await this.changedAt(name)) > OWNED_MS_MAX;
  }

  /** Removes abandoned temporary files, and the oldest refused results beyond the limit. */
  private async cleanUp(): Promise<void> {
    for (const name of await this.names(TEMP_SUFFIX)) {
      if (await this.isAbandoned(name.slice(0, -TEMP_SUFFIX.length))) await this.remove(name);
    }
    const refused = await this.names(REFUSED_SUFFIX);
    if (refused.length <= REFUSED_MAX) return;
    const aged = await Promise.all(
      refused.map(async (name) => ({ name, at_ms: await this.changedAt(name) })),
    );
    aged.sort((a, b) => a.at_ms - b.at_ms);
    for (const { name } of aged.slice(0, -REFUSED_MAX)) await this.remove(name);
  }

  private remove(name: string): Promise<void> {
    return unlink(join(this.folder, name)).catch(ignoreMissing);
  }

  private async changedAt(name: string): Promise<number> {
    return (await stat(join(this.folder, name)).catch(() => null))?.ctimeMs ?? Number.POSITIVE_INFINITY;
  }

  private async appendToLog(outcome: SubmitOutcome): Promise<void> {
    const sizeBytes = (await stat(this.logPath()).catch(() => null))?.size ?? 0;
    if (sizeBytes > LOG_BYTES_MAX) await rename(this.logPath(), this.logPath('.1')).catch(ignoreMissing);
    await appendFile(this.logPath(), `${JSON.stringify(outcome)}\n`, { mode: 0o600, flush: true });
  }

  private async names(...suffixes: readonly string[]): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => [] as string[]);
    return names.filter((name) => suffixes.some((suffix) => name.endsWith(suffix))).sort();
  }

  private ownedPath = (requestId: string) => join(this.folder, `${requestId}~${OWNER}${OWNED_SUFFIX}`);
  private logPath = (suffix = '') => join(this.folder, `outcomes.jsonl${suffix}`);
}

/** A transient problem is returned as it is. `kept`: where a refused result is kept that the server does not keep. */
async function sendOnce(
  finished: FinishedResult,
  submit: SubmitFinished,
  kept: string | null,
): Promise<SubmitOutcome | ApiProblem> {
  const reply = await submit(finished);
  if (isProblem(reply) && !isFinalProblem(reply)) return reply;
  return outcomeOf(finished, reply, kept);
}

function outcomeOf(
  finished: FinishedResult,
  reply: SubmissionReply | ApiProblem,
  kept: string | null,
): SubmitOutcome {
  const { request_id, task_id, agent_id, session_id, generation, finished_at } = finished;
  const answered_at = new Date().toISOString();
  const handle = { request_id, task_id, agent_id, session_id, generation };
  const common = { ...handle, finished_at, answered_at, detail: refusalDetail(reply) };
  if (isProblem(reply)) {
    const refused = { accepted: false, late: false, work_product_ref: null, parked: null };
    return { ...common, ...refused, reason: reply.code, kept };
  }
  const { accepted, reason, late, work_product_ref, parked } = reply;
  const isSafe = accepted || parked !== null || !reply.work_lost;
  return { ...common, accepted, reason, late, work_product_ref, parked, kept: isSafe ? null : kept };
}

/** Null for a line truncated by a crash. */
function parseOutcome(line: string): SubmitOutcome | null {
  try {
    return JSON.parse(line) as SubmitOutcome;
  } catch {
    return null;
  }
}

const requestIdOf = (path: string): string => basename(path).replace(/(~[^~]*\.taken|\.json)$/, '');
const ownerOf = (name: string): string => name.slice(name.lastIndexOf('~') + 1, -OWNED_SUFFIX.length);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Ignores failures: systems that cannot sync a folder persist its names by themselves. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
