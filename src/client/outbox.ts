import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';

/** A finished result to submit, identified by its request_id. */
export interface FinishedResult {
  readonly request_id: string;
  readonly task_id: string;
  readonly session_id: string;
  readonly claim_id: string;
  readonly generation: number;
  readonly agent_id: string;
  readonly result_data: unknown;
  readonly finished_at: string;
}

/** The outcome of a result. There is one for every answered result that `work` produced. */
export interface SubmitOutcome {
  readonly request_id: string;
  readonly task_id: string;
  readonly agent_id: string;
  readonly generation: number;
  readonly accepted: boolean;
  /** The server's reason, or the code of its problem with the request. */
  readonly reason: string;
  readonly late: boolean;
  readonly work_product_ref: string | null;
  /** Id of the refused result if the server keeps it. */
  readonly parked: string | null;
  /** The local file that keeps the result if the server does not. */
  readonly kept: string | null;
  readonly finished_at: string;
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
    await writeDurably(`${path}${TEMP_SUFFIX}`, JSON.stringify(finished));
    await rename(`${path}${TEMP_SUFFIX}`, path);
    await syncFolder(this.folder);
    return path;
  }

  async pending(): Promise<number> {
    return (await this.names()).filter((name) => name.endsWith(PENDING_SUFFIX) || name.endsWith(OWNED_SUFFIX))
      .length;
  }

  /** Whether there are results that no process is sending. */
  async hasUnsent(): Promise<boolean> {
    return (await this.names()).some((name) => name.endsWith(PENDING_SUFFIX));
  }

  /** Sends the results that no other process is sending. Returns the outcomes of those with a final answer. */
  async flush(submit: SubmitFinished): Promise<SubmitOutcome[]> {
    const outcomes: SubmitOutcome[] = [];
    await this.cleanUp();
    for (const name of await this.names()) {
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
    const finished = await readFinished(path);
    if (isProblem(finished)) return finished;
    const reply = await submit(finished);
    if (isProblem(reply) && !isFinalProblem(reply)) return reply;
    const outcome = outcomeOf(finished, reply, this.refusedPath(finished.request_id));
    await this.settle(path, outcome).catch((error: unknown) => {
      // The server has answered even if that cannot be recorded here: sent again, the result gets the same answer.
      const summary = `${outcome.task_id} was answered (${outcome.reason})`;
      process.emitWarning(
        `${summary}, and that cannot be noted in ${this.folder} (${String(error)}).`,
        'GenesisWarning',
      );
    });
    return outcome;
  }

  /** Sends a result that could not be written to disk. Its outcome is recorded if possible. */
  async sendUnwritten(finished: FinishedResult, submit: SubmitFinished): Promise<SubmitOutcome | ApiProblem> {
    const reply = await submit(finished);
    if (isProblem(reply) && !isFinalProblem(reply)) return reply;
    const outcome = { ...outcomeOf(finished, reply, ''), kept: null };
    await this.appendToLog(outcome).catch(() => {});
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
    const isFree =
      name.endsWith(PENDING_SUFFIX) || (name.endsWith(OWNED_SUFFIX) && (await this.isAbandoned(name)));
    if (!isFree) return null;
    const path = this.ownedPath(requestIdOf(name));
    try {
      await rename(join(this.folder, name), path);
      return path;
    } catch {
      return null;
    }
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
    const names = await this.names();
    for (const name of names.filter((name) => name.endsWith(TEMP_SUFFIX))) {
      if (await this.isAbandoned(name.slice(0, -TEMP_SUFFIX.length))) await this.remove(name);
    }
    const refused = names.filter((name) => name.endsWith(REFUSED_SUFFIX));
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
    const file = await open(this.logPath(), 'a', 0o600);
    try {
      await file.appendFile(`${JSON.stringify(outcome)}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  private async names(): Promise<string[]> {
    return (await readdir(this.folder).catch(() => [] as string[])).sort();
  }

  private ownedPath = (requestId: string) => join(this.folder, `${requestId}~${OWNER}${OWNED_SUFFIX}`);
  private refusedPath = (requestId: string) => join(this.folder, `${requestId}${REFUSED_SUFFIX}`);
  private logPath = (suffix = '') => join(this.folder, `outcomes.jsonl${suffix}`);
}

/** Whether the result itself was refused, so that a retry is pointless. A wrong key or address can still be corrected. */
const isFinalProblem = ({ status, code }: ApiProblem): boolean =>
  (status === 400 || status === 409 || status === 413) && !/^(HTTP|SIGNATURE)_/.test(code);

/** If the file is gone, another process took this one for dead and sends it. */
async function readFinished(path: string): Promise<FinishedResult | ApiProblem> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text !== null) return JSON.parse(text) as FinishedResult;
  return { code: 'TAKEN_OVER', detail: `${path} is being sent by another process.`, status: 0 };
}

function outcomeOf(
  finished: FinishedResult,
  reply: SubmissionReply | ApiProblem,
  kept: string,
): SubmitOutcome {
  const { request_id, task_id, agent_id, generation, finished_at } = finished;
  const common = {
    request_id,
    task_id,
    agent_id,
    generation,
    finished_at,
    answered_at: new Date().toISOString(),
  };
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

const nameOf = (path: string): string =>
  path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
const requestIdOf = (path: string): string => nameOf(path).replace(/(~[^~]*\.taken|\.json)$/, '');
const ownerOf = (name: string): string => name.slice(name.lastIndexOf('~') + 1, -OWNED_SUFFIX.length);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
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
