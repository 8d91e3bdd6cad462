import { escapeId, FOLDER_NAME_MAX } from '../../stores/file/layout.js';

/**
 * A readable folder name for a feature's id: `REQ-F-AUTH-001` gives `REQ-F-AUTH-001+u`. The suffix says which letters
 * are capitals: all (`u`), or a bit mask; an id without capitals has no suffix. So ids that differ only in case
 * have different folders on a case-insensitive file system too. A `+` in an id is escaped.
 */
export function featureFolder(featureId: string): string {
  const name = escapeId(featureId, /[A-Za-z0-9_-]/);
  const letters = [...name.replace(/%[0-9A-F]{2}/g, '')].filter((character) => /[A-Za-z]/.test(character));
  const folder = `${name}${caseSuffix(letters)}`;
  if (name === '' || folder.length > FOLDER_NAME_MAX)
    throw new RangeError(`${JSON.stringify(featureId)} cannot name a folder: it is empty or too long.`);
  return folder;
}

function caseSuffix(letters: readonly string[]): string {
  const capitals = letters.map((letter) => (letter < 'a' ? '1' : '0'));
  if (!capitals.includes('1')) return '';
  return capitals.includes('0') ? `+${BigInt(`0b${capitals.join('')}`).toString(16)}` : '+u';
}
