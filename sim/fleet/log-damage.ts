import { decodeLine } from '../../src/stores/file/log-line.js';
import { SealInput, sealedText } from '../../src/stores/file/seal.js';
import type { DiskImage } from '../world/disk-image.js';
import type { FileNode } from '../world/file-node.js';
import type { Rng } from '../world/rng.js';

const SEAL_MARK = '{"seal":"';
const CONTINUES_MARK = '"continues":true';
const FORGE_CHANCE = 0.3;

/**
 * Damages durable data that a complete later batch can expose: the last batch may be torn, and a forged block is
 * detected only by the batch after it. Returns a function that repairs the damage. Returns null if nothing can be damaged,
 * or if the store reads a snapshot instead of the log.
 */
export function damageLog(diskImage: DiskImage, folder: string, rng: Rng): (() => void) | null {
  const file = diskImage.fileAt(`${folder}/events.jsonl`);
  if (file === null || diskImage.folderAt(`${folder}/snapshots`) !== null) return null;
  const ends = batchEnds(file.content().toString('latin1'));
  // The last batch may be torn, and a complete one after the damage is needed to expose it.
  const wholeEnd = ends.at(-3);
  const confirmedEnd = ends.at(-4);
  if (wholeEnd === undefined || confirmedEnd === undefined) return null;
  return rng.chance(FORGE_CHANCE) ? forgeBlock(file, confirmedEnd, rng) : file.flipByte(rng.int(wholeEnd));
}

/** The offsets after each batch. The blocks of one batch continue each other. */
function batchEnds(text: string): number[] {
  const ends: number[] = [];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    if (newline < 0) break;
    if (text.startsWith(SEAL_MARK, at)) {
      if (text.slice(at, newline).includes(CONTINUES_MARK)) ends.pop();
      ends.push(newline + 1);
    }
    at = newline + 1;
  }
  return ends;
}

/** Rewrites the last line of one block and its seal, so that only the next block can expose it. */
function forgeBlock(file: FileNode, end: number, rng: Rng): (() => void) | null {
  const content = file.content();
  const lines = content
    .subarray(0, end - 1)
    .toString('utf8')
    .split('\n');
  const seals = lines.flatMap((line, at) => (line.startsWith(SEAL_MARK) ? [at] : []));
  const sealIndex = rng.int(seals.length);
  const index = seals[sealIndex] as number;
  const forgedLine = (lines[index - 1] ?? '').replace(/"agent_id":"[^"]*"/, '"agent_id":"forger"');
  const seal = decodeLine(Buffer.from(lines[index] as string));
  if (forgedLine === lines[index - 1] || typeof seal === 'string' || seal.kind !== 'seal') return null;
  lines[index - 1] = forgedLine;
  const block = lines.slice(index - seal.seal.lines, index);
  lines[index] = resealed(lines[index] as string, lines[seals[sealIndex - 1] ?? -1] ?? NO_SEAL, block);
  const text = Buffer.from(`${lines.join('\n')}\n`);
  return file.overwrite(Buffer.concat([text, content.subarray(end)]));
}

const SEAL_LENGTH = 43;
const NO_SEAL = `${SEAL_MARK}${'A'.repeat(SEAL_LENGTH)}`;
const sealIn = (line: string): string => line.slice(SEAL_MARK.length, SEAL_MARK.length + SEAL_LENGTH);

/** The seal line with a valid seal for a changed block. */
function resealed(line: string, previousSealLine: string, block: readonly string[]): string {
  const input = new SealInput();
  input.begin(sealIn(previousSealLine));
  for (const blockLine of block) input.addLine(Buffer.from(blockLine));
  return line.replace(sealIn(line), input.digest(sealedText(Buffer.from(line))));
}
