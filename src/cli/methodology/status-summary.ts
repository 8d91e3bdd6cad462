import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import type { ProjectSnapshot } from '../../core/views/project-snapshot.js';
import { summaryPath } from '../../stores/file/layout.js';
import type { LogPoint } from '../../stores/file/unverified-reader.js';
import { VERSION } from '../version.js';

/** The state of a project at a position of its log. With a summary, only the lines after that position are read. */
export interface StatusSummary {
  /** The version of the program: another version may fold events differently. */
  readonly version: string;
  readonly log: LogPoint;
  readonly project: ProjectSnapshot;
  readonly methodology: MethodologyState;
  /** When the workspace's files were last loaded into the log; null if never. */
  readonly configured_at: string | null;
}

const DIGEST_BYTES = 32;
/** Maximum size of a summary. Writing and reading a larger one takes as long as reading the log. */
const SUMMARY_BYTES_MAX = 32 * 1024 * 1024;

const digestOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** The summary of a log; null if there is none, or it is damaged or of another version: then the whole log is read. */
export async function readStatusSummary(eventsFolder: string): Promise<StatusSummary | null> {
  try {
    const bytes = await readFile(summaryPath(eventsFolder));
    const content = bytes.subarray(DIGEST_BYTES);
    if (!digestOf(content).equals(bytes.subarray(0, DIGEST_BYTES))) return null;
    const summary = deserialize(content) as StatusSummary;
    return summary.version === VERSION ? summary : null;
  } catch {
    return null;
  }
}

/**
 * Writes a summary, without a sync: its digest reveals an incomplete file. Writes none if it is too large or the folder cannot
 * be written: status works without it.
 */
export async function writeStatusSummary(eventsFolder: string, summary: StatusSummary): Promise<void> {
  const content = serialize(summary);
  if (content.length > SUMMARY_BYTES_MAX) return;
  const path = summaryPath(eventsFolder);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(temporary, [digestOf(content), content], { flag: 'wx', mode: 0o600 });
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
