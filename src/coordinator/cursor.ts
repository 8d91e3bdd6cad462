/** Cursors are opaque to everybody else: the position may one day not be all there is to them. */
export const cursorAt = (position: number): string => Buffer.from(`p:${position}`).toString('base64url');

/** Null: this is no cursor of ours. The empty cursor is the beginning. */
export function positionOf(cursor: string): number | null {
  if (cursor === '') return 0;
  const match = /^p:(\d{1,15})$/.exec(Buffer.from(cursor.slice(0, 64), 'base64url').toString());
  return match === null ? null : Number(match[1]);
}
