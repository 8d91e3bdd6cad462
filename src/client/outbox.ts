import { createHash } from 'node:crypto';
import { appendFile, readFile, rename, stat, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withoutUndefined } from '../core/without-undefined.js';
import { EscalatedClaims } from './escalated-claims.js';
import { ignoreMissing, removeOldest } from './folder-files.js';
import { OwnedFiles, removeAbandonedTemps } from './owned-files.js';
import type { LeaseHandle } from './renewer.js';
import { type ApiProblem, isProblem, type SubmissionReply } from './replies.js';
import type { CheckReports } from './requests.js';
import { isFinalProblem, refusalDetail } from './submission-refusal.js';

/** A finished result to submit, identified by its request_id. */
export interface FinishedResult extends LeaseHandle {
  readonly request_id: string;
  readonly agent_id: string;
  readonly agent_role?: string;
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
  /** Details beyond the reason: the checks that have not passed, or the faults of the request. */
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
const BROKEN_MAX = 100;

const REFUSED_SUFFIX = '.refused';
const BROKEN_SUFFIX = '.broken';

export function defaultOutbox(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const state = XDG_STATE_HOME ?? LOCALAPPDATA ?? join(homedir(), '.local', 'state');
  return join(state, 'genesis-fleet', 'outbox');
}

/** One folder per server, tenant and project, so that no result is sent to the wrong one. */
export const outboxFolder = (root: string, ...scope: readonly string[]): string =>
  join(root, createHash('sha256').update(scope.join('\n')).digest('hex').slice(0, 16));

/**
 * Keeps finished results on disk until the server has given a final answer, so that they survive a crash. A process takes
 * a file by renaming it. A result that is sent twice counts once, by its request_id.
 */
export class Outbox {
  /** The claims whose results wait for a person. */
  readonly escalated: EscalatedClaims;
  private readonly files: OwnedFiles;

  constructor(readonly folder: string) {
    this.files = new OwnedFiles(folder, '.json', '.taken');
    this.escalated = new EscalatedClaims(folder);
  }

  /** Writes the result durably, owned by this process. Returns the path of its file. */
  put(finished: FinishedResult): Promise<string> {
    return this.files.write(finished.request_id, JSON.stringify(finished), true);
  }

  async pending(): Promise<number> {
    return (await this.files.names()).length;
  }

  /** Whether there are results without an owner. Does not look for results of processes that have ended: `flush` does. */
  async hasUnsent(): Promise<boolean> {
    return (await this.files.names()).some(this.files.isFree);
  }

  /** Sends the results that no other process is sending. Returns the outcomes of those with a final answer. */
  async flush(submit: SubmitFinished): Promise<SubmitOutcome[]> {
    const outcomes: SubmitOutcome[] = [];
    await this.cleanUp();
    for (const name of await this.files.names()) {
      const path = await this.files.takeOwnership(name);
      if (path === null) continue;
      const outcome = await this.send(path, submit);
      if (isProblem(outcome)) await this.returnToPending(path);
      else outcomes.push(outcome);
    }
    return outcomes;
  }

  /** Sends the result in a file. After a problem that is not final, the file stays and this process still owns it. */
  async send(path: string, submit: SubmitFinished): Promise<SubmitOutcome | ApiProblem> {
    const text = await readFile(path, 'utf8').catch(() => null);
    // If the file is gone, another process considers this process dead and sends the result.
    if (text === null)
      return {
        code: 'TAKEN_OVER',
        detail: `Another process sends ${path} now, so this one does not.`,
        status: 0,
      };
    const finished = parseFinished(text, this.files.idOf(path));
    if (finished === null) return this.setAside(path);
    const refusedPath = join(this.folder, `${finished.request_id}${REFUSED_SUFFIX}`);
    const outcome = await sendOnce(finished, submit, refusedPath);
    if (isProblem(outcome)) return outcome;
    await this.settle(path, finished, outcome).catch((error: unknown) => {
      // The answer counts even if it cannot be recorded here. If the file remains, its result is sent again later, and the
      // server repeats the answer.
      const what = `The outcome of ${outcome.task_id} (${outcome.reason})`;
      const why = `cannot be written to ${this.folder} (${String(error)})`;
      process.emitWarning(`${what} ${why}.`, 'GenesisWarning');
    });
    return outcome;
  }

  /** Sends a result that could not be written to disk. Its outcome is recorded if possible. */
  async sendUnsaved(finished: FinishedResult, submit: SubmitFinished): Promise<SubmitOutcome | ApiProblem> {
    const outcome = await sendOnce(finished, submit, null);
    if (isProblem(outcome)) return outcome;
    await this.keepEscalated(finished, outcome).catch(() => {});
    await this.appendToLog(outcome).catch(() => {});
    return outcome;
  }

  /**
   * Removes an answered result last: if the process crashes before that, the result is sent again and gets the same answer.
   * A refused result that the server does not keep is first renamed, so that this machine keeps it.
   */
  private async settle(path: string, finished: FinishedResult, outcome: SubmitOutcome): Promise<void> {
    await this.keepEscalated(finished, outcome);
    if (outcome.kept !== null) await rename(path, outcome.kept);
    await this.appendToLog(outcome);
    if (outcome.kept === null) await unlink(path);
  }

  private async keepEscalated(finished: FinishedResult, outcome: SubmitOutcome): Promise<void> {
    if (!isEscalated(outcome)) return;
    const { request_id, task_id, session_id, agent_id, generation, agent_role } = finished;
    const claim = { task_id, session_id, agent_id, generation, ...withoutUndefined({ agent_role }) };
    await this.escalated.add(request_id, claim);
  }

  /** An unreadable file must not block the others. The file is kept, so that a person can inspect it. */
  private async setAside(path: string): Promise<ApiProblem> {
    const broken = join(this.folder, `${this.files.idOf(path)}${BROKEN_SUFFIX}`);
    await rename(path, broken).catch(ignoreMissing);
    const detail = `${broken} is not a finished result and cannot be submitted. Inspect the file or delete it.`;
    process.emitWarning(detail, 'GenesisWarning');
    return { code: 'BROKEN_FILE', detail, status: 0 };
  }

  async returnToPending(path: string): Promise<void> {
    await this.files.giveBack(path);
  }

  /** All outcomes that are still recorded, oldest first, one per result. */
  async outcomes(): Promise<SubmitOutcome[]> {
    const outcomesByRequest = new Map<string, SubmitOutcome>();
    for (const path of [this.logPath('.1'), this.logPath()]) {
      const text = await readFile(path, 'utf8').catch(() => '');
      for (const line of text.split('\n')) {
        const outcome = parseOutcome(line);
        if (outcome !== null) outcomesByRequest.set(outcome.request_id, outcome);
      }
    }
    return [...outcomesByRequest.values()];
  }

  /** Removes abandoned temporary files, and the oldest refused and broken results beyond the limit. */
  private async cleanUp(): Promise<void> {
    await removeAbandonedTemps(this.folder);
    await removeOldest(this.folder, REFUSED_SUFFIX, REFUSED_MAX);
    await removeOldest(this.folder, BROKEN_SUFFIX, BROKEN_MAX);
  }

  private async appendToLog(outcome: SubmitOutcome): Promise<void> {
    const sizeBytes = (await stat(this.logPath()).catch(() => null))?.size ?? 0;
    if (sizeBytes > LOG_BYTES_MAX) await rename(this.logPath(), this.logPath('.1')).catch(ignoreMissing);
    await appendFile(this.logPath(), `${JSON.stringify(outcome)}\n`, { mode: 0o600, flush: true });
  }

  private logPath = (suffix = '') => join(this.folder, `outcomes.jsonl${suffix}`);
}

/** Returns a problem that is not final. `keptPath`: the local file for a refused result that the server does not keep. */
async function sendOnce(
  finished: FinishedResult,
  submit: SubmitFinished,
  keptPath: string | null,
): Promise<SubmitOutcome | ApiProblem> {
  const reply = await submit(finished);
  if (isProblem(reply) && !isFinalProblem(reply)) return reply;
  return submitOutcomeOf(finished, reply, keptPath);
}

function submitOutcomeOf(
  finished: FinishedResult,
  reply: SubmissionReply | ApiProblem,
  keptPath: string | null,
): SubmitOutcome {
  const { request_id, task_id, agent_id, session_id, generation, finished_at } = finished;
  const answered_at = new Date().toISOString();
  const handle = { request_id, task_id, agent_id, session_id, generation };
  const common = { ...handle, finished_at, answered_at, detail: refusalDetail(reply) };
  if (isProblem(reply)) {
    const refused = { accepted: false, late: false, work_product_ref: null, parked: null };
    return { ...common, ...refused, reason: reply.code, kept: keptPath };
  }
  const { accepted, reason, late, work_product_ref, parked } = reply;
  const isSafe = accepted || parked !== null || !reply.work_lost;
  return { ...common, accepted, reason, late, work_product_ref, parked, kept: isSafe ? null : keptPath };
}

/** Null for a line truncated by a crash. */
function parseOutcome(line: string): SubmitOutcome | null {
  try {
    return JSON.parse(line) as SubmitOutcome;
  } catch {
    return null;
  }
}

/** Null if the text is not a result, or if its id differs from the name of the file. */
function parseFinished(text: string, requestId: string): FinishedResult | null {
  try {
    const finished = JSON.parse(text) as FinishedResult | null;
    return finished?.request_id === requestId && typeof finished.task_id === 'string' ? finished : null;
  } catch {
    return null;
  }
}

/** Whether a person must decide on the result. */
export const isEscalated = ({ reason }: SubmitOutcome): boolean => reason === 'ESCALATED';
