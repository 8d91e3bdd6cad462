import { isClosedName, isShortName } from './guarded-paths.js';

export const PATH_BYTES_MAX = 512;
/** No common disk has longer names, and what cannot be written would wait for its promotion for ever. */
const NAME_BYTES_MAX = 255;
const DEPTH_MAX = 64;

/** On some disks a device, whatever comes after the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

const NOT_PRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
/**
 * What is wrong with a path as the place of a result, from the project's root; null: nothing. What passes means the same
 * file on every disk, and none outside the project.
 */
export function pathFault(path: string): string | null {
  if (isLonger(path, PATH_BYTES_MAX)) {
    return `a path has at most ${PATH_BYTES_MAX} bytes`;
  }
  if (path === '') return 'a path is not empty';
  if (NOT_PRINTABLE.test(path)) return 'a path has no control characters';
  if (path.normalize('NFC') !== path) return 'a path is in Unicode normal form C';
  if (/[\\:]/.test(path)) return 'a path has forward slashes only, and no colon';
  if (/[<>"|?*]/.test(path)) return 'a path has none of < > " | ? *';
  const names = path.split('/');
  if (names.length > DEPTH_MAX) return `a path is at most ${DEPTH_MAX} folders deep`;
  for (const name of names) {
    const fault = nameFault(name);
    if (fault !== null) return fault;
  }
  return null;
}

const isLonger = (text: string, bytes_max: number): boolean =>
  text.length > bytes_max || new TextEncoder().encode(text).length > bytes_max;

function nameFault(name: string): string | null {
  if (name === '') return 'a path starts at the project’s root, and no name in it is empty';
  if (isLonger(name, NAME_BYTES_MAX)) return `a name in a path has at most ${NAME_BYTES_MAX} bytes`;
  if (/^\.+$/.test(name)) return 'a path has no "." and no ".." in it';
  if (/[. ]$/.test(name)) return 'no name in a path ends with a dot or a space';
  if (DEVICE.test(name)) return `${name} is a device on some systems`;
  if (isShortName(name)) return `${name} is the second name of another file on some systems`;
  if (isClosedName(name)) return `nothing is promoted into ${name}`;
  return null;
}
