import { decodeLine, recordOfLog } from '../../src/stores/file/line.js';
import { LineWriter } from '../../src/stores/file/line-writer.js';
import type { FileNode } from '../world/file-node.js';
import type { Platter } from '../world/platter.js';
import type { Rng } from '../world/rng.js';

const BATCH_MARK = '"durable":';
const FORGED_CHANCE = 0.3;

/**
 * Damages what was certainly durable, where a whole batch after it tells so: the last batch may be torn, and a forged
 * line is found out only by the batch after it. Returns a way to put it right, or null where there is nothing to
 * damage, or a snapshot spares the store from reading it.
 */
export function damageLog(platter: Platter, folder: string, rng: Rng): (() => void) | null {
  const file = platter.file(`${folder}/events.jsonl`);
  if (file === null || platter.folder(`${folder}/snapshots`) !== null) return null;
  const text = file.content().toString('latin1');
  const last = batchBefore(text, text.length);
  const whole = batchBefore(text, last);
  const told = batchBefore(text, whole);
  if (told <= 0) return null;
  return rng.chance(FORGED_CHANCE) ? forge(file, told, rng) : file.flipByte(rng.int(whole));
}

/** Where the line before the last batch that begins before `end` is over; not above 0 when there is none. */
const batchBefore = (text: string, end: number): number =>
  end <= 0 ? end : text.lastIndexOf('\n', text.lastIndexOf(BATCH_MARK, end));

/** Writes one line anew, whole and with a hash that fits: only the line after it can tell. */
function forge(file: FileNode, end: number, rng: Rng): (() => void) | null {
  const content = file.content();
  const lines = content.subarray(0, end).toString('utf8').split('\n');
  const at = rng.int(lines.length);
  const line = decodeLine(Buffer.from(lines[at] as string));
  if (typeof line === 'string' || line.event === null) return null;
  const [part = 1, parts = 1] = line.log.unit.split('/').map(Number);
  const { position } = line.event;
  const place = { prev: line.log.prev, position, part, parts, durable: line.log.durable };
  const forged = new LineWriter();
  forged.write({ ...line.event, agent_id: 'forger' }, place, recordOfLog(line.log));
  const before = lines.slice(0, at).map((kept) => `${kept}\n`);
  const after = lines.slice(at + 1).map((kept) => `\n${kept}`);
  const text = `${before.join('')}${forged.bytes.toString().trimEnd()}${after.join('')}`;
  return file.overwrite(Buffer.concat([Buffer.from(text), content.subarray(end)]));
}
