import type { ProjectKey } from '../store.js';
import type { DecodedLine } from './line.js';

export interface CheckedLine<Location> {
  readonly line: DecodedLine;
  readonly location: Location;
  /** The bytes of the line; absent if the digests are not checked. */
  readonly bytes?: Buffer;
}

/** Lines that are not valid where they are: one line, or all lines of a block. */
export interface LineFault<Location> {
  readonly first: Location;
  readonly last: Location;
  readonly why: string;
  /** There are too many lines, or too many bytes, to be checked for damage. */
  readonly isTooLargeToCheck?: true;
}

/** The state of a log before its next line. */
export interface LogEnd {
  /** Null: the first event determines the project. */
  key: ProjectKey | null;
  /** The last seal, or the hash of the last format-1 line. */
  seal: string;
  position: number;
  /** The foreign lines that no seal covers yet. */
  readonly foreign: Buffer[];
  /** No line of format 2 has come yet. */
  isFormat1: boolean;
}
