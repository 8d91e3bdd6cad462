import { CHAIN_START } from '../line.js';
import { FRAME_PREFIX, frameAt, type WalFrame } from './frame.js';

export interface WalContents {
  readonly frames: readonly WalFrame[];
  /** A frame that was durable and is not what was written; null: none. */
  readonly damage: { readonly line: number; readonly why: string } | null;
}

/**
 * Reads the frames of a write-ahead log. What follows the last whole frame was being written when the power failed,
 * unless another whole frame comes after it: a frame is written only when the one before it is durable.
 */
export function readFrames(bytes: Buffer): WalContents {
  const frames: WalFrame[] = [];
  let prev = CHAIN_START;
  let offset = 0;
  while (offset < bytes.length) {
    const frame = frameAt(bytes, offset);
    if (frame === null) {
      return { frames, damage: hasFrameAfter(bytes, offset) ? damageAt(bytes, offset, CHANGED) : null };
    }
    if (frame.prev !== prev) return { frames, damage: damageAt(bytes, offset, NOT_NEXT) };
    frames.push(frame);
    prev = frame.digest;
    offset += frame.length;
  }
  return { frames, damage: null };
}

const CHANGED = 'the frame is not what was written, and a later one is whole';
const NOT_NEXT = 'the frame does not continue the one before it';
const NEWLINE = 0x0a;

function hasFrameAfter(bytes: Buffer, offset: number): boolean {
  for (let at = bytes.indexOf(FRAME_PREFIX, offset + 1); at >= 0; at = bytes.indexOf(FRAME_PREFIX, at + 1)) {
    if (frameAt(bytes, at) !== null) return true;
  }
  return false;
}

function damageAt(bytes: Buffer, offset: number, why: string): { line: number; why: string } {
  let line = 1;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < offset; at = bytes.indexOf(NEWLINE, at + 1))
    line += 1;
  return { line, why };
}
