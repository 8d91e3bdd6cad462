import { isReservedName, isWindowsShortName } from './guarded-paths.js';

export const PATH_BYTES_MAX = 512;
/** Common file systems have no longer names; a file that cannot be written would wait for its promotion forever. */
const NAME_BYTES_MAX = 255;
const DEPTH_MAX = 64;

/** Names that Windows treats as a device, whatever follows the first dot. */
const WINDOWS_DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
/**
 * What is wrong with the path of a result file, relative to the project root; null if it is valid. A valid path names
 * the same file on every file system, and no file outside the project.
 */
export function pathFault(path: string): string | null {
  if (isLonger(path, PATH_BYTES_MAX)) {
    return `a path has at most ${PATH_BYTES_MAX} bytes`;
  }
  if (path === '') return 'a path is not empty';
  if (UNPRINTABLE.test(path)) return 'a path has no control characters';
  if (path.normalize('NFC') !== path) return 'a path is in Unicode normal form C';
  if (/[\\:]/.test(path)) return 'a path has forward slashes only, and no colon';
  if (/[<>"|?*]/.test(path)) return 'a path has none of < > " | ? *';
  const segments = path.split('/');
  if (segments.length > DEPTH_MAX) return `a path is at most ${DEPTH_MAX} folders deep`;
  for (const name of segments) {
    const fault = segmentFault(name);
    if (fault !== null) return fault;
  }
  return null;
}

const isLonger = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || new TextEncoder().encode(text).length > bytesMax;

function segmentFault(name: string): string | null {
  if (name === '') return 'a path starts at the project’s root, and no name in it is empty';
  if (isLonger(name, NAME_BYTES_MAX)) return `a name in a path has at most ${NAME_BYTES_MAX} bytes`;
  if (/^\.+$/.test(name)) return 'a path has no "." and no ".." in it';
  if (/[. ]$/.test(name)) return 'no name in a path ends with a dot or a space';
  if (WINDOWS_DEVICE_NAME.test(name)) return `${name} is a device on some systems`;
  if (isWindowsShortName(name)) return `${name} is the second name of another file on some systems`;
  if (isReservedName(name)) return `nothing is promoted into ${name}`;
  return null;
}
