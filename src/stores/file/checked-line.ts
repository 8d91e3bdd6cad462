import type { ProjectKey } from '../store.js';
import type { DecodedLine } from './line.js';

export interface CheckedLine<Location> {
  readonly line: DecodedLine;
  readonly location: Location;
  /** The bytes of the line; absent in format 1, or if the digests are not checked. */
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
  /** The last seal, or the hash of the last format-1 line; `CHAIN_START` before both. */
  seal: string;
  position: number;
  /** The foreign lines that no seal covers yet. */
  readonly foreign: Buffer[];
  /** Every line so far has format 1. */
  isFormat1: boolean;
}
