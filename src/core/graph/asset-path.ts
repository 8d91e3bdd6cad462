import { HUMAN_FOLDERS } from './methodology.js';

export const PATH_BYTES_MAX = 512;
/** No common disk has longer names, and what cannot be written would wait for its promotion for ever. */
const NAME_BYTES_MAX = 255;
const DEPTH_MAX = 64;

/** Where the methodology keeps its own files, and where git does: no result is promoted into them. */
const CLOSED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'git~1', '.ai-workspace', 'ai-wor~1']);
/** Decisions are kept near what they are about: these folders count wherever they are. */
const HUMAN_ANYWHERE: ReadonlySet<string> = new Set(['adrs', 'decisions']);
const HUMAN_AT_ROOT: ReadonlySet<string> = new Set(HUMAN_FOLDERS);

/** On some disks a device, whatever comes after the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

const NOT_PRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const IGNORED_BY_DISKS = /\p{Default_Ignorable_Code_Point}/gu;

/** Two spellings that some disk takes for one name. */
export const foldedPath = (path: string): string =>
  path.normalize('NFKC').replace(IGNORED_BY_DISKS, '').toLowerCase();

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
  if (CLOSED_FOLDERS.has(foldedPath(name))) return `nothing is promoted into ${name}`;
  return null;
}

/** A change here needs a human: the specification and the decisions, however they are spelled. */
export function isHumanPath(path: string): boolean {
  const spelled = foldedPath(path.replaceAll('\\', '/')).split('/');
  // Nobody knows where it leads.
  if (spelled.includes('..')) return true;
  const names = spelled.map((name) => name.replace(/[. ]+$/, '')).filter((name) => name !== '');
  return names.some((name, at) => HUMAN_ANYWHERE.has(name) || (at === 0 && HUMAN_AT_ROOT.has(name)));
}
