import { createHash, sign } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { runnerIdOf } from '../../coordinator/operations/runners.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { WaitingCandidate } from '../../core/contract/runners.js';
import type { PageQuery } from '../../core/contract/schema.js';
import { type EvidenceStatement, evidenceText, hasErrors } from '../../core/engine/evidence.js';
import { checkExecutor, DEFAULT_CHECK_LIMITS } from '../../engine/checks/execute-check.js';
import {
  attestCandidate,
  type RunnerIdentity,
  type RunnerServices,
} from '../../engine/runner/attest-candidate.js';
import {
  type FetchedBase,
  fetchFolderBase,
  fetchGitBase,
  folderFault,
  gitFault,
} from '../../engine/runner/runner-base.js';
import { chooseExecutor } from '../check/choose-executor.js';
import { withGapsInProcess } from '../check/gaps-in-process.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import { abortOnStop } from '../stop.js';
import { isTransientFailure, RunnerConnection } from './runner-connection.js';
import { type RunnerKey, readRunnerKey } from './runner-key.js';

const POLL_MS = 5_000;
/** The pause before checks that could not be run are run again. */
const RETRY_MS = 60_000;
/** The maximum number of pages of candidates in one round. */
const PAGES_MAX = 1000;

export interface RunnerOptions {
  readonly key_file: string;
  readonly base: { readonly repo: string; readonly reference: string } | { readonly root: string };
  readonly is_unsandboxed: boolean;
  /** Run what waits now, and end. */
  readonly is_once: boolean;
}

/**
 * Fetches candidates, runs their checks, and signs and records the results, until the runner is stopped or revoked; with
 * `is_once` for one round only.
 */
export async function runRunner(context: CommandContext, options: RunnerOptions): Promise<void> {
  const key = await readRunnerKey(options.key_file);
  await assertBase(options.base);
  const executor = await chooseExecutor(context, options.is_unsandboxed);
  const connection = new RunnerConnection(context);
  const { tenant: tenant_id, project: project_id } = await context.target();
  const identity = { tenant_id, project_id, runner_id: runnerIdOf(key.public_key) };
  const services: RunnerServices = {
    getBlob: (sha256, bytes_max) => connection.call((client) => client.getBlob(sha256, { bytes_max })),
    putBlob: async (sha256, bytes) => void (await connection.call((client) => client.putBlob(sha256, bytes))),
    fetchBase: () => fetchBase(options.base),
    runCheck: checkExecutor(withGapsInProcess(executor, context)),
    limits: DEFAULT_CHECK_LIMITS,
    now: () => new Date(),
  };
  const session = {
    context,
    connection,
    key,
    identity,
    services,
    attestAgainAtMs: new Map<string, number>(),
  };
  const stop = abortOnStop(context.io);
  if (!options.is_once)
    context.printNotice(`Runner ${identity.runner_id} waits for candidates. Stop it with Ctrl-C.`);
  try {
    // A failure in the first round ends the runner: the address of the server may be wrong.
    await attestWaiting(session, stop.signal);
    if (options.is_once) return;
    let isConnected = true;
    while (!stop.signal.aborted) {
      await delay(POLL_MS, null, { signal: stop.signal }).catch(() => {});
      isConnected = await attestIfConnected(session, isConnected, stop.signal);
    }
    context.exit_code = EXIT.stopped;
  } finally {
    stop.end();
  }
}

/** Refuses a base that does not exist when the runner starts, instead of when the first candidate arrives. */
async function assertBase(base: RunnerOptions['base']): Promise<void> {
  const fault = 'root' in base ? await folderFault(base.root) : await gitFault(base.repo, base.reference);
  if (fault !== null) throw wrongUsage(fault);
}

const fetchBase = (base: RunnerOptions['base']): Promise<FetchedBase> =>
  'root' in base ? fetchFolderBase(base.root) : fetchGitBase(base.repo, base.reference);

interface RunnerSession {
  readonly context: CommandContext;
  readonly connection: RunnerConnection;
  readonly key: Omit<RunnerKey, 'isNew'>;
  readonly identity: RunnerIdentity;
  readonly services: RunnerServices;
  /** When each candidate may be attested again, by a digest of the candidate (`attestedKey`). */
  readonly attestAgainAtMs: Map<string, number>;
}

interface CandidatePage {
  readonly candidates: readonly WaitingCandidate[];
  readonly next: string | null;
}

/** Attests the waiting candidates. False if the server cannot be reached; this is reported once for each loss of connection. */
async function attestIfConnected(
  session: RunnerSession,
  wasConnected: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const { context } = session;
  try {
    if (!signal.aborted) await attestWaiting(session, signal);
    return true;
  } catch (error) {
    if (!isTransientFailure(error)) throw error;
    if (wasConnected) context.warn(`${(error as Error).message} The runner tries again.`);
    await context.leaveServer();
    return false;
  }
}

/**
 * Attests the candidates one after another. A candidate whose checks cannot be run is reported and does not block the others.
 */
async function attestWaiting(session: RunnerSession, signal: AbortSignal): Promise<void> {
  let query: PageQuery = {};
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { candidates, next }: CandidatePage = await session.connection.call((client) =>
      client.candidates(query),
    );
    await attestPage(session, candidates, signal);
    if (next === null || signal.aborted) return;
    query = { after: next };
  }
}

async function attestPage(
  session: RunnerSession,
  candidates: readonly WaitingCandidate[],
  signal: AbortSignal,
): Promise<void> {
  const { identity, context, attestAgainAtMs } = session;
  const isWaiting = (candidate: WaitingCandidate) =>
    candidate.checks.length > 0 &&
    !candidate.evidence_of.includes(identity.runner_id) &&
    Date.now() >= (attestAgainAtMs.get(attestedKey(candidate)) ?? 0);
  for (const candidate of candidates.filter(isWaiting)) {
    if (signal.aborted) return;
    try {
      const statement = await attestOne(session, candidate, signal);
      // After an error the checks run again: the repository or folder with the base may have been out of date.
      const againMs = hasErrors(statement) ? Date.now() + RETRY_MS : Number.POSITIVE_INFINITY;
      rememberAttested(attestAgainAtMs, attestedKey(candidate), againMs);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RunnerRevoked) throw error;
      context.exit_code = EXIT.refused;
      context.warn(`${candidate.task_id}: ${singleLine((error as Error).message)}`);
    }
  }
}

/** The failure of a revoked runner. It ends the process, because a revoked runner stays revoked. */
class RunnerRevoked extends CommandFailure {}

const attestedKey = ({ evidence_of: _, ...candidate }: WaitingCandidate): string =>
  createHash('sha256').update(canonicalJson(candidate)).digest('hex');

const ATTESTED_MAX = 10_000;

function rememberAttested(attestAgainAtMs: Map<string, number>, key: string, againMs: number): void {
  attestAgainAtMs.set(key, againMs);
  const [oldest] = attestAgainAtMs.keys();
  if (attestAgainAtMs.size > ATTESTED_MAX && oldest !== undefined) attestAgainAtMs.delete(oldest);
}

async function attestOne(
  session: RunnerSession,
  candidate: WaitingCandidate,
  signal: AbortSignal,
): Promise<EvidenceStatement> {
  const { context, connection, key, identity, services } = session;
  const statement = await attestCandidate(candidate, identity, services, signal);
  const signature = sign(null, Buffer.from(evidenceText(statement)), key.key).toString('base64url');
  const reply = await connection.call((client) => client.recordEvidence({ statement, signature }));
  if (!reply.success && reply.reason === 'RUNNER_REVOKED')
    throw new RunnerRevoked(`${reply.reason}. ${reply.next}`, EXIT.refused, reply);
  context.printReply({ ...reply, statement }, () =>
    reply.success
      ? `${statement.task_id} generation ${statement.generation}: ${resultsText(statement)}`
      : `${statement.task_id}: ${reply.reason}. ${reply.next}`,
  );
  if (!reply.success) context.exit_code = EXIT.refused;
  return statement;
}

const resultsText = ({ checks }: EvidenceStatement): string =>
  checks.map(({ name, result }) => `${name} ${result}`).join(', ');
