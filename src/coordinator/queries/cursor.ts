import { fieldProblem, type Problem, problem } from '../wire/problem.js';

/** A cursor for a position. It is opaque to clients, so that a later version can put more into it. */
export const cursorAt = (position: number): string => Buffer.from(`p:${position}`).toString('base64url');

/**
 * The problem for a cursor beyond the end of the log. It belongs to a history that no longer exists, for example because
 * a backup was restored, and its reader would wait for ever.
 */
export const cursorAheadProblem = (path: string, requested: number, position: number): Problem => {
  const message = `position ${requested} is beyond the end of the log at ${position}`;
  const detail =
    `${path}: ${message}. The position belongs to another log, for example the log before a backup was restored. ` +
    'Read the log again from the beginning.';
  return problem('CURSOR_AHEAD', detail, [{ path, message }]);
};

export const INVALID_CURSOR = fieldProblem('after', 'expected a cursor from this server');

/** Returns null for an invalid cursor. The empty cursor is the beginning. */
export function positionOfCursor(cursor: string): number | null {
  if (cursor === '') return 0;
  const match = /^p:(\d{1,15})$/.exec(Buffer.from(cursor.slice(0, 64), 'base64url').toString());
  return match === null ? null : Number(match[1]);
}
