/**
 * Maximum length, which is checked first, so that the pattern never runs over long input. The longest valid id has 69
 * characters.
 */
const TASK_ID_LENGTH_MAX = 80;
export const SUBTASK_INDEX_MAX = 9999;
export const TRACK_PATTERN = /^[A-Z]{1,8}$/;
const TASK_ID_PATTERN = /^([A-Z]{1,8})-(?!000)([0-9]{3})-([A-Za-z0-9_-]{1,50})(?:::([1-9][0-9]{0,3}))?$/;

export interface TaskId {
  readonly task_id: string;
  readonly track: string;
  readonly sequence: number;
  readonly description: string;
  readonly subtask_index: number | null;
  readonly parent: string | null;
}

export type TaskIdParseResult = { ok: true; id: TaskId } | { ok: false; code: 'BAD_ID'; message: string };

export function parseTaskId(text: string): TaskIdParseResult {
  if (text.length > TASK_ID_LENGTH_MAX) {
    return badId(`A task id has at most ${TASK_ID_LENGTH_MAX} characters; this one has ${text.length}.`);
  }
  const match = TASK_ID_PATTERN.exec(text);
  if (match === null) return badId(taskIdFault(text));
  const [, track = '', sequence = '', description = '', index] = match;
  const id: TaskId = {
    task_id: text,
    track,
    sequence: Number(sequence),
    description,
    subtask_index: index === undefined ? null : Number(index),
    parent: index === undefined ? null : text.slice(0, text.length - index.length - 2),
  };
  return { ok: true, id };
}

/** The track in a task id; null if the text is not a task id. */
export function trackOfTask(text: string): string | null {
  const parsed = parseTaskId(text);
  return parsed.ok ? parsed.id.track : null;
}

export const isTaskId = (text: string): boolean =>
  text.length <= TASK_ID_LENGTH_MAX && TASK_ID_PATTERN.test(text);

const badId = (message: string): TaskIdParseResult => ({ ok: false, code: 'BAD_ID', message });

/** Names the first part, from left to right, that violates the grammar. */
function taskIdFault(text: string): string {
  const quoted = JSON.stringify(text);
  const separatorIndex = text.indexOf('::');
  const index = separatorIndex < 0 ? null : text.slice(separatorIndex + 2);
  const taskText = separatorIndex < 0 ? text : text.slice(0, separatorIndex);
  const [track = '', sequence, ...descriptionParts] = taskText.split('-');
  const description = descriptionParts.join('-');
  if (!TRACK_PATTERN.test(track)) {
    return `${quoted} must start with its track, one to eight capital letters, as in "A-001-core-framework".`;
  }
  if (sequence === '000') return `${quoted} has the sequence 000; sequences run from 001 to 999.`;
  if (!/^[0-9]{3}$/.test(sequence ?? '')) {
    return `${quoted} needs a sequence of three digits, 001 to 999, after "${track}-".`;
  }
  if (description.length > 50) {
    return `${quoted} has a description of ${description.length} characters; at most 50 are allowed.`;
  }
  if (!/^[A-Za-z0-9_-]+$/.test(description)) {
    return `${quoted} needs a description of letters, digits, "-" and "_" after "${track}-${sequence}-".`;
  }
  return `${quoted} has the subtask index ${JSON.stringify(index)}; it must be 1 to ${SUBTASK_INDEX_MAX}, without leading zeros.`;
}
