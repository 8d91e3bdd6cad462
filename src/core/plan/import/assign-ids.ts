import type { PlanInput } from '../../contract/plan.js';
import type { PlanFaultList } from '../plan-faults.js';
import { parseTaskId } from '../task-id.js';
import type { TaskInput } from '../task-schema.js';
import type { SourceItem, TrackGroup } from './source-item.js';

const SEQUENCE_MAX = 999;
const SLUG_LENGTH_MAX = 50;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The tasks of the current plan, by their task id and by the id that they had in their source. */
export function tasksByOriginalId(current: PlanInput | null): Map<string, TaskInput> {
  const tasks = Object.values(current?.tracks ?? {}).flat();
  // Task ids count too, because a checklist may name tasks that `gen task add` added. Ids of the source take precedence.
  const byTaskId = tasks.map((task): [string, TaskInput] => [task.id, task]);
  const byOriginalId = tasks.flatMap((task): [string, TaskInput][] =>
    typeof task.metadata?.original_id === 'string' ? [[task.metadata.original_id, task]] : [],
  );
  return new Map([...byTaskId, ...byOriginalId]);
}

/**
 * The task id of each item. An item that has a task id, or is in the plan, keeps its id with all claims and results. Any
 * other item gets the next sequence number of its track; a fault is reported if the track has none left.
 */
export function assignIds(
  items: readonly SourceItem[],
  current: PlanInput | null,
  currentTasks: ReadonlyMap<string, TaskInput>,
  faults: PlanFaultList,
): Map<SourceItem, string> {
  const idByItem = new Map<SourceItem, string>();
  for (const item of items) {
    const id = item.task_id ?? currentTasks.get(item.original_id)?.id;
    if (id !== undefined) idByItem.set(item, id);
  }
  const plannedIds = Object.values(current?.tracks ?? {}).flatMap((tasks) => tasks.map(({ id }) => id));
  const lastByTrack = lastSequences([...plannedIds, ...idByItem.values()]);
  const trackOf = trackChooser(items, idByItem, Object.keys(current?.tracks ?? {}));
  for (const item of items) {
    if (idByItem.has(item)) continue;
    const track = trackOf(item.group);
    const sequence = (lastByTrack.get(track) ?? 0) + 1;
    lastByTrack.set(track, sequence);
    if (sequence > SEQUENCE_MAX) {
      const message = `Track ${track} has no number left: a track has at most ${SEQUENCE_MAX} tasks. Put ${JSON.stringify(item.title)} into another track.`;
      addItemFault(faults, 'TOO_MANY_TASKS', item, message);
      continue;
    }
    idByItem.set(item, `${track}-${String(sequence).padStart(3, '0')}-${slugOf(item.title)}`);
  }
  return idByItem;
}

export function addItemFault(
  faults: PlanFaultList,
  code: Parameters<PlanFaultList['add']>[0],
  { line, path }: SourceItem,
  message: string,
): void {
  faults.add(code, path, message, line === undefined ? undefined : { line, column: 1 });
}

function lastSequences(taskIds: readonly string[]): Map<string, number> {
  const lastByTrack = new Map<string, number>();
  for (const id of taskIds) {
    const parsed = parseTaskId(id);
    if (!parsed.ok) continue;
    const { track, sequence } = parsed.id;
    lastByTrack.set(track, Math.max(lastByTrack.get(track) ?? 0, sequence));
  }
  return lastByTrack;
}

/** A group goes to the track that it names, otherwise to the track of its items, otherwise to the next free letter. */
function trackChooser(
  items: readonly SourceItem[],
  idByItem: ReadonlyMap<SourceItem, string>,
  planTracks: readonly string[],
): (group: TrackGroup) => string {
  const trackByName = new Map<string, string>();
  for (const item of items) {
    const { name, track } = item.group;
    const assignedTrack = track ?? idByItem.get(item)?.split('-')[0];
    if (assignedTrack !== undefined && !trackByName.has(name)) trackByName.set(name, assignedTrack);
  }
  const usedTracks = new Set([...planTracks, ...trackByName.values()]);
  return ({ name }) => {
    const track = trackByName.get(name) ?? freeTrack(usedTracks);
    usedTracks.add(track);
    trackByName.set(name, track);
    return track;
  };
}

/** The first unused track of A, B … Z, AA, AB … */
function freeTrack(usedTracks: ReadonlySet<string>): string {
  for (let trackIndex = 0; ; trackIndex += 1) {
    const track = trackName(trackIndex);
    if (!usedTracks.has(track)) return track;
  }
}

const trackName = (trackIndex: number): string => {
  const last = LETTERS[trackIndex % LETTERS.length] ?? 'A';
  return trackIndex < LETTERS.length ? last : trackName(Math.floor(trackIndex / LETTERS.length) - 1) + last;
};

/** Makes the last part of a task id from a title. A long title is cut after a whole word if possible. */
export function slugOf(title: string): string {
  const slug = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+/, '');
  if (slug.length <= SLUG_LENGTH_MAX) return slug.replace(/-+$/, '') || 'task';
  const wordEnd = slug.lastIndexOf('-', SLUG_LENGTH_MAX);
  return slug.slice(0, wordEnd > 0 ? wordEnd : SLUG_LENGTH_MAX).replace(/-+$/, '') || 'task';
}
