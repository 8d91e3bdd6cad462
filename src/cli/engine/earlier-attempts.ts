import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import type { TaskResult } from '../../core/contract/tasks.js';
import { foldRuns, type Run, type RunStep } from '../../core/engine/runs.js';
import { isFilesResult, parseManifest, parseResultBlob } from '../../core/methodology/definition/manifest.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { EngineError, engineError } from '../../engine/engine-error.js';
import type { PromptText } from '../../engine/prompts/build-prompt.js';
import type { RunBlobs } from '../../engine/run-blobs.js';
import { adoptableResults, describeResult } from '../task-results/find-result.js';
import { fetchEvents } from './fetch-events.js';
import { lastCandidate } from './promoted-files.js';
import { fileBytes, textsOf } from './workspace-candidate-files.js';

/** Maximum number of attempts of each kind. Older attempts are less useful. */
const ATTEMPTS_MAX = 3;
const FILES_MAX = 20;
const TEXT_CHARS_MAX = 16 * 1024;
const TOTAL_CHARS_MAX = 64 * 1024;
const PAGES_MAX = 100;

type Calls = Pick<Genesis, 'results' | 'events'>;

/**
 * What was tried on an edge before, newest first: results that were refused and parked, then runs that ended without
 * convergence. Prompts contain them as data, not as instructions.
 */
export async function earlierAttemptTexts(
  genesis: Calls,
  blobs: Pick<RunBlobs, 'get'>,
  subject: string,
): Promise<PromptText[]> {
  const parked = adoptableResults(await readResults(genesis, subject))
    .slice(-ATTEMPTS_MAX)
    .reverse();
  const runs = foldRuns(await fetchEvents(genesis, { task_id: subject })).filter(
    ({ ended_at, status }) => ended_at !== null && status !== 'CONVERGED',
  );
  const texts: PromptText[] = [];
  for (const result of parked)
    texts.push(...(await textsIfReadable(describeResult(result), resultTexts(blobs, result))));
  for (const run of runs.slice(-ATTEMPTS_MAX).reverse())
    texts.push(...(await textsIfReadable(runName(run), runTexts(blobs, run))));
  return limitTexts(texts);
}

/** The texts, or one text that says that they cannot be read: old blobs may have been removed. */
const textsIfReadable = (name: string, texts: Promise<PromptText[]>): Promise<PromptText[]> =>
  texts.catch((error) => {
    if (error instanceof EngineError) return [{ name, text: '(its content cannot be read)' }];
    throw error;
  });

async function readResults(genesis: Calls, subject: string): Promise<TaskResult[]> {
  const results: TaskResult[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await genesis.results(subject, withoutUndefined({ after }));
    if (isProblem(page)) throw engineError('unavailable', page.detail);
    results.push(...page.results);
    if (page.next === null) break;
    after = page.next;
  }
  return results;
}

/** The texts of a result: the files of its manifest, or its data. */
async function resultTexts(blobs: Pick<RunBlobs, 'get'>, result: TaskResult): Promise<PromptText[]> {
  const { blob_sha256: sha256, result_data } = result;
  const name = describeResult(result);
  const data =
    sha256 === null
      ? result_data
      : parseResultBlob(await blobs.get({ bucket: '', key: sha256, version: sha256 }));
  const manifestReading = isFilesResult(data) ? parseManifest(data) : null;
  if (manifestReading?.ok) return fileTexts(blobs, name, manifestReading.manifest);
  if (data === null) return [{ name, text: `(not JSON, SHA-256 ${sha256})` }];
  return [{ name, text: typeof data === 'string' ? data : JSON.stringify(data, null, 2) }];
}

const runName = ({ run_id, status, reason }: Run): string =>
  `run ${run_id}, ${status}${reason === null ? '' : ` (${reason})`}`;

async function runTexts(blobs: Pick<RunBlobs, 'get'>, run: Run): Promise<PromptText[]> {
  const { says, iterations, steps } = run;
  const name = runName(run);
  const lastSteps = steps.filter(({ iteration }) => iteration === iterations);
  const text = [says, ...lastSteps.flatMap(findingOf)].join('\n');
  const manifest = await lastCandidate(blobs, run);
  return [{ name, text }, ...(manifest === null ? [] : await fileTexts(blobs, name, manifest))];
}

/** What a check of the last iteration found, or why a step failed. */
function findingOf({ step, status, output, error, cause }: RunStep): string[] {
  if (status === 'FAILED') return [`${step}: ${error}: ${cause}`];
  const { result, says } = output ?? {};
  return typeof result !== 'string' || result === 'pass' ? [] : [`${step}: ${result}: ${String(says ?? '')}`];
}

async function fileTexts(
  blobs: Pick<RunBlobs, 'get'>,
  name: string,
  manifest: Parameters<typeof textsOf>[0],
): Promise<PromptText[]> {
  const files = await textsOf({ ...manifest, files: manifest.files.slice(0, FILES_MAX) }, fileBytes(blobs));
  return files.map((file) => ({ name: `${name}: ${file.name}`, text: file.text }));
}

/** The first texts, each cut at its limit; texts beyond the total limit are left out. */
function limitTexts(texts: readonly PromptText[]): PromptText[] {
  const limited: PromptText[] = [];
  let charsLeft = TOTAL_CHARS_MAX;
  for (const { name, text } of texts) {
    const charsMax = Math.min(TEXT_CHARS_MAX, charsLeft);
    if (charsMax <= 0) break;
    const isCut = text.length > charsMax;
    limited.push(
      isCut ? { name: `${name} (only the beginning)`, text: text.slice(0, charsMax) } : { name, text },
    );
    charsLeft -= Math.min(text.length, charsMax);
  }
  return limited;
}
