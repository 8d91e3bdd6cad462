import { isReservedName, isWindowsShortName } from './guarded-paths.js';

export const PATH_BYTES_MAX = 512;
/** The limit of common file systems. A file with a longer name could never be written, so its promotion would never end. */
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
    return `a path must have at most ${PATH_BYTES_MAX} bytes`;
  }
  if (path === '') return 'a path must not be empty';
  if (UNPRINTABLE.test(path)) return 'a path must not contain control characters';
  if (path.normalize('NFC') !== path) return 'a path must be in Unicode normal form C';
  if (/[\\:]/.test(path)) return 'a path must use forward slashes and contain no colon';
  if (/[<>"|?*]/.test(path)) return 'a path must not contain < > " | ? or *';
  const segments = path.split('/');
  if (segments.length > DEPTH_MAX) return `a path must have at most ${DEPTH_MAX} names`;
  for (const name of segments) {
    const fault = segmentFault(name);
    if (fault !== null) return fault;
  }
  return null;
}

const isLonger = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || new TextEncoder().encode(text).length > bytesMax;

function segmentFault(name: string): string | null {
  if (name === '') return 'a path must be relative to the project root and contain no empty name';
  if (isLonger(name, NAME_BYTES_MAX)) return `a name in a path must have at most ${NAME_BYTES_MAX} bytes`;
  if (/^\.+$/.test(name)) return 'a path must not contain "." or ".."';
  if (/[. ]$/.test(name)) return 'a name in a path must not end with a dot or a space';
  if (WINDOWS_DEVICE_NAME.test(name)) return `${name} is a device name on Windows`;
  if (isWindowsShortName(name)) return `${name} may be the short name of another file on Windows`;
  if (isReservedName(name)) return `${name} is reserved: no file is promoted into it`;
  return null;
}
