import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { ENGINE_ERRORS, type EngineErrorName } from '../../core/engine/run-data.js';
import { readStrictJson } from '../../core/strict-json.js';
import { EngineError, engineError } from '../engine-error.js';
import { faultOf } from './candidate-answer.js';

const TRANSCRIPT_BYTES_MAX = 16 * 1024 * 1024;

const ERROR_NAMES = Object.values(ENGINE_ERRORS) as [EngineErrorName, ...EngineErrorName[]];
/** The entry of an iteration that fails. */
const failedEntry = z.strictObject({ error: z.enum(ERROR_NAMES), says: z.string().exactOptional() });

/** A recorded transcript: JSON lines, one per iteration. */
interface Transcript<Entry> {
  readonly path: string;
  readonly entries: readonly (Entry | z.output<typeof failedEntry>)[];
}

export async function readTranscript<Schema extends z.ZodType>(
  projectFolder: string,
  file: string,
  schema: Schema,
): Promise<Transcript<z.output<Schema>>> {
  const path = resolve(projectFolder, file);
  const lines = (await readText(path)).split('\n').filter((line) => line.trim() !== '');
  const entry = z.union([failedEntry, schema]);
  const entries = lines.map((line, index) => {
    const json = readStrictJson(line);
    if ('fault' in json) throw brokenLineError(path, index, json.fault);
    const parsed = entry.safeParse(json.value);
    if (!parsed.success) throw brokenLineError(path, index, faultOf(parsed.error));
    return parsed.data;
  });
  return { path, entries };
}

/** The entry of an iteration; throws the error that it records. */
export function entryOf<Entry extends object>(transcript: Transcript<Entry>, iteration: number): Entry {
  const entry = transcript.entries[iteration - 1];
  if (entry === undefined) {
    const count = transcript.entries.length;
    throw engineError(
      'failed',
      `The transcript ${transcript.path} has no line for iteration ${iteration}, only ${count} lines. Add the missing lines.`,
    );
  }
  if (isFailed(entry)) throw new EngineError(entry.error, entry.says ?? `recorded: ${entry.error}`);
  return entry;
}

const isFailed = (entry: object): entry is z.output<typeof failedEntry> => 'error' in entry;

const brokenLineError = (path: string, index: number, fault: string): EngineError =>
  engineError('failed', `Line ${index + 1} of the transcript ${path} cannot be used: ${fault}`);

async function readText(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    throw engineError('failed', `The transcript ${path} cannot be read: ${String(error)}`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > TRANSCRIPT_BYTES_MAX) {
      throw engineError(
        'failed',
        `The transcript ${path} is not a regular file of at most ${TRANSCRIPT_BYTES_MAX} bytes.`,
      );
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
