import type { PlanInput } from '../../core/contract/plan.js';
import type { ConfigFault } from '../../core/contract/problem.js';
import { isObject } from '../../core/events/plain-data.js';
import { toPlainJson } from '../../core/methodology/definition/config-diff.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import { parseMethodologyInSlices } from '../../core/methodology/definition/read-methodology.js';
import {
  type AddedSubtask,
  type PlanFault,
  type PlanSourceMap,
  planSourceMapOf,
  readPlanDocument,
  readTaskItems,
  type TaskInput,
} from '../../core/plan/index.js';
import { runAtOnce, type SliceableWork } from '../../core/sliceable-work.js';
import { readStrictJson } from '../../core/strict-json.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { sha256Hex } from '../runtime/identity.js';

/** A client document to parse, too large for the event loop. */
export type DocumentJob =
  | { readonly kind: 'plan'; readonly form: 'yaml' | 'json'; readonly text: string }
  | { readonly kind: 'tasks'; readonly text: string }
  | ({ readonly kind: 'methodology' } & FileTexts)
  | { readonly kind: 'files'; readonly text: string };

interface FileTexts {
  readonly files: readonly (readonly [path: string, text: string])[];
  /** Files that could not be read, and why. */
  readonly unreadable?: readonly (readonly [path: string, reason: string])[];
}

/** A list as JSON texts of a few items each, so that the event loop can deserialize a thread's reply chunk by chunk. */
type JsonChunks = readonly string[];

/** The remaining fields of the document: `request_id`, `signature`, and unexpected ones. */
type ExtraFields = Readonly<Record<string, unknown>>;

export type ParsedDocument =
  | { readonly kind: 'malformed'; readonly fault: string }
  | (ParsedContent & { readonly extraFields: ExtraFields });

type ParsedContent =
  | { readonly kind: 'plan_faults'; readonly faults: readonly PlanFault[] }
  | {
      readonly kind: 'plan';
      readonly project: string | null;
      /** One `[track, tasks]` per chunk. */
      readonly chunks: JsonChunks;
      readonly sourceMap: PlanSourceMap | null;
      /** SHA-256 of what the client sent. Distinguishes requests with the same id. */
      readonly requestDigest: string;
    }
  /** One list of tasks per chunk. */
  | { readonly kind: 'tasks'; readonly chunks: JsonChunks; readonly requestDigest: string }
  | { readonly kind: 'methodology_faults'; readonly faults: readonly ConfigFault[] }
  | {
      readonly kind: 'methodology';
      readonly methodology: Methodology;
      /** One list of features per chunk. */
      readonly chunks: JsonChunks;
      readonly warnings: readonly ConfigFault[];
      readonly faults: readonly ConfigFault[];
      readonly requestDigest: string;
    };

/** Parses a document synchronously, on the calling thread. */
export const readDocument = (job: DocumentJob): ParsedDocument => runAtOnce(readDocumentInSlices(job));

/** Reads a document. Pauses after each file of a workspace; a document of another kind is read without a pause. */
export function* readDocumentInSlices(job: DocumentJob): SliceableWork<ParsedDocument> {
  if (job.kind === 'methodology') return { ...(yield* parseMethodology(job)), extraFields: {} };
  const { text } = job;
  if (job.kind === 'plan' && job.form === 'yaml')
    return { ...parsePlan({ yaml: text }, text), extraFields: {} };
  const json = readStrictJson(text, Number.POSITIVE_INFINITY);
  if ('fault' in json) return { kind: 'malformed', fault: json.fault };
  if (!isObject(json.value)) return { kind: 'malformed', fault: 'expected a JSON object' };
  if (job.kind === 'plan') {
    const { request_id, signature, ...plan } = json.value;
    return { ...parsePlan({ json: plan }, text), extraFields: withoutUndefined({ request_id, signature }) };
  }
  if (job.kind === 'tasks') {
    const { tasks, ...extraFields } = json.value;
    return { ...parseAddedTasks(tasks, text), extraFields };
  }
  const { files, unreadable = {}, ...extraFields } = json.value;
  for (const [field, texts] of Object.entries({ files, unreadable })) {
    if (!isTextRecord(texts))
      return { kind: 'malformed', fault: `${field}: expected an object that maps paths to texts` };
  }
  const texts = { files: Object.entries(files as object), unreadable: Object.entries(unreadable as object) };
  return { ...(yield* parseMethodology(texts)), extraFields };
}

function parsePlan(source: Parameters<typeof readPlanDocument>[0], text: string): ParsedContent {
  const document = readPlanDocument(source);
  if (!document.ok) return { kind: 'plan_faults', faults: document.faults };
  const { input, locate } = document;
  const { project = null, tracks } = input;
  const chunks = Object.entries(tracks).flatMap(([track, tasks]) =>
    // Keep a track without tasks: its name is part of the plan.
    tasks.length === 0 ? [JSON.stringify([track, []])] : toJsonChunks(tasks, (chunk) => [track, chunk]),
  );
  const sourceMap = planSourceMapOf(input, locate);
  return { kind: 'plan', project, chunks, sourceMap, requestDigest: sha256Hex(text) };
}

function parseAddedTasks(tasks: unknown, text: string): ParsedContent {
  const { faults } = readTaskItems(tasks);
  if (!faults.isEmpty) return { kind: 'plan_faults', faults: faults.sorted() };
  const chunks = toJsonChunks(tasks as (TaskInput | AddedSubtask)[], (chunk) => chunk);
  return { kind: 'tasks', chunks, requestDigest: sha256Hex(text) };
}

function* parseMethodology({ files, unreadable = [] }: FileTexts): SliceableWork<ParsedContent> {
  const reading = yield* parseMethodologyInSlices({ files: new Map(files), unreadable: new Map(unreadable) });
  if (!reading.ok) return { kind: 'methodology_faults', faults: reading.faults };
  const { features, warnings, faults } = reading;
  const methodology = toPlainJson(reading.methodology);
  const chunks = toJsonChunks(features, (chunk) => chunk);
  const requestDigest = sha256Hex(JSON.stringify(unreadable.length === 0 ? files : [files, unreadable]));
  return { kind: 'methodology', methodology, chunks, warnings, faults, requestDigest };
}

const CHUNK_CHARS = 32 * 1024;

function toJsonChunks<T>(items: readonly T[], wrap: (chunk: readonly unknown[]) => unknown): string[] {
  const chunks: string[] = [];
  let chunk: T[] = [];
  let chars = 0;
  for (const item of items) {
    chunk.push(item);
    chars += JSON.stringify(item).length;
    if (chars < CHUNK_CHARS) continue;
    chunks.push(JSON.stringify(wrap(chunk)));
    [chunk, chars] = [[], 0];
  }
  if (chunk.length > 0) chunks.push(JSON.stringify(wrap(chunk)));
  return chunks;
}

/** Rebuilds the plan. Pauses after each chunk. */
export function* planFromChunks({
  project,
  chunks,
}: ParsedDocument & { kind: 'plan' }): SliceableWork<PlanInput> {
  const tracks = new Map<string, TaskInput[]>();
  for (const piece of chunks) {
    const [track, tasks] = JSON.parse(piece) as [string, TaskInput[]];
    const trackTasks = tracks.get(track);
    if (trackTasks === undefined) tracks.set(track, tasks);
    else for (const task of tasks) trackTasks.push(task);
    yield;
  }
  return { ...(project === null ? {} : { project }), tracks: Object.fromEntries(tracks) };
}

/** Rebuilds a list. Pauses after each chunk. */
export function* listFromChunks<T extends TaskInput | AddedSubtask | Feature>(
  chunks: JsonChunks,
): SliceableWork<T[]> {
  const all: T[] = [];
  for (const piece of chunks) {
    for (const item of JSON.parse(piece) as T[]) all.push(item);
    yield;
  }
  return all;
}

const isTextRecord = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((text) => typeof text === 'string');
