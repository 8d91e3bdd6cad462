import { join } from 'node:path';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { WaitingCandidate } from '../../core/contract/runners.js';
import { type CheckOutcome, outcomeWithoutCommand } from '../../core/engine/check-outcome.js';
import type { EvidenceBase, EvidenceStatement } from '../../core/engine/evidence.js';
import { fitStatement } from '../../core/engine/fit-statement.js';
import { caseFoldedPath } from '../../core/methodology/definition/guarded-paths.js';
import {
  MANIFEST_BYTES_MAX,
  parseManifest,
  parseResultBlob,
  type ResultManifest,
} from '../../core/methodology/definition/manifest.js';
import type { CheckLimits, ExecuteCheck, WorkCopy } from '../checks/check-execution.js';
import { listProjectFiles } from '../checks/project-files.js';
import { runChecks } from '../checks/run-checks.js';
import { type CandidateFile, COPY_LIMITS, createWorkCopy, isCopyRefusal } from '../checks/work-copy.js';
import { type FetchedBase, fileDigest } from './runner-base.js';

/** The functions and limits that a runner works with. */
export interface RunnerServices {
  /** Throws if there is no such blob. */
  readonly getBlob: (sha256: string, bytesMax: number) => Promise<Uint8Array>;
  /** Stores what a check has printed or reported. Throws if that is not possible. */
  readonly putBlob: (sha256: string, bytes: Uint8Array) => Promise<void>;
  readonly fetchBase: () => Promise<FetchedBase>;
  readonly runCheck: ExecuteCheck;
  readonly limits: CheckLimits;
  readonly now: () => Date;
}

/** Maximum size of an output or report to upload. If it is longer, the statement still has its digest. */
const UPLOAD_BYTES_MAX = 1024 ** 2;

export type RunnerIdentity = Pick<EvidenceStatement, 'tenant_id' | 'project_id' | 'runner_id'>;

/**
 * Runs the checks of a candidate on a base that it fetches itself, and states the results. The base is fetched after
 * the candidate was listed: it may be newer than the statement's `base_version`, never older.
 */
export async function attestCandidate(
  candidate: WaitingCandidate,
  identity: RunnerIdentity,
  runner: RunnerServices,
  signal: AbortSignal,
): Promise<EvidenceStatement> {
  const { task_id, generation, candidate_sha256, base_version } = candidate;
  const started_at = runner.now().toISOString();
  const manifest = await readManifest(candidate_sha256, runner);
  const overlay = await readFiles(manifest, runner);
  const fetchedBase = await runner.fetchBase();
  try {
    const checks = await outcomesOn(fetchedBase, { candidate, manifest, overlay }, runner, signal);
    const times = { started_at, ended_at: runner.now().toISOString() };
    return fitStatement({
      ...{ version: 1, ...identity, task_id, generation, candidate_sha256 },
      ...{ base: fetchedBase.base, base_version, ...times, checks },
    });
  } finally {
    await fetchedBase.remove();
  }
}

interface LoadedCandidate {
  readonly candidate: WaitingCandidate;
  readonly manifest: ResultManifest;
  readonly overlay: readonly CandidateFile[];
}

async function outcomesOn(
  { base, folder, dependencies }: FetchedBase,
  { candidate, manifest, overlay }: LoadedCandidate,
  runner: RunnerServices,
  signal: AbortSignal,
): Promise<CheckOutcome[]> {
  const { runCheck, limits } = runner;
  const checks = [...candidate.checks] as EffectiveCheck[];
  const spellingFault = await findSpellingFault(folder, manifest);
  if (spellingFault !== null) return checks.map((check) => outcomeNotRun(check, spellingFault));
  const baseFault = await findBaseFault(folder, base, manifest);
  if (baseFault !== null)
    return checks.map((check) => ({ ...outcomeNotRun(check, baseFault), is_base_fault: true }));
  const workCopy = await createWorkCopy(folder, overlay);
  if (isCopyRefusal(workCopy))
    return checks.map((check) => outcomeNotRun(check, `${workCopy.says} ${workCopy.next}`));
  const copy: WorkCopy = { ...workCopy, read_only_mounts: [...workCopy.read_only_mounts, ...dependencies] };
  try {
    const results = await runChecks(runCheck, { checks, copy, limits, signal });
    for (const { output, report } of results) await uploadOutputs([output, report], runner);
    return results.map(({ outcome }) => outcome);
  } finally {
    await copy.remove();
  }
}

/** Uploads outputs before the statement names them, so that a reader can see why a check has failed. */
async function uploadOutputs(
  contents: readonly (Uint8Array | null)[],
  { putBlob }: RunnerServices,
): Promise<void> {
  for (const bytes of contents)
    if (bytes !== null && bytes.byteLength > 0 && bytes.byteLength <= UPLOAD_BYTES_MAX)
      await putBlob(sha256Hex(bytes), bytes);
}

/**
 * The fault of a path whose spelling differs from that of an existing file. Some file systems treat both as one file, so
 * such a path would evade the guard of check files (guarded-check-files.ts).
 */
async function findSpellingFault(folder: string, { files }: ResultManifest): Promise<string | null> {
  const spellings = await spellingsIn(folder);
  for (const { path } of files) {
    const baseSpelling = spellings.get(caseFoldedPath(path));
    if (baseSpelling !== undefined && (await fileDigest(join(folder, path))) === null)
      return `In the base ${path} is spelled ${baseSpelling}. On some file systems both are the same file. Use the spelling of the base.`;
  }
  return null;
}

/**
 * The fault of a file whose `base_sha256` in the manifest does not match the base. The guard of check files relies
 * on this digest.
 */
async function findBaseFault(
  folder: string,
  base: EvidenceBase,
  { files }: ResultManifest,
): Promise<string | null> {
  for (const { path, base_sha256 } of files) {
    const actualSha256 = await fileDigest(join(folder, path));
    if (actualSha256 === base_sha256) continue;
    const actual = actualSha256 === null ? 'does not exist' : `is ${actualSha256.slice(0, 12)}`;
    const stated = base_sha256 === null ? 'it is new' : `it was ${base_sha256.slice(0, 12)}`;
    return `In the base (${baseName(base)}) ${path} ${actual}, but the manifest says that ${stated}. ${BASE_ADVICE}`;
  }
  return null;
}

const BASE_ADVICE =
  "If the project is behind, update it (git pull) and build the candidate again. If accepted files are missing in the base, commit them to what the runner's --ref names.";

const baseName = (base: EvidenceBase): string =>
  base.kind === 'git' ? `commit ${base.commit.slice(0, 12)}` : `folder ${base.sha256.slice(0, 12)}`;

/** The paths of a base by their folded spelling. */
async function spellingsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const { files } = await listProjectFiles(folder, COPY_LIMITS.files);
  return new Map(files.map((path) => [caseFoldedPath(path), path]));
}

const outcomeNotRun = (check: EffectiveCheck, says: string): CheckOutcome =>
  outcomeWithoutCommand(check, { result: 'error', says: says.slice(0, 2000) });

async function readManifest(sha256: string, runner: RunnerServices): Promise<ResultManifest> {
  const parsed = parseManifest(parseResultBlob(await readBlob(sha256, MANIFEST_BYTES_MAX, runner)));
  if (parsed.ok) return parsed.manifest;
  throw new Error(`The candidate ${sha256} is not a manifest of files: ${parsed.path}: ${parsed.message}`);
}

async function readFiles({ files }: ResultManifest, runner: RunnerServices): Promise<CandidateFile[]> {
  const overlay: CandidateFile[] = [];
  for (const { path, sha256, size_bytes, executable } of files)
    overlay.push({ path, executable, bytes: await readBlob(sha256, size_bytes, runner) });
  return overlay;
}

/** The digest is checked here: a statement is about the bytes that were run, not about what a server answered. */
async function readBlob(sha256: string, bytesMax: number, { getBlob }: RunnerServices): Promise<Uint8Array> {
  const bytes = await getBlob(sha256, bytesMax);
  // All files of a candidate are held in memory, and the limit of a manifest relies on the sizes that the manifest
  // states.
  if (bytes.byteLength > bytesMax) throw new Error(`The blob ${sha256} has more than ${bytesMax} bytes.`);
  if (sha256Hex(bytes) === sha256) return bytes;
  throw new Error(`The content of the blob ${sha256} does not match its SHA-256.`);
}
