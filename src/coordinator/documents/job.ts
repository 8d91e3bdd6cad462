import { type Fields, isObject } from '../../core/events/plain.js';
import type { ConfigFault, FeatureVector, Methodology } from '../../core/graph/methodology.js';
import { methodologySteps } from '../../core/graph/read-methodology.js';
import { plain } from '../../core/graph/said-anew.js';
import {
  type AddedSubtask,
  type PlanDocument,
  type PlanFault,
  type PlanInput,
  type PlanPlaces,
  placesOf,
  readPlanDocument,
  readTaskItems,
  type TaskInput,
} from '../../core/plan/index.js';
import { allSteps, type Steps } from '../../core/steps.js';
import { readStrictJson } from '../../core/strict-json.js';
import { sha256Hex } from '../identity.js';

/** A document from outside that is too large to be read between two requests. */
export type DocumentJob =
  | { readonly kind: 'plan'; readonly form: 'yaml' | 'json'; readonly text: string }
  | { readonly kind: 'tasks'; readonly text: string }
  | { readonly kind: 'methodology'; readonly files: readonly (readonly [string, string])[] }
  | { readonly kind: 'files'; readonly text: string };

/**
 * Lists travel as JSON, some items in each piece: a thread's reply is unpacked on the event loop, and pieces can be
 * unpacked one at a time.
 */
export type Pieces = readonly string[];

/** What a document says beside what it is about: `request_id`, `signature`, and whatever should not be there. */
export type Beside = Readonly<Record<string, unknown>>;

export type DocumentParcel =
  | { readonly kind: 'malformed'; readonly fault: string }
  | { readonly kind: 'plan_faults'; readonly faults: readonly PlanFault[]; readonly beside: Beside }
  | {
      readonly kind: 'plan';
      readonly project: string | null;
      /** Each `[track, tasks]`. */
      readonly pieces: Pieces;
      readonly places: PlanPlaces | null;
      readonly digest: string;
      readonly beside: Beside;
    }
  /** Each a list of tasks. */
  | { readonly kind: 'tasks'; readonly pieces: Pieces; readonly digest: string; readonly beside: Beside }
  | { readonly kind: 'methodology_faults'; readonly faults: readonly ConfigFault[]; readonly beside: Beside }
  | {
      readonly kind: 'methodology';
      readonly methodology: Methodology;
      /** Each a list of features. */
      readonly pieces: Pieces;
      readonly warnings: readonly ConfigFault[];
      readonly digest: string;
      readonly beside: Beside;
    };

/** Reads a document, in whatever thread it is called. Takes as long as the document is. */
export const readDocument = (job: DocumentJob): DocumentParcel => allSteps(documentSteps(job));

/** The same in steps: the files of a workspace one at a time, everything else at once. */
export function* documentSteps(job: DocumentJob): Steps<DocumentParcel> {
  if (job.kind === 'methodology') return yield* methodologyParcel(job.files, {});
  if (job.kind === 'plan' && job.form === 'yaml') return yamlPlan(job.text);
  const json = readStrictJson(job.text);
  if ('fault' in json) return { kind: 'malformed', fault: json.fault };
  if (!isObject(json.value)) return { kind: 'malformed', fault: 'expected a JSON object' };
  if (job.kind === 'plan') return jsonPlan(json.value, job.text);
  if (job.kind === 'tasks') return addedTasks(json.value, job.text);
  const { files, ...beside } = json.value;
  if (isTextRecord(files)) return yield* methodologyParcel(Object.entries(files), beside);
  return { kind: 'malformed', fault: 'files: expected texts by their paths' };
}

const yamlPlan = (text: string): DocumentParcel => planParcel(readPlanDocument({ yaml: text }), text, {});

function jsonPlan({ request_id, signature, ...json }: Fields, text: string): DocumentParcel {
  return planParcel(readPlanDocument({ json }), text, defined({ request_id, signature }));
}

function planParcel(document: PlanDocument, text: string, beside: Beside): DocumentParcel {
  if (!document.ok) return { kind: 'plan_faults', faults: document.faults, beside };
  const { input, locate } = document;
  const { project = null, tracks } = input;
  const pieces = Object.entries(tracks).flatMap(([track, tasks]) =>
    // A track without tasks is a heading all the same.
    tasks.length === 0 ? [JSON.stringify([track, []])] : inPieces(tasks, (some) => [track, some]),
  );
  return { kind: 'plan', project, pieces, places: placesOf(input, locate), digest: sha256Hex(text), beside };
}

function addedTasks({ tasks, ...beside }: Fields, text: string): DocumentParcel {
  const { faults } = readTaskItems(tasks);
  if (!faults.empty) return { kind: 'plan_faults', faults: faults.inOrder(), beside };
  const pieces = inPieces(tasks as (TaskInput | AddedSubtask)[], (some) => some);
  return { kind: 'tasks', pieces, digest: sha256Hex(text), beside };
}

function* methodologyParcel(
  files: readonly (readonly [string, string])[],
  beside: Beside,
): Steps<DocumentParcel> {
  const reading = yield* methodologySteps(new Map(files));
  if (!reading.ok) return { kind: 'methodology_faults', faults: reading.faults, beside };
  const { methodology, features, warnings } = reading;
  const pieces = inPieces(features, (some) => some);
  return {
    kind: 'methodology',
    methodology: plain(methodology),
    pieces,
    warnings,
    digest: sha256Hex(JSON.stringify(files)),
    beside,
  };
}

const PIECE_CHARS = 32 * 1024;

function inPieces<T>(items: readonly T[], piece: (some: readonly unknown[]) => unknown): string[] {
  const pieces: string[] = [];
  let some: T[] = [];
  let chars = 0;
  for (const item of items) {
    some.push(item);
    chars += JSON.stringify(item).length;
    if (chars < PIECE_CHARS) continue;
    pieces.push(JSON.stringify(piece(some)));
    [some, chars] = [[], 0];
  }
  if (some.length > 0) pieces.push(JSON.stringify(piece(some)));
  return pieces;
}

/** The plan again, a piece at a step. */
export function* unpackPlan({ project, pieces }: DocumentParcel & { kind: 'plan' }): Steps<PlanInput> {
  const tracks = new Map<string, TaskInput[]>();
  for (const piece of pieces) {
    const [track, tasks] = JSON.parse(piece) as [string, TaskInput[]];
    const known = tracks.get(track);
    if (known === undefined) tracks.set(track, tasks);
    else for (const task of tasks) known.push(task);
    yield;
  }
  return { ...(project === null ? {} : { project }), tracks: Object.fromEntries(tracks) };
}

/** A list again, a piece at a step. */
export function* unpackList<T extends TaskInput | AddedSubtask | FeatureVector>(pieces: Pieces): Steps<T[]> {
  const all: T[] = [];
  for (const piece of pieces) {
    for (const item of JSON.parse(piece) as T[]) all.push(item);
    yield;
  }
  return all;
}

const isTextRecord = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((text) => typeof text === 'string');

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
