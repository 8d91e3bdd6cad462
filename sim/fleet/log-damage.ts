import { decodeLine, recordFromLog } from '../../src/stores/file/line.js';
import { EventLineWriter } from '../../src/stores/file/line-writer.js';
import type { DiskImage } from '../world/disk-image.js';
import type { FileNode } from '../world/file-node.js';
import type { Rng } from '../world/rng.js';

const BATCH_MARK = '"durable":';
const FORGE_CHANCE = 0.3;

/**
 * Damages durable data that a complete later batch can expose: the last batch may be torn, and a forged line is
 * detected only by the batch after it. Returns a function that repairs the damage, or null where nothing can be damaged
 * or a snapshot means that the store does not read it.
 */
export function damageLog(diskImage: DiskImage, folder: string, rng: Rng): (() => void) | null {
  const file = diskImage.file(`${folder}/events.jsonl`);
  if (file === null || diskImage.folder(`${folder}/snapshots`) !== null) return null;
  const text = file.content().toString('latin1');
  const lastBatch = batchBefore(text, text.length);
  const wholeBatch = batchBefore(text, lastBatch);
  const confirmedEnd = batchBefore(text, wholeBatch);
  if (confirmedEnd <= 0) return null;
  return rng.chance(FORGE_CHANCE) ? forgeLine(file, confirmedEnd, rng) : file.flipByte(rng.int(wholeBatch));
}

/** Offset of the newline before the last batch that begins before `end`; 0 or less if there is none. */
const batchBefore = (text: string, end: number): number =>
  end <= 0 ? end : text.lastIndexOf('\n', text.lastIndexOf(BATCH_MARK, end));

/** Rewrites one line with a valid hash of its own, so that only the next line can expose it. */
function forgeLine(file: FileNode, end: number, rng: Rng): (() => void) | null {
  const content = file.content();
  const lines = content.subarray(0, end).toString('utf8').split('\n');
  const index = rng.int(lines.length);
  const line = decodeLine(Buffer.from(lines[index] as string));
  if (typeof line === 'string' || line.event === null) return null;
  const [part = 1, parts = 1] = line.log.unit.split('/').map(Number);
  const { position } = line.event;
  const linePosition = { prev: line.log.prev, position, part, parts, durable: line.log.durable };
  const forged = new EventLineWriter();
  forged.write({ ...line.event, agent_id: 'forger' }, linePosition, recordFromLog(line.log));
  const before = lines.slice(0, index).map((kept) => `${kept}\n`);
  const after = lines.slice(index + 1).map((kept) => `\n${kept}`);
  const text = `${before.join('')}${forged.bytes.toString().trimEnd()}${after.join('')}`;
  return file.overwrite(Buffer.concat([Buffer.from(text), content.subarray(end)]));
}
