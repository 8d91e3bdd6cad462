import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { lastConstruction } from '../../core/engine/decided-end.js';
import type { BlobReference } from '../../core/engine/run-data.js';
import type { Run } from '../../core/engine/runs.js';
import {
  parseManifest,
  parseResultBlob,
  type ResultManifest,
} from '../../core/methodology/definition/manifest.js';
import type { RunBlobs } from '../../engine/run-blobs.js';

const POLL_MS = 100;
/** Maximum number of polls. The server of the workspace promotes files within this time, or never if there is a conflict. */
const POLLS_MAX = 150;

/** The manifest of the run's last candidate; null if the run has none, or the manifest is not valid. */
export async function lastCandidate(
  blobs: Pick<RunBlobs, 'get'>,
  { steps }: Run,
): Promise<ResultManifest | null> {
  const reference = lastConstruction(steps)?.output?.manifest as BlobReference | undefined;
  if (reference === undefined) return null;
  const parsed = parseManifest(parseResultBlob(await blobs.get(reference)));
  return parsed.ok ? parsed.manifest : null;
}

/**
 * Waits until the files are in the project, because the next edge builds on them. Gives up after `POLLS_MAX` polls or when the
 * signal aborts. Returns the paths whose files are still missing or different.
 */
export async function waitForPromotion(
  root: string,
  { files }: ResultManifest,
  signal: AbortSignal,
): Promise<string[]> {
  let missing = files.map(({ path }) => path);
  for (let polls = 0; polls < POLLS_MAX && !signal.aborted; polls += 1) {
    missing = [];
    for (const { path, sha256 } of files) {
      const bytes = await readFile(join(root, path)).catch(() => null);
      if (bytes === null || sha256Hex(bytes) !== sha256) missing.push(path);
    }
    if (missing.length === 0) return [];
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
  return missing;
}
